//! Searching resources: every word first, within prefix and type, never by a secret, never what is gone.

use std::fs;

use axum::http::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, TestHub, index_folder, strings};

async fn hub_with(resources: &[Value]) -> TestHub {
    let hub = TestHub::start().await;
    for resource in resources {
        let stored = hub.post("/api/resource", resource).await;
        assert!(stored.status.is_success(), "{stored:?}");
    }
    hub
}

async fn find(hub: &TestHub, params: &[(&str, &str)]) -> Answer {
    hub.find("/api/resource", params).await
}

#[track_caller]
fn check(answer: &Answer, ids: &[&str], total: u64) {
    assert_eq!(strings(&answer.body["results"], "id"), ids, "{answer:?}");
    assert_eq!(answer.body["total"], total, "{answer:?}");
}

#[tokio::test]
async fn every_word_goes_before_some_of_them() {
    let hub = hub_with(&[
        json!({ "id": "a", "title": "Tables", "body": "提取表格的办法" }),
        json!({ "id": "b", "title": "Tables of PDF files", "body": "Extract tables from PDF files with care" }),
        json!({ "id": "c", "title": "Cooking", "body": "Bake a cake" }),
    ])
    .await;
    check(&find(&hub, &[("q", "pdf tables")]).await, &["b", "a"], 2);
    check(&find(&hub, &[("q", "怎么提取表格？")]).await, &["a"], 1);
    check(&find(&hub, &[("q", "C")]).await, &["c"], 1);
    check(&find(&hub, &[("q", "nothing of the kind")]).await, &[], 0);
    check(&find(&hub, &[("q", "!?")]).await, &[], 0);
    hub.stop().await;
}

#[tokio::test]
async fn a_search_keeps_within_prefix_and_type() {
    let hub = hub_with(&[
        json!({ "id": "tools/a", "body": "重试", "content_type": "code" }),
        json!({ "id": "tools", "body": "重试" }),
        json!({ "id": "tools-of-others/a", "body": "重试" }),
        json!({ "id": "tools/100%_x", "body": "重试" }),
    ])
    .await;
    let found = find(&hub, &[("q", "重试"), ("prefix", "tools")]).await;
    assert_eq!(found.body["total"], 3);
    check(&find(&hub, &[("q", "重试"), ("prefix", "tools/100%_x")]).await, &["tools/100%_x"], 1);
    check(&find(&hub, &[("q", "重试"), ("prefix", "tools/100")]).await, &[], 0);
    check(&find(&hub, &[("q", "重试"), ("content_type", "code")]).await, &["tools/a"], 1);
    hub.stop().await;
}

#[tokio::test]
async fn pages_add_up() {
    let resources: Vec<Value> =
        (0..7).map(|n| json!({ "id": format!("page/{n}"), "body": "分页" })).collect();
    let hub = hub_with(&resources).await;
    let mut ids = Vec::new();
    for page in ["1", "2", "3", "4"] {
        let found = find(&hub, &[("q", "分页"), ("page", page), ("page_size", "3")]).await;
        assert_eq!(found.body["total"], 7);
        ids.extend(strings(&found.body["results"], "id"));
    }
    ids.sort();
    assert_eq!(ids, strings(&json!(resources), "id"));
    hub.stop().await;
}

#[tokio::test]
async fn only_the_newest_state_is_found_and_nothing_that_is_gone() {
    let hub = hub_with(&[
        json!({ "id": "kept", "body": "旧文" }),
        json!({ "id": "gone", "body": "新文" }),
        json!({ "id": "kept", "body": "新文" }),
    ])
    .await;
    let gone = hub.call(Method::DELETE, "/api/resource/gone", &[], None).await;
    assert_eq!(gone.status, 200, "{gone:?}");
    check(&find(&hub, &[("q", "旧文")]).await, &[], 0);
    check(&find(&hub, &[("q", "新文")]).await, &["kept"], 1);
    let hub = TestHub::start_in(hub.stop().await).await;
    check(&find(&hub, &[("q", "新文")]).await, &["kept"], 1);
    // An index folder of before resources were searched has no such folder.
    let folder = hub.stop().await;
    fs::remove_dir_all(index_folder(&folder, "resources")).unwrap();
    let hub = TestHub::start_in(folder).await;
    check(&find(&hub, &[("q", "新文")]).await, &["kept"], 1);
    hub.stop().await;
}

#[tokio::test]
async fn a_secret_is_not_searched() {
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let hub = TestHub::with_flags(&["--org-keys", &format!("acme:{key}")]).await;
    let login = json!({ "id": "acme/login", "body": "for ann", "secure_body": "hunter2", "content_type": "credential" });
    hub.post("/api/resource", &login).await;
    check(&find(&hub, &[("q", "hunter2")]).await, &[], 0);
    check(&find(&hub, &[("q", "encrypted")]).await, &[], 0);
    check(&find(&hub, &[("q", "ann")]).await, &["acme/login"], 1);
    hub.stop().await;
}
