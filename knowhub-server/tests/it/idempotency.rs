//! Idempotency keys: the same write again changes nothing, another one under the same key is refused.

use axum::http::StatusCode;
use serde_json::json;

use crate::harness::TestHub;

#[tokio::test]
async fn a_repeated_write_gets_the_answer_it_had() {
    let hub = TestHub::start().await;
    let body = json!({ "name": "uv", "task": "安装依赖", "content": "很快" });
    let other = json!({ "name": "uv", "task": "别的事", "content": "很快" });
    let key = [("idempotency-key", "k-1")];
    for path in ["/api/experience", "/api/knowledge"] {
        let first = hub.post_with(path, &body, &key).await;
        assert_eq!(first.status, StatusCode::CREATED);
        assert!(!first.headers.contains_key("idempotent-replay"));

        let again = hub.post_with(path, &body, &key).await;
        assert_eq!(again.status, StatusCode::CREATED);
        assert_eq!(again.body, first.body);
        assert_eq!(again.headers["idempotent-replay"], "true");

        let conflict = hub.post_with(path, &other, &key).await;
        assert_eq!(conflict.status, StatusCode::CONFLICT);
        assert_eq!(conflict.body["error"]["code"], "conflict");
    }
    let found = hub.find("/api/search", &[("q", "安装依赖")]).await.body;
    assert_eq!(found["results"][0]["experience_count"], 1);
    assert_eq!(hub.ids("安装依赖").await.len(), 1);

    let hub = TestHub::start_in(hub.stop().await).await;
    let again = hub.post_with("/api/experience", &body, &key).await;
    assert_eq!(again.headers["idempotent-replay"], "true", "it survives a restart");
    hub.stop().await;
}

#[tokio::test]
async fn repeats_at_the_same_time_write_once() {
    let hub = TestHub::start().await;
    let body = json!({ "name": "uv", "task": "安装依赖" });
    let repeats =
        (0..16).map(|_| hub.post_with("/api/experience", &body, &[("idempotency-key", "k")]));
    let answers = futures_util::future::join_all(repeats).await;
    assert!(answers.iter().all(|answer| answer.body == answers[0].body));
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
        &[("idempotency-key", "a"), ("idempotency-key", "b")],
    ] {
        let answer = hub.post_with("/api/experience", &body, headers).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{headers:?}");
        assert_eq!(answer.body["error"]["field"], "idempotency-key", "{headers:?}");
    }
    hub.stop().await;
}
