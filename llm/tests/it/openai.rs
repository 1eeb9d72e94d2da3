//! Replies, retries, bounds and deadlines of the client for real endpoints.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Response, StatusCode, header};
use futures_util::{StreamExt, stream};
use llm::{Error, FinishReason};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::harness::{Endpoint, completion, model, request, response};

const PATIENCE: Duration = Duration::from_secs(20);
const IMPATIENCE: Duration = Duration::from_millis(300);

/// Asserts that the one response given leads to an error whose text holds `expected`.
#[track_caller]
fn says(err: &Error, expected: &str) {
    let text = err.to_string();
    assert!(text.contains(expected), "{text:?} should say {expected:?}");
    assert!(text.contains("127.0.0.1"), "{text:?} should name the endpoint");
    assert!(!format!("{err:?}").contains("sk-secret"), "the key is in {err:?}");
}

#[tokio::test]
async fn a_completion_is_asked_for_and_read() {
    let endpoint = Endpoint::start([completion("hello")]).await;
    let reply = endpoint.model().complete(request(PATIENCE)).await.unwrap();
    assert_eq!((reply.content.as_str(), reply.finish_reason), ("hello", FinishReason::Stop));
    assert_eq!((reply.usage.prompt_tokens, reply.usage.completion_tokens), (7, 2));
    assert_eq!(reply.usage.cost, Some(0.000_01));

    let calls = endpoint.calls();
    assert_eq!(calls[0].headers[header::AUTHORIZATION], "Bearer sk-secret");
    let expected = json!({
        "model": "tiny",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "你好"},
        ],
        "max_tokens": 64,
        "temperature": 0.5,
        "stream": false,
    });
    assert_eq!(calls[0].body, expected);
}

#[tokio::test]
async fn a_fault_of_the_server_is_tried_again() {
    let broken = response(StatusCode::INTERNAL_SERVER_ERROR, "oops");
    let in_success = response(StatusCode::OK, r#"{"error": {"code": 502, "message": "upstream"}}"#);
    let endpoint = Endpoint::start([broken, in_success, completion("at last")]).await;
    let reply = endpoint.model().complete(request(PATIENCE)).await.unwrap();
    assert_eq!(reply.content, "at last");
    assert_eq!(endpoint.calls().len(), 3);
}

#[tokio::test]
async fn retry_after_is_obeyed_within_the_deadline() {
    let endpoint = Endpoint::start([limited("1"), completion("now")]).await;
    let started = Instant::now();
    endpoint.model().complete(request(PATIENCE)).await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(1), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_retry_after_past_the_deadline_fails_at_once() {
    let endpoint = Endpoint::start([limited("3600")]).await;
    let started = Instant::now();
    let err = endpoint.model().complete(request(PATIENCE)).await.unwrap_err();
    says(&err, "429 Too Many Requests");
    assert!(matches!(&err, Error::Refused { excerpt, .. } if excerpt == "slow down"), "{err:?}");
    assert_eq!(err.retry_after(), Some(Duration::from_hours(1)));
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
    assert_eq!(endpoint.calls().len(), 1);
}

fn limited(retry_after: &str) -> Response<Body> {
    let mut limited =
        response(StatusCode::TOO_MANY_REQUESTS, r#"{"error": {"message": "slow down"}}"#);
    limited.headers_mut().insert(header::RETRY_AFTER, retry_after.parse().expect("a header value"));
    limited
}

#[tokio::test]
async fn a_refusal_and_a_redirect_are_final() {
    let unauthorized = response(StatusCode::UNAUTHORIZED, r#"{"error": {"message": "bad key"}}"#);
    let mut moved = response(StatusCode::TEMPORARY_REDIRECT, "");
    moved.headers_mut().insert(header::LOCATION, "/elsewhere".parse().unwrap());
    for (refusal, expected) in
        [(unauthorized, "401 Unauthorized; check LLM_API_KEY"), (moved, "307")]
    {
        let endpoint = Endpoint::start([refusal]).await;
        let err = endpoint.model().complete(request(PATIENCE)).await.unwrap_err();
        says(&err, expected);
        assert_eq!(endpoint.calls().len(), 1);
    }
}

#[tokio::test]
async fn what_is_no_completion_is_said_and_not_tried_again() {
    for (body, expected) in [
        ("<html>hello</html>", "not JSON"),
        ("", "not JSON"),
        (r#"{"choices": []}"#, "`choices` is empty"),
        (r#"{"choices": [{"message": {"content": "\ud83d"}}]}"#, "not JSON"),
    ] {
        let endpoint = Endpoint::start([response(StatusCode::OK, body)]).await;
        let err = endpoint.model().complete(request(PATIENCE)).await.unwrap_err();
        says(&err, expected);
        assert_eq!(endpoint.calls().len(), 1, "{body}");
    }
}

#[tokio::test]
async fn a_huge_reply_is_not_read_to_its_end() {
    let endless = stream::repeat(Ok::<_, Infallible>(Bytes::from_static(&[b' '; 8_192])));
    let known = response(StatusCode::OK, vec![b' '; 10 * 1024 * 1024]);
    for body in [response(StatusCode::OK, Body::from_stream(endless)), known] {
        let endpoint = Endpoint::start([body]).await;
        let err = endpoint.model().complete(request(PATIENCE)).await.unwrap_err();
        assert!(matches!(err, Error::TooLarge { .. }), "{err}");
        says(&err, "more than 4194304 bytes");
    }
}

#[tokio::test]
async fn a_stalled_body_ends_with_the_deadline() {
    let begun = Bytes::from_static(b"{\"choices\": [{\"mess");
    let stalled = stream::iter([Ok::<_, Infallible>(begun)]).chain(stream::pending());
    let endpoint = Endpoint::start([response(StatusCode::OK, Body::from_stream(stalled))]).await;
    deadline_holds(&endpoint.base_url).await;
}

#[tokio::test]
async fn an_endpoint_that_never_answers_ends_with_the_deadline() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    deadline_holds(&format!("http://{}/v1", silent.local_addr().unwrap())).await;
}

async fn deadline_holds(base_url: &str) {
    let started = Instant::now();
    let err = model(base_url).complete(request(IMPATIENCE)).await.expect_err("silent");
    assert!(matches!(err, Error::Deadline { .. }), "{err}");
    says(&err, "no reply within 3");
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
}

#[tokio::test]
async fn an_absent_endpoint_is_named() {
    let absent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", absent.local_addr().unwrap());
    drop(absent);
    let err = model(&base_url).complete(request(IMPATIENCE)).await.unwrap_err();
    assert!(matches!(err, Error::Transport { .. }), "{err}");
    says(&err, &format!("cannot reach the model at {base_url}"));
}
