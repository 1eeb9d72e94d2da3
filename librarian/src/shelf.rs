//! The hub as the librarian's shelf, reached over HTTP.

use std::fmt::Display;

use agent_tools::hub::{Client, Error};
use async_trait::async_trait;
use librarian_core::upload::{ItemOutcome, Part, PartOutcome};
use librarian_core::{Shelf, ShelfError};
use protocol::hub::ErrorDetail;
use protocol::{ContactId, Source};
use serde_json::Value;

use crate::health::HubHealth;

/// Why tools of an upload are refused.
const NO_TOOLS: &str = "the hub keeps no tools of their own; put what is worth keeping into `knowledge` or `resources`";

/// Why a resource with a secret is refused: the relay keeps messages as they are.
const NO_SECRETS: &str = "a secret must not lie in a message; send the resource to the hub itself, with POST /api/resource";

/// The hub's statuses that speak of the request, which would fail again.
const FAULTS_OF_THE_REQUEST: [u16; 4] = [400, 409, 413, 422];

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

    /// Returns what became of an item; the error of a hub that could not say is one of the whole part.
    fn item_outcome(&self, stored: Result<impl Display, Error>) -> Result<ItemOutcome, ShelfError> {
        match self.noted(stored) {
            Ok(id) => Ok(ItemOutcome::Accepted { id: id.to_string() }),
            Err(Error::Refused { status, detail }) if is_fault_of_item(status, &detail) => {
                Ok(rejected(detail))
            }
            Err(err) => Err(ShelfError::Unavailable(Box::new(err))),
        }
    }

    fn noted<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        self.health.note(&outcome);
        outcome
    }
}

#[async_trait]
impl Shelf for HubShelf {
    async fn retrieve(&self, query: &str, limit: usize) -> Result<Vec<Source>, ShelfError> {
        self.noted(self.hub.retrieve(query, limit).await).map_err(|err| match err {
            Error::Refused { status, detail } if FAULTS_OF_THE_REQUEST.contains(&status) => {
                ShelfError::Refused(detail.message)
            }
            err => ShelfError::Unavailable(Box::new(err)),
        })
    }

    async fn submit(&self, part: &Part) -> Result<PartOutcome, ShelfError> {
        let mut outcome = PartOutcome::default();
        for (index, item) in part.batch.knowledge.iter().enumerate() {
            let key = part.id.item_key(&part.conversation.sender, index);
            let item = on_behalf_of(item, &part.conversation.sender);
            let created = self.hub.add_knowledge(&item, Some(&key)).await;
            outcome.knowledge.push(self.item_outcome(created.map(|created| created.id))?);
        }
        for (index, item) in part.batch.resources.iter().enumerate() {
            if item.get("secure_body").is_some() {
                outcome.resources.push(refused("secure_body", NO_SECRETS));
                continue;
            }
            let key = part.id.item_key(&part.conversation.sender, index);
            let item = on_behalf_of(item, &part.conversation.sender);
            let stored = self.hub.save_resource(&item, None, Some(&key)).await;
            outcome.resources.push(self.item_outcome(stored.map(|stored| stored.id))?);
        }
        outcome.tools = vec![refused("", NO_TOOLS); part.batch.tools.len()];
        Ok(outcome)
    }
}

/// Tells whether the same item would be refused again: it is wrong, or a secret guards what it would change.
fn is_fault_of_item(status: u16, detail: &ErrorDetail) -> bool {
    FAULTS_OF_THE_REQUEST.contains(&status)
        || (status == 403 && detail.field.as_deref() == Some("X-Org-Key"))
}

/// Returns the item with the sender that the relay vouches for, whatever the item itself says.
fn on_behalf_of(item: &Value, sender: &ContactId) -> Value {
    let mut item = item.clone();
    if let Value::Object(fields) = &mut item {
        fields.insert("on_behalf_of".to_owned(), Value::from(sender.as_str()));
    }
    item
}

/// The hub's message names the field as well, for readers who see nothing else.
fn rejected(detail: ErrorDetail) -> ItemOutcome {
    let field = detail.field.unwrap_or_default();
    let reason = detail.message.strip_prefix(&format!("{field}: ")).unwrap_or(&detail.message);
    ItemOutcome::Rejected { reason: reason.to_owned(), field }
}

fn refused(field: &str, reason: &str) -> ItemOutcome {
    ItemOutcome::Rejected { field: field.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use agent_tools::hub::Config;
    use axum::extract::State;
    use axum::http::{HeaderMap, StatusCode};
    use axum::routing::post;
    use axum::{Json, Router};
    use librarian_core::upload::Conversation;
    use protocol::MessageId;
    use protocol::librarian::Batch;
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

    fn part(batch: Batch) -> Part {
        Part {
            conversation: Conversation { sender: "agent/1".parse().expect("an id"), chat: None },
            id: MessageId::random(),
            batch,
            size_bytes: 1,
            finalize: None,
        }
    }

    #[tokio::test]
    async fn each_item_has_its_own_outcome_and_its_own_key() {
        let (shelf, seen) = shelf().await;
        let part = part(Batch {
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
        let no_key = refused("X-Org-Key", "send the key");
        assert_eq!(outcome.resources, [stored, no_key, refused("secure_body", NO_SECRETS)]);
        assert_eq!(outcome.tools, [refused("", NO_TOOLS)]);
        // The relay knows who sent it; what the item says of that counts nothing.
        let seen_item = |index| (format!("agent/1/{}/{index}", part.id), json!("agent/1"));
        assert_eq!(*seen.lock().expect("no panic inside"), [0, 1, 0, 1].map(seen_item));
    }

    #[tokio::test]
    async fn a_hub_that_fails_is_away_and_refuses_nothing() {
        let (shelf, _) = shelf().await;
        let part = part(Batch { knowledge: vec![json!({"task": "crash"})], ..Batch::default() });
        let outcome = shelf.submit(&part).await;
        assert!(matches!(outcome, Err(ShelfError::Unavailable(_))), "{outcome:?}");
    }
}
