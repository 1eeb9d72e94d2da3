//! Every fault has its status, its code and the one envelope.

use std::convert::Infallible;

use axum::{
    body::Body,
    http::{Request, StatusCode},
};
use futures_util::stream;
use serde_json::{Value, json};

use crate::harness::TestHub;

const EXPERIENCE: &str = "/api/experience";
const KNOWLEDGE: &str = "/api/knowledge";

#[tokio::test]
async fn a_wrong_field_is_named() {
    let hub = TestHub::start().await;
    let good = json!({ "name": "a", "task": "b", "content": "c" });
    for (path, change, field) in [
        (EXPERIENCE, json!({ "name": null }), "name"),
        (EXPERIENCE, json!({ "name": " " }), "name"),
        (EXPERIENCE, json!({ "name": "n".repeat(2_001) }), "name"),
        (EXPERIENCE, json!({ "task": 5 }), "task"),
        (EXPERIENCE, json!({ "task": "长".repeat(100_001) }), "task"),
        (EXPERIENCE, json!({ "score": 0 }), "score"),
        (EXPERIENCE, json!({ "score": 6 }), "score"),
        (EXPERIENCE, json!({ "score": 4.5 }), "score"),
        (EXPERIENCE, json!({ "score": "5" }), "score"),
        (EXPERIENCE, json!({ "url": ["x"] }), "url"),
        (KNOWLEDGE, json!({ "content": "" }), "content"),
        (KNOWLEDGE, json!({ "types": "tool" }), "types"),
        (KNOWLEDGE, json!({ "types": ["tool", 1] }), "types[1]"),
        (KNOWLEDGE, json!({ "tags": { "project": 7 } }), "tags.project"),
        (KNOWLEDGE, json!({ "source": { "urls": [""] } }), "source.urls[0]"),
    ] {
        let mut body = good.clone();
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let answer = hub.post(path, &body).await;
        assert_eq!(answer.status, 422, "{change}");
        assert_eq!(answer.body["error"]["code"], "invalid", "{change}");
        assert_eq!(answer.body["error"]["field"], field, "{change}");
    }
    for (path, body, field) in [
        (EXPERIENCE, json!({ "name": "a" }), Some("task")),
        (KNOWLEDGE, json!({ "task": "a" }), Some("content")),
        (KNOWLEDGE, json!([]), None),
        (KNOWLEDGE, json!("text"), None),
    ] {
        let answer = hub.post(path, &body).await;
        assert_eq!(answer.status, 422, "{body}");
        assert_eq!(answer.body["error"].get("field").and_then(Value::as_str), field, "{body}");
    }
    assert!(hub.names("a").await.is_empty(), "nothing of it was stored");
    hub.stop().await;
}

#[tokio::test]
async fn a_wrong_parameter_is_named() {
    let hub = TestHub::start().await;
    for (path, field) in [
        ("/api/search", "q"),
        ("/api/search?q=", "q"),
        ("/api/search?q=a&q=b", "q"),
        ("/api/search?q=%ff%fe", "q"),
        ("/api/search?q=a&limit=0", "limit"),
        ("/api/search?q=a&limit=101", "limit"),
        ("/api/search?q=a&limit=ten", "limit"),
        ("/api/search?q=a&category=b&category=c", "category"),
        ("/api/knowledge/search?q=%20", "q"),
        ("/api/knowledge/search?q=a&top_k=21", "top_k"),
        ("/api/knowledge/search?q=a&top_k=-1", "top_k"),
        ("/api/knowledge/search?q=a&min_score=6", "min_score"),
        ("/api/knowledge/search?q=a&tags=project", "tags"),
        ("/api/knowledge/search?q=a&all=perhaps", "all"),
    ] {
        let answer = hub.get(path).await;
        assert_eq!(answer.status, 422, "{path}");
        assert_eq!(answer.body["error"]["field"], field, "{path}");
    }
    let long = "长".repeat(4_001);
    assert_eq!(hub.find("/api/search", &[("q", &long)]).await.status, 422);
    hub.stop().await;
}

#[tokio::test]
async fn what_is_no_json_is_refused() {
    let hub = TestHub::start().await;
    let deep = "[".repeat(100_000);
    let large = format!("\"{}\"", "x".repeat(1024 * 1024));
    for (kind, body, status, code) in [
        ("application/json", "", 400, "bad_request"),
        ("application/json", "{\"name\": ", 400, "bad_request"),
        ("application/json", "{} {}", 400, "bad_request"),
        ("application/json", &deep, 400, "bad_request"),
        ("application/json", &large, 413, "too_large"),
        ("text/plain", "{}", 415, "unsupported_media_type"),
        ("application/jsonp", "{}", 415, "unsupported_media_type"),
        ("APPLICATION/JSON; charset=utf-8", "{}", 422, "invalid"),
    ] {
        let request = Request::post(EXPERIENCE).header("content-type", kind);
        let answer = hub.send(request.body(Body::from(body.to_owned())).unwrap()).await;
        assert_eq!(answer.status, status, "{kind}");
        assert_eq!(answer.body["error"]["code"], code, "{kind}");
        assert!(answer.headers.contains_key("x-request-id"), "{kind}");
    }
    let untyped = Request::post(EXPERIENCE).body(Body::from("{}")).unwrap();
    assert_eq!(hub.send(untyped).await.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let invalid = Request::post(EXPERIENCE).header("content-type", "application/json");
    let answer = hub.send(invalid.body(Body::from(&b"\"\xff\""[..])).unwrap()).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    hub.stop().await;
}

#[tokio::test]
async fn a_body_that_does_not_come_is_given_up() {
    let hub = TestHub::start().await;
    tokio::time::pause();
    let endless = Body::from_stream(stream::pending::<Result<Vec<u8>, Infallible>>());
    let request = Request::post(EXPERIENCE).header("content-type", "application/json");
    let answer = hub.send(request.body(endless).unwrap()).await;
    assert_eq!(answer.status, StatusCode::REQUEST_TIMEOUT, "{answer:?}");
    assert_eq!(answer.body["error"]["code"], "timeout");
    assert!(answer.headers.contains_key("x-request-id"), "{answer:?}");
    tokio::time::resume();
    hub.stop().await;
}

#[tokio::test]
async fn what_is_not_there_is_said() {
    let hub = TestHub::start().await;
    for (method, path, status, code) in [
        ("GET", "/", 404, "not_found"),
        ("GET", "/api/nothing", 404, "not_found"),
        ("GET", "/api/knowledge/knowledge-20260305-a1b2", 404, "not_found"),
        ("GET", "/api/knowledge/no-such-form", 404, "not_found"),
        ("GET", "/api/knowledge/%ff", 404, "not_found"),
        ("GET", "/api/experience", 405, "method_not_allowed"),
        ("DELETE", "/api/search", 405, "method_not_allowed"),
        ("POST", "/healthz", 405, "method_not_allowed"),
    ] {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        let answer = hub.send(request).await;
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(answer.body["error"]["code"], code, "{method} {path}");
        assert!(answer.headers.contains_key("x-request-id"), "{method} {path}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn an_answer_carries_the_request_id() {
    let hub = TestHub::start().await;
    for (sent, is_kept) in [("abc-1.2_3", true), ("a b", false), ("", false)] {
        let request = Request::get("/healthz").header("x-request-id", sent);
        let answer = hub.send(request.body(Body::empty()).unwrap()).await;
        let id = answer.headers["x-request-id"].to_str().unwrap();
        assert_eq!(id == sent, is_kept, "{sent:?} became {id:?}");
    }
    let head = Request::head("/api/search?q=a").body(Body::empty()).unwrap();
    assert_eq!(hub.send(head).await.status, StatusCode::OK);
    hub.stop().await;
}
