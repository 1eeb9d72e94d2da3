//! Idempotency keys: the same write again changes nothing, another one under the same key is refused.

use axum::{
    body::Body,
    http::{Request, StatusCode},
};
use clap::Parser;
use futures_util::future::join_all;
use knowhub_server::Config;
use serde_json::{Value, json};

use crate::harness::{Answer, TestHub};

/// `POST` routes that take no key: an import repeated finds everything there already and stores nothing twice.
const WITHOUT_KEY: [&str; 1] = ["/api/import"];

/// Two callers who may do everything.
const TOKENS: &str = "ann:admin:a-token-of-sixteen-bytes,bob:admin:b-token-of-sixteen-bytes";
const ANN: &str = "a-token-of-sixteen-bytes";
const BOB: &str = "b-token-of-sixteen-bytes";

/// 32 bytes.
const ORG_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// A hub with tokens, and a second connection that tells whether anything was written.
struct Watched {
    hub: TestHub,
    db: rusqlite::Connection,
}

impl Watched {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub.db");
        let args = ["knowhub-server", "--knowhub-db", path.to_str().unwrap()];
        let keys: Vec<String> = (0..9).map(|index| format!("org{index}:{ORG_KEY}")).collect();
        let settings = ["--knowhub-tokens", TOKENS, "--org-keys", &keys.join(",")];
        let config = Config::parse_from([&args[..], &settings].concat());
        let hub = TestHub::start_with(folder, &config).await;
        Self { hub, db: rusqlite::Connection::open(path).unwrap() }
    }

    async fn post(&self, token: &str, path: &str, key: &str, body: &Value) -> Answer {
        let token = format!("Bearer {token}");
        self.hub.post_with(path, body, &[("authorization", &token), ("idempotency-key", key)]).await
    }

    async fn get(&self, path: &str) -> Value {
        let request = Request::get(path).header("authorization", format!("Bearer {ANN}"));
        let answer = self.hub.send(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {answer:?}");
        answer.body
    }

    /// Returns a number that changes with every commit that changes anything.
    fn commits(&self) -> i64 {
        self.db.pragma_query_value(None, "data_version", |row| row.get(0)).unwrap()
    }

    /// Returns every `POST` of the API that takes a key.
    async fn routes(&self) -> Vec<String> {
        let document = self.get("/api/openapi.json").await;
        let paths = document["paths"].as_object().unwrap().iter();
        let routes = paths.filter(|(_, item)| item.get("post").is_some());
        routes
            .map(|(path, _)| path.clone())
            .filter(|path| !WITHOUT_KEY.contains(&path.as_str()))
            .collect()
    }

    /// Returns a path of this route and `count` different bodies that it takes.
    async fn requests(&self, route: &str, count: usize) -> (String, Vec<Value>) {
        let body: Box<dyn Fn(usize) -> Value> = match route {
            "/api/experience" => {
                Box::new(|index| json!({ "name": "uv", "task": index.to_string() }))
            }
            "/api/knowledge" => {
                Box::new(|index| json!({ "task": index.to_string(), "content": "很快" }))
            }
            "/api/resource" => Box::new(|index| json!({ "id": "uv", "title": index.to_string() })),
            "/api/content" => Box::new(
                |index| json!({ "id": "guide/uv", "title": index.to_string(), "body": "文" }),
            ),
            "/api/knowledge/slim" => Box::new(|index| json!({ "after": index })),
            "/api/reseal" => Box::new(|index| json!({ "org": format!("org{index}") })),
            _ if route.starts_with("/api/knowledge/") => {
                return self.of_knowledge(route, count).await;
            }
            _ => panic!("{route} is missing here: say what it takes, or why it takes no key"),
        };
        (route.to_owned(), (0..count).map(body).collect())
    }
}

impl Watched {
    /// Returns the same for a route that changes stored knowledge.
    async fn of_knowledge(&self, route: &str, count: usize) -> (String, Vec<Value>) {
        let mut ids = Vec::new();
        for index in 0..=count {
            let body = json!({ "task": "旧的", "content": content(route, index) });
            let key = format!("{route}#{index}");
            let stored = self.post(ANN, "/api/knowledge", &key, &body).await;
            assert_eq!(stored.status, StatusCode::CREATED, "{route}: {stored:?}");
            ids.push(stored.body["id"].as_str().unwrap().to_owned());
        }
        let id = ids[count].clone();
        let body = |index: usize| match route.rsplit('/').next() {
            Some("verify") => json!({ "action": "approve", "verified_by": index.to_string() }),
            Some("undo_merge") => json!({ "reason": index.to_string() }),
            Some("relationships") => json!({ "type": index.to_string(), "target": ids[0] }),
            Some("batch_verify") => json!({ "knowledge_ids": [ids[index]], "action": "approve" }),
            Some("batch_update") => {
                json!({ "feedback_list": [{ "knowledge_id": ids[index], "is_effective": true }] })
            }
            Some("batch_delete") => json!([ids[index]]),
            Some("evaluations") => json!({ "trace_id": index.to_string(), "evaluations": [{
                "knowledge_id": id, "injected_at_sequence": 1, "eval_status": "helpful" }] }),
            _ => panic!("{route} is missing here: say what it takes, or why it takes no key"),
        };
        (route.replace("{id}", &id), (0..count).map(body).collect())
    }
}

/// Returns what a record says: the same as those before it where the route takes back that they were merged.
fn content(route: &str, index: usize) -> String {
    if route.ends_with("undo_merge") { route.to_owned() } else { format!("{route} {index}") }
}

fn is_replay(answer: &Answer) -> bool {
    answer.headers.get("idempotent-replay").is_some_and(|value| value == "true")
}

#[tokio::test]
async fn every_write_is_done_once_under_its_key() {
    let watched = Watched::start().await;
    let routes = watched.routes().await;
    assert!(routes.len() >= 2, "{routes:?}");
    for route in &routes {
        // The same key on every route: each holds for its own path only.
        let (path, bodies) = watched.requests(route, 2).await;
        let before = watched.commits();
        let first = watched.post(ANN, &path, "k", &bodies[0]).await;
        assert!(first.status.is_success() && !is_replay(&first), "{route}: {first:?}");

        let commits = watched.commits();
        assert_ne!(commits, before, "{route}: a write is seen");
        let again = watched.post(ANN, &path, "k", &bodies[0]).await;
        assert_eq!((again.status, &again.body), (first.status, &first.body), "{route}");
        assert!(is_replay(&again), "{route}: {again:?}");
        let other = watched.post(ANN, &path, "k", &bodies[1]).await;
        assert_eq!(other.status, StatusCode::CONFLICT, "{route}: {other:?}");
        assert_eq!(other.body["error"]["code"], "conflict", "{route}");
        assert_eq!(watched.commits(), commits, "{route}: nothing more was written");

        let stranger = watched.post(BOB, &path, "k", &bodies[1]).await;
        assert!(!is_replay(&stranger), "{route}: {stranger:?}");
        let refusal = stranger.body["error"]["message"].as_str().unwrap_or_default();
        assert!(!refusal.contains("idempotency key"), "{route}: the key is another's: {refusal}");
    }
    watched.hub.stop().await;
}

#[tokio::test]
async fn a_refused_write_leaves_its_key_free() {
    let watched = Watched::start().await;
    for route in &watched.routes().await {
        let (path, bodies) = watched.requests(route, 1).await;
        let refused = watched.post(ANN, &path, "k", &json!([])).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{route}: {refused:?}");
        let written = watched.post(ANN, &path, "k", &bodies[0]).await;
        assert!(written.status.is_success() && !is_replay(&written), "{route}: {written:?}");
    }
    watched.hub.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn repeats_at_the_same_time_write_once() {
    let watched = Watched::start().await;
    for route in &watched.routes().await {
        let (path, bodies) = watched.requests(route, 1).await;
        let repeats = (0..32).map(|_| watched.post(ANN, &path, "k", &bodies[0]));
        let answers = join_all(repeats).await;
        assert!(answers[0].status.is_success(), "{route}: {:?}", answers[0]);
        for answer in &answers {
            assert_eq!((answer.status, &answer.body), (answers[0].status, &answers[0].body));
        }
        assert_eq!(answers.iter().filter(|answer| !is_replay(answer)).count(), 1, "{route}");
    }
    watched.hub.stop().await;
}

#[tokio::test]
async fn an_answer_outlives_its_hub() {
    let hub = TestHub::start().await;
    let body = json!({ "name": "uv", "task": "安装依赖" });
    let first = hub.post_with("/api/experience", &body, &[("idempotency-key", "k")]).await;
    let hub = TestHub::start_in(hub.stop().await).await;
    let again = hub.post_with("/api/experience", &body, &[("idempotency-key", "k")]).await;
    assert!(is_replay(&again) && again.body == first.body, "{again:?}");
    hub.stop().await;
}

#[tokio::test]
async fn a_sender_that_left_before_the_answer_finds_its_write_done() {
    let hub = TestHub::start().await;
    let body = json!({ "name": "uv", "task": "安装依赖" });
    let key = [("idempotency-key", "k")];
    let mut left = Box::pin(hub.post_with("/api/experience", &body, &key));
    // Far enough to hand the write over, and then gone, whether it was answered that soon or not.
    let _ = futures_util::poll!(&mut left);
    drop(left);
    let again = hub.post_with("/api/experience", &body, &key).await;
    assert_eq!(again.status, StatusCode::CREATED);
    assert!(is_replay(&again), "{again:?}");
    let found = hub.find("/api/search", &[("q", "uv")]).await.body;
    assert_eq!(found["results"][0]["experience_count"], 1);
    hub.stop().await;
}

#[tokio::test]
async fn a_key_that_is_none_is_refused() {
    let hub = TestHub::start().await;
    let body = json!({ "name": "uv", "task": "安装依赖" });
    let long = "k".repeat(256);
    for headers in [
        &[("idempotency-key", "")][..],
        &[("idempotency-key", &long)],
        &[("idempotency-key", "键")],
        &[("idempotency-key", "a b")],
        &[("idempotency-key", "a"), ("idempotency-key", "b")],
    ] {
        let answer = hub.post_with("/api/experience", &body, headers).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{headers:?}");
        assert_eq!(answer.body["error"]["field"], "idempotency-key", "{headers:?}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn another_query_is_another_request() {
    let hub = TestHub::start().await;
    let id = hub.add_knowledge(json!({ "task": "旧的" })).await;
    let key = [("idempotency-key", "k")];
    let body = json!([id]);
    let delete = async |reason: &str| {
        hub.post_with(&format!("/api/knowledge/batch_delete?reason={reason}"), &body, &key).await
    };
    let first = delete("one").await;
    assert_eq!(first.status, StatusCode::OK, "{first:?}");
    assert_eq!(delete("two").await.status, StatusCode::CONFLICT);
    assert_eq!(delete("one").await.body, first.body);
    hub.stop().await;
}
