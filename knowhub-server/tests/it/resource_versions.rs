//! What a resource said before: kept at every change, readable, gone only when it is erased.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{TestHub, config_with};

async fn write(hub: &TestHub, body: &str) {
    let answer = hub.post("/api/resource", &json!({ "id": "notes", "body": body })).await;
    assert!(answer.status.is_success(), "{answer:?}");
}

/// Returns version and body of each earlier version, newest first.
async fn versions(hub: &TestHub, query: &str) -> Vec<(i64, String)> {
    let list = hub.get(&format!("/api/versions/resource/notes{query}")).await.body;
    let of = |one: &Value| {
        let record = &one["record"];
        (record["version"].as_i64().unwrap(), record["body"].as_str().unwrap().to_owned())
    };
    list["results"].as_array().unwrap().iter().map(of).collect()
}

#[tokio::test]
async fn every_version_stays_readable() {
    let hub = TestHub::start().await;
    for body in ["one", "two", "three"] {
        write(&hub, body).await;
    }
    let (one, two) = ((1, "one".to_owned()), (2, "two".to_owned()));
    assert_eq!(versions(&hub, "").await, [two.clone(), one.clone()]);
    assert_eq!(versions(&hub, "?version=1").await, std::slice::from_ref(&one));
    assert_eq!(versions(&hub, "?page=2&page_size=1").await, [one]);
    assert_eq!(versions(&hub, "?version=9").await, []);
    for (query, field) in [
        ("?version=0", "version"),
        ("?version=x", "version"),
        ("?version=", "version"),
        ("?page=0", "page"),
    ] {
        let answer = hub.get(&format!("/api/versions/resource/notes{query}")).await;
        assert_eq!(answer.body["error"]["field"], field);
    }
    assert_eq!(hub.get("/api/versions/resource/absent").await.status, StatusCode::NOT_FOUND);
    hub.stop().await;
}

#[tokio::test]
async fn what_was_deleted_is_kept_for_an_admin_until_it_is_erased() {
    let hub = TestHub::start().await;
    write(&hub, "one").await;
    write(&hub, "two").await;
    let deleted = hub.call(Method::DELETE, "/api/resource/notes?reason=outdated", &[], None).await;
    assert_eq!(deleted.body, json!({ "id": "notes", "version": 2, "erased": false }));
    assert_eq!(hub.get("/api/content/notes").await.status, StatusCode::NOT_FOUND);
    assert_eq!(versions(&hub, "").await.len(), 2, "the last state is kept too");
    let again = hub.call(Method::DELETE, "/api/resource/notes", &[], None).await;
    assert_eq!(again.status, StatusCode::NOT_FOUND);

    write(&hub, "three").await;
    assert_eq!(hub.get("/api/resource/notes").await.body["version"], 3, "numbers go on");
    let erased = hub.call(Method::DELETE, "/api/resource/notes?erase=true", &[], None).await;
    assert_eq!(erased.body, json!({ "id": "notes", "version": 3, "erased": true }));
    assert_eq!(hub.get("/api/versions/resource/notes").await.status, StatusCode::NOT_FOUND);
    write(&hub, "four").await;
    assert_eq!(hub.get("/api/resource/notes").await.body["version"], 4, "numbers go on still");
    hub.stop().await;
}

#[tokio::test]
async fn what_is_deleted_already_can_be_erased() {
    let hub = TestHub::start().await;
    write(&hub, "one").await;
    hub.call(Method::DELETE, "/api/resource/notes", &[], None).await;
    let erased = hub.call(Method::DELETE, "/api/resource/notes?erase=true", &[], None).await;
    assert_eq!(erased.body, json!({ "id": "notes", "version": 1, "erased": true }));
    let again = hub.call(Method::DELETE, "/api/resource/notes?erase=true", &[], None).await;
    assert_eq!(again.status, StatusCode::NOT_FOUND);
    hub.stop().await;
}

#[tokio::test]
async fn a_reader_does_not_see_what_was_deleted() {
    let tokens = "root:admin:0123456789abcdef0,eve:reader:fedcba98765432100";
    let folder = tempfile::tempdir().unwrap();
    let config = config_with(&folder, &["--knowhub-tokens", tokens]);
    let hub = TestHub::start_with(folder, &config).await;
    let (root, eve) = ("Bearer 0123456789abcdef0", "Bearer fedcba98765432100");
    let post = async |body: &str| {
        let body = json!({ "id": "notes", "body": body });
        hub.post_with("/api/resource", &body, &[("authorization", root)]).await
    };
    let seen = async |token: &str| {
        let headers = [("authorization", token)];
        let list = hub.call(Method::GET, "/api/versions/resource/notes", &headers, None).await;
        (list.status, list.body["total"].clone())
    };
    post("deleted one").await;
    hub.call(Method::DELETE, "/api/resource/notes", &[("authorization", root)], None).await;
    assert_eq!(seen(root).await, (StatusCode::OK, json!(1)));
    assert_eq!(seen(eve).await.0, StatusCode::NOT_FOUND);
    post("two").await;
    post("three").await;
    assert_eq!((seen(root).await.1, seen(eve).await.1), (json!(2), json!(1)));
    let denied =
        hub.call(Method::DELETE, "/api/resource/notes", &[("authorization", eve)], None).await;
    assert_eq!(denied.status, StatusCode::FORBIDDEN);
    hub.stop().await;
}
