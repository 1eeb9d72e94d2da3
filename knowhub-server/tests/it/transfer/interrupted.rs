//! An import whose sender leaves while it is stored, and one that is done again after it was cut off.

use std::pin::pin;

use axum::http::Request;
use protocol::export::Line;
use serde_json::json;

use super::{experience, export, import, written};
use crate::harness::{TestHub, until};

/// How many experiences there are, so that storing takes many transactions, and long beside a look at the first.
const EXPERIENCES: i64 = 10_000;

/// Returns the id of a record that tells of one that is nowhere, and an export of it and of many experiences.
async fn lopsided() -> (String, String) {
    let hub = TestHub::start().await;
    let (one, other) = (hub.add_knowledge(json!({})).await, hub.add_knowledge(json!({})).await);
    let relation = json!({ "type": "complement", "target": other });
    let related = hub.post(&format!("/api/knowledge/{one}/relationships"), &relation).await;
    assert_eq!(related.status, 200, "{related:?}");
    let whole = export(&hub).await;
    hub.stop().await;
    let mut lines: Vec<Line> = whole
        .lines()
        .filter_map(|line| Line::parse(line.as_bytes()).ok())
        .filter(|line| matches!(line, Line::Knowledge(it) if it.record.id.as_str() == one))
        .collect();
    lines.extend((1..=EXPERIENCES).map(|id| experience(id, "多", id)));
    (one, written(&lines))
}

/// Sends an import, and leaves when its first record is here.
async fn leave_early(hub: &TestHub, id: &str, whole: String) {
    let path = format!("/api/knowledge/{id}");
    let request = Request::post("/api/import").header("content-type", "application/x-ndjson");
    let mut sending = pin!(hub.raw(request.body(whole.into()).unwrap()));
    tokio::select! {
        biased;
        answer = &mut sending => panic!("it was stored before it was seen: {answer:?}"),
        () = until(async || hub.get(&path).await.status == 200) => {}
    }
}

async fn relations(hub: &TestHub, id: &str) -> serde_json::Value {
    hub.get(&format!("/api/knowledge/{id}")).await.body["relationships"].clone()
}

async fn count(hub: &TestHub) -> i64 {
    let found = hub.find("/api/search", &[("q", "多")]).await.body;
    found["results"][0]["experience_count"].as_i64().unwrap_or(0)
}

#[tokio::test]
async fn it_goes_on_when_its_sender_leaves() {
    let (id, whole) = lopsided().await;
    let hub = TestHub::start().await;
    leave_early(&hub, &id, whole).await;
    until(async || count(&hub).await == EXPERIENCES).await;
    until(async || relations(&hub, &id).await == json!([])).await;
    hub.stop().await;
}

#[tokio::test]
async fn what_a_stop_cut_off_is_brought_by_doing_it_again() {
    let (id, whole) = lopsided().await;
    let hub = TestHub::start().await;
    leave_early(&hub, &id, whole.clone()).await;
    let hub = TestHub::start_in(hub.stop().await).await;
    assert_ne!(relations(&hub, &id).await, json!([]), "it did not come to its end");
    let report = import(&hub, &whole).await;
    assert_eq!(report["skipped"]["knowledge"], 1, "{report}");
    assert_eq!(report["adjusted"][0]["field"], "relationships", "{report}");
    assert_eq!(count(&hub).await, EXPERIENCES);
    assert_eq!(relations(&hub, &id).await, json!([]));
    hub.stop().await;
}
