//! The hub as the librarian's shelf, reached over HTTP.

use agent_tools::hub::{Client, Error};
use async_trait::async_trait;
use librarian_core::upload::{Part, PartOutcome};
use librarian_core::{Shelf, ShelfError};
use protocol::{ContactId, Source};
use serde_json::Value;

use crate::health::HubHealth;

/// A shelf behind the hub's HTTP API.
pub(crate) struct HubShelf {
    hub: Client,
    health: HubHealth,
}

impl HubShelf {
    /// A shelf that notes in `health` whether the hub answers.
    pub(crate) fn new(hub: Client, health: HubHealth) -> Self {
        Self { hub, health }
    }
}

#[async_trait]
impl Shelf for HubShelf {
    async fn retrieve(&self, query: &str, limit: usize) -> Result<Vec<Source>, ShelfError> {
        let found = self.hub.retrieve(query, limit).await;
        self.health.note_read(&found);
        found.map_err(|err| match err {
            Error::Refused { ref detail, .. } if err.is_about_request() => {
                ShelfError::Refused(detail.message.clone())
            }
            err => ShelfError::Unavailable(Box::new(err)),
        })
    }

    async fn submit(&self, part: &Part) -> Result<PartOutcome, ShelfError> {
        let mut outcome = PartOutcome::default();
        for (kind, index, item) in part.items.entries() {
            let sender = &part.conversation.sender;
            let key = part.id.item_key(sender, index);
            let stored = self.hub.store_item(kind, &on_behalf_of(item, sender), &key).await;
            self.health.note_write(&stored);
            outcome.push(kind, stored.map_err(|err| ShelfError::Unavailable(Box::new(err)))?);
        }
        Ok(outcome)
    }
}

/// Returns the item with the sender that the relay vouches for, whatever the item itself says.
fn on_behalf_of(item: &Value, sender: &ContactId) -> Value {
    let mut item = item.clone();
    if let Value::Object(fields) = &mut item {
        fields.insert("on_behalf_of".to_owned(), Value::from(sender.as_str()));
    }
    item
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use agent_tools::hub::Config;
    use axum::extract::State;
    use axum::http::{HeaderMap, StatusCode};
    use axum::routing::post;
    use axum::{Json, Router};
    use librarian_core::upload::{Conversation, ItemOutcome, NO_SECRETS, NO_TOOLS};
    use protocol::MessageId;
    use protocol::hub::{Role, Whoami};
    use protocol::librarian::Items;
    use serde_json::json;
    use tokio::net::TcpListener;

    use super::*;

    /// The key of each item that arrived, and for whom it is.
    type Seen = Arc<Mutex<Vec<(String, Value)>>>;

    /// A hub that takes items with a `task`, refuses those without, and fails on `"crash"`.
    async fn store(
        State(seen): State<Seen>,
        headers: HeaderMap,
        Json(item): Json<Value>,
    ) -> (StatusCode, Json<Value>) {
        let key = headers["idempotency-key"].to_str().expect("ASCII").to_owned();
        seen.lock().expect("no panic inside").push((key, item["on_behalf_of"].clone()));
        match item["task"].as_str() {
            Some("forbidden") => (
                StatusCode::FORBIDDEN,
                Json(json!({"error": {
                    "code": "forbidden",
                    "message": "on_behalf_of needs the role delegate, and the token of w has writer",
                }})),
            ),
            Some("crash") => (StatusCode::INTERNAL_SERVER_ERROR, fault("internal", "oops")),
            None if item["id"] == "acme/sealed" => {
                let mut sealed = fault("forbidden", "send the key");
                sealed.0["error"]["field"] = json!("X-Org-Key");
                (StatusCode::FORBIDDEN, sealed)
            }
            None if item["id"].is_string() => (
                StatusCode::CREATED,
                Json(json!({"id": item["id"], "version": 1, "created": true})),
            ),
            Some(_) => (
                StatusCode::CREATED,
                Json(json!({"id": "knowledge-20260309-215835-a699", "status": "approved"})),
            ),
            None => (StatusCode::UNPROCESSABLE_ENTITY, fault("invalid", "task: required")),
        }
    }

    fn fault(code: &str, message: &str) -> Json<Value> {
        Json(json!({"error": {"code": code, "message": message, "field": "task"}}))
    }

    async fn shelf() -> (HubShelf, Seen) {
        let seen = Seen::default();
        let router = Router::new()
            .route("/api/knowledge", post(store))
            .route("/api/resource", post(store))
            .with_state(seen.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let api = format!("http://{}", listener.local_addr().expect("bound"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let config = Config { api: api.parse().expect("a URL"), token: None };
        let hub = Client::new(config).expect("an HTTP client");
        (HubShelf::new(hub, HubHealth::default()), seen)
    }

    fn part(items: Items) -> Part {
        Part {
            conversation: Conversation { sender: "agent/1".parse().expect("an id"), chat: None },
            id: MessageId::random(),
            items,
            size_bytes: 1,
            finalize: None,
        }
    }

    #[tokio::test]
    async fn each_item_has_its_own_outcome_and_its_own_key() {
        let (shelf, seen) = shelf().await;
        let part = part(Items {
            knowledge: vec![json!({"task": "t"}), json!({"on_behalf_of": "somebody"})],
            resources: vec![
                json!({"id": "pymupdf/tables"}),
                json!({"id": "acme/sealed"}),
                json!({"id": "acme/login", "secure_body": "hunter2"}),
            ],
            tools: vec![json!({})],
        });
        let outcome = shelf.submit(&part).await.expect("the hub is there");
        let id = "knowledge-20260309-215835-a699".to_owned();
        let (field, reason) = ("task".to_owned(), "required".to_owned());
        let rejected = ItemOutcome::Rejected { field, reason };
        assert_eq!(outcome.knowledge, [ItemOutcome::Accepted { id }, rejected]);
        let stored = ItemOutcome::Accepted { id: "pymupdf/tables".to_owned() };
        let no_key = ItemOutcome::refused("X-Org-Key", "send the key");
        let secret = ItemOutcome::refused("secure_body", NO_SECRETS);
        assert_eq!(outcome.resources, [stored, no_key, secret]);
        assert_eq!(outcome.tools, [ItemOutcome::refused("", NO_TOOLS)]);
        // The relay knows who sent it; what the item says of that counts nothing.
        let seen_item = |index| (format!("agent/1/{}/{index}", part.id), json!("agent/1"));
        assert_eq!(*seen.lock().expect("no panic inside"), [0, 1, 0, 1].map(seen_item));
    }

    #[tokio::test]
    async fn a_hub_that_fails_is_away_and_refuses_nothing() {
        let (shelf, _) = shelf().await;
        let part = part(Items { knowledge: vec![json!({"task": "crash"})], ..Items::default() });
        let outcome = shelf.submit(&part).await;
        assert!(matches!(outcome, Err(ShelfError::Unavailable(_))), "{outcome:?}");
    }

    #[tokio::test]
    async fn a_role_that_does_not_suffice_is_unreadiness_until_a_write_comes_through() {
        let (shelf, _) = shelf().await;
        let submit = async |task: &str| {
            let items = Items { knowledge: vec![json!({"task": task})], ..Items::default() };
            shelf.submit(&part(items)).await
        };
        let outcome = submit("forbidden").await;
        assert!(matches!(outcome, Err(ShelfError::Unavailable(_))), "{outcome:?}");
        // Reading works all the while, and proves nothing about writing.
        shelf.health.note_read(&Ok(()));
        let why = shelf.health.check().expect_err("uploads cannot be stored");
        assert!(why.contains("needs the role delegate"), "{why}");
        submit("t").await.expect("the hub takes it");
        assert_eq!(shelf.health.check(), Ok(()));

        // The hub tells the role before anybody uploads.
        let caller = |role| Ok(Whoami { name: "w".into(), role, needs_token: true });
        shelf.health.note_hub(&caller(Role::Writer));
        let why = shelf.health.check().expect_err("uploads could not be stored");
        assert!(why.contains("needs the role delegate, and the token of w has writer"), "{why}");
        shelf.health.note_hub(&caller(Role::Delegate));
        assert_eq!(shelf.health.check(), Ok(()));
    }
}
