//! What was asked for and not found is counted, and forgotten once it is found.

use serde_json::{Value, json};

use crate::harness::TestHub;

/// Returns what is wanted and how often, most wanted first.
async fn wanted(hub: &TestHub, query: &str) -> Vec<(String, String, u64)> {
    let answer = hub.get(&format!("/api/demand{query}")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let text = |one: &Value, field| one[field as &str].as_str().unwrap().to_owned();
    let entry =
        |one: &Value| (text(one, "kind"), text(one, "wanted"), one["count"].as_u64().unwrap());
    answer.body["results"].as_array().unwrap().iter().map(entry).collect()
}

fn entry(kind: &str, wanted: &str, count: u64) -> (String, String, u64) {
    (kind.to_owned(), wanted.to_owned(), count)
}

#[tokio::test]
async fn searches_without_a_result_are_counted_whatever_their_spelling() {
    let hub = TestHub::start().await;
    for q in ["Invoice OCR", "  invoice   ocr ", "发票 识别", "invoice ocr"] {
        assert!(hub.names(q).await.is_empty());
    }
    assert!(hub.ids("invoice ocr").await.is_empty());
    let all = wanted(&hub, "").await;
    assert_eq!(all[0], entry("experience_search", "invoice ocr", 3));
    assert_eq!(all.len(), 3, "{all:?}");
    assert_eq!(
        wanted(&hub, "?kind=knowledge_search").await,
        [entry("knowledge_search", "invoice ocr", 1)]
    );
    let page = hub.get("/api/demand?page=2&page_size=2").await.body;
    assert_eq!((&page["total"], &page["page"]), (&json!(3), &json!(2)));
    assert_eq!(page["results"].as_array().unwrap().len(), 1);
    let times = &page["results"][0];
    assert!(
        times["first_at"].as_str() <= times["last_at"].as_str() && times["first_at"].is_string()
    );
    hub.stop().await;
}

#[tokio::test]
async fn what_is_found_later_is_no_longer_wanted() {
    let hub = TestHub::start().await;
    assert!(hub.names("invoice ocr").await.is_empty());
    assert!(hub.names("speech").await.is_empty());
    assert_eq!(wanted(&hub, "").await.len(), 2);
    hub.add_experience(json!({ "name": "paddleocr", "task": "invoice OCR" })).await;
    assert_eq!(hub.names("Invoice OCR").await, ["paddleocr"]);
    assert_eq!(wanted(&hub, "").await, [entry("experience_search", "speech", 1)]);
    hub.stop().await;
}

#[tokio::test]
async fn demand_outlives_a_stop() {
    let hub = TestHub::start().await;
    assert!(hub.names("speech").await.is_empty());
    let folder = hub.stop().await;
    let hub = TestHub::start_in(folder).await;
    assert!(hub.names("speech").await.is_empty());
    assert_eq!(wanted(&hub, "").await, [entry("experience_search", "speech", 2)]);
    hub.add_experience(json!({ "name": "whisper", "task": "speech" })).await;
    assert_eq!(hub.names("speech").await, ["whisper"]);
    assert!(wanted(&hub, "").await.is_empty());
    hub.stop().await;
}

#[tokio::test]
async fn a_secret_in_a_query_is_cut_out() {
    let hub = TestHub::start().await;
    let token = format!("ghp_{}", "Ab3dE".repeat(8).get(..36).unwrap());
    assert!(hub.names(&format!("clone with {token}")).await.is_empty());
    let all = wanted(&hub, "").await;
    assert_eq!(all, [entry("experience_search", "clone with [redacted]", 1)]);
    hub.stop().await;
}

#[tokio::test]
async fn a_secret_in_place_of_an_id_or_a_name_is_not_remembered() {
    let hub = TestHub::start().await;
    let token = format!("ghp_{}", "q7Zk2XvB9mRt4WnC8pLs5HgD3fJy6TaE1uVi");
    for path in [
        format!("/api/resource/{token}"),
        format!("/api/resource/notes%20with%20{token}"),
        "/api/resource/https://me:Xk29fjQp7wZ@git.example/a".to_owned(),
        format!("/api/content/acme/{token}"),
    ] {
        assert_eq!(hub.get(&path).await.status, 404, "{path}");
    }
    assert_eq!(wanted(&hub, "").await, []);
    hub.stop().await;
}

#[tokio::test]
async fn an_unknown_kind_is_named() {
    let hub = TestHub::start().await;
    let answer = hub.get("/api/demand?kind=tool").await;
    assert_eq!((answer.status.as_u16(), &answer.body["error"]["field"]), (422, &json!("kind")));
    hub.stop().await;
}

#[tokio::test]
async fn an_id_is_wanted_until_something_is_stored_under_it() {
    let hub = TestHub::start().await;
    for path in ["/api/content/paper/s1", "/api/content/paper/s1", "/api/resource/camelot"] {
        assert_eq!(hub.get(path).await.status, 404);
    }
    // What is no id names nothing that one could store.
    assert_eq!(hub.get("/api/content/no%20id").await.status, 404);
    let wanted_ids = [entry("content", "paper/s1", 2), entry("resource", "camelot", 1)];
    assert_eq!(wanted(&hub, "").await, wanted_ids);
    let node = json!({ "id": "paper/s1", "body": "# One" });
    assert_eq!(hub.post("/api/content", &node).await.status, 201);
    hub.add_experience(json!({ "name": "camelot" })).await;
    assert!(wanted(&hub, "").await.is_empty());
    hub.stop().await;
}
