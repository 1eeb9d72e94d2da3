//! What a write depends on: each condition and parameter holds, or is refused; none is passed over.

use axum::{
    body::{Body, to_bytes},
    http::{Method, Request},
};
use serde_json::{Value, json};

use crate::harness::{Answer, TestHub};

/// Returns each documented call with its method, its path and the parameters that are not in the path.
async fn documented(hub: &TestHub) -> Vec<(Method, String, Vec<String>)> {
    let document = hub.get("/api/openapi.json").await.body;
    let mut calls = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let parameters = parameters.filter(|one| one["in"] != "path");
            let names = parameters.map(|one| one["name"].as_str().unwrap().to_owned());
            let method = method.to_ascii_uppercase().parse().unwrap();
            calls.push((method, path.replace("{id}", "x"), names.collect()));
        }
    }
    calls
}

fn assert_invalid(answer: &Answer, field: &str, call: &str) {
    let error = &answer.body["error"];
    assert_eq!((answer.status.as_u16(), &error["field"]), (422, &json!(field)), "{call}: {error}");
}

#[tokio::test]
async fn every_call_that_changes_a_record_compares_its_version() {
    let hub = TestHub::start().await;
    let experience = format!("/api/experience/{}", hub.add_experience(json!({})).await);
    let (id, other) = (hub.add_knowledge(json!({})).await, hub.add_knowledge(json!({})).await);
    let related = json!({ "type": "conflict", "target": other });
    let knowledge = format!("/api/knowledge/{id}");
    hub.post(&format!("{knowledge}/relationships"), &related).await;
    hub.post("/api/resource", &json!({ "id": "notes", "body": "x" })).await;
    let node = json!({ "id": "notes", "body": "y" });
    let calls = [
        (Method::DELETE, experience.clone(), None),
        (Method::PUT, knowledge.clone(), Some(json!({ "update_score": 5 }))),
        (Method::PATCH, knowledge.clone(), Some(json!({ "content": "y" }))),
        (Method::DELETE, knowledge.clone(), None),
        (Method::POST, format!("{knowledge}/verify"), Some(json!({ "action": "reject" }))),
        (Method::POST, format!("{knowledge}/undo_merge"), None),
        (Method::POST, format!("{knowledge}/relationships"), Some(related)),
        (Method::DELETE, format!("{knowledge}/relationships?type=conflict&target={other}"), None),
        (Method::POST, "/api/resource".to_owned(), Some(node.clone())),
        (Method::POST, "/api/content".to_owned(), Some(node.clone())),
        (Method::PATCH, "/api/resource/notes".to_owned(), Some(node)),
        (Method::DELETE, "/api/resource/notes".to_owned(), None),
    ];
    let compares = documented(&hub).await;
    let compares = compares.iter().filter(|(.., names)| names.iter().any(|one| one == "if-match"));
    assert_eq!(compares.count(), calls.len(), "a call is not tried here");

    let shown = [experience, knowledge, "/api/content/notes".to_owned()];
    let mut before = Vec::new();
    for path in &shown {
        before.push(hub.get(path).await);
    }
    for (method, path, body) in calls {
        let answer = hub.call(method.clone(), &path, &[("if-match", "\"9\"")], body.as_ref()).await;
        assert_eq!(answer.status, 412, "{method} {path}: {answer:?}");
        assert_eq!(answer.body["error"]["code"], "precondition_failed");
    }
    for (path, before) in shown.iter().zip(before) {
        let now = hub.get(path).await;
        assert_eq!((&now.body, &now.headers["etag"]), (&before.body, &before.headers["etag"]));
        let record = path.replace("content", "resource");
        let headers = [("if-match", now.headers["etag"].to_str().unwrap())];
        let deleted = hub.call(Method::DELETE, &record, &headers, None).await;
        assert_eq!(deleted.status, 200, "at its version: {deleted:?}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn what_is_deleted_is_at_no_version() {
    let hub = TestHub::start().await;
    for (kind, id) in hub.add_one_of_each().await {
        let path = format!("/api/{kind}/{id}");
        assert_eq!(hub.call(Method::DELETE, &path, &[], None).await.status, 200);
        let erase = format!("{path}?erase=true");
        for tag in ["\"1\"", "\"5\"", "*"] {
            let refused = hub.call(Method::DELETE, &erase, &[("if-match", tag)], None).await;
            assert_eq!(refused.status, 412, "{kind}: {refused:?}");
        }
        let versions = hub.get(&format!("/api/versions/{kind}/{id}")).await;
        assert_eq!(versions.body["total"], 1, "{kind}: nothing is erased");
        assert_eq!(hub.call(Method::DELETE, &erase, &[], None).await.body["erased"], true);
    }
    hub.stop().await;
}

#[tokio::test]
async fn a_write_may_make_a_record_and_overwrite_none() {
    let hub = TestHub::start().await;
    for path in ["/api/content", "/api/resource"] {
        let id = path.replace("/api/", "");
        let write = async |body: &str, headers: &[(&str, &str)]| {
            hub.post_with(path, &json!({ "id": id, "body": body }), headers).await
        };
        let create = [("if-none-match", "*"), ("idempotency-key", "k")];
        assert_eq!(write("one", &create).await.status, 201);
        let again = write("one", &create).await;
        assert_eq!(
            (again.status.as_u16(), &again.body["created"]),
            (201, &json!(true)),
            "replayed"
        );
        let late = write("two", &[("if-none-match", "*")]).await;
        assert_eq!(late.status, 412, "{late:?}");
        let message = late.body["error"]["message"].as_str().unwrap();
        assert!(message.contains("at version 1"), "{message}");
        for headers in [
            &[("if-none-match", "\"1\"")][..],
            &[("if-none-match", "*"), ("if-none-match", "*")],
            &[("if-none-match", "*"), ("if-match", "\"1\"")],
        ] {
            assert_invalid(&write("two", headers).await, "if-none-match", path);
        }
        assert_eq!(hub.get(&format!("/api/content/{id}")).await.body["body"], "one");
        hub.call(Method::DELETE, &format!("/api/resource/{id}"), &[], None).await;
        assert_eq!(write("two", &[("if-none-match", "*")]).await.status, 201, "it is free again");
    }
    hub.stop().await;
}

#[tokio::test]
async fn no_write_passes_over_a_condition_or_a_parameter() {
    let hub = TestHub::start().await;
    let calls = documented(&hub).await;
    assert!(calls.len() >= 20, "{calls:?}");
    for (method, path, names) in calls {
        let call = format!("{method} {path}");
        let is_read = method == Method::GET;
        if !is_read || path == "/api/export" {
            // A condition is a header, whoever writes it into the query.
            for name in ["nonsense", "if-match", "if-none-match"] {
                let query = format!("{path}?{name}=*");
                let answer = hub.call(method.clone(), &query, &[], Some(&json!({}))).await;
                assert_invalid(&answer, name, &call);
            }
        }
        for condition in ["if-match", "if-none-match"] {
            let request = Request::builder().method(method.clone()).uri(&path);
            let request = request.header(condition, "*").header("content-type", "application/json");
            let answer = hub.raw(request.body(Body::from("{}")).unwrap()).await;
            let bytes = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
            let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            let is_refused = body["error"]["field"] == condition;
            let is_heeded = is_read || names.iter().any(|name| name == condition);
            assert_eq!(is_refused, !is_heeded, "{call} {condition}: {body}");
        }
    }
    assert_eq!(hub.get("/api/knowledge?nonsense=true").await.status, 200, "it changes nothing");
    hub.stop().await;
}
