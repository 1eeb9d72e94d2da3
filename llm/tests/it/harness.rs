//! A chat endpoint on a free port that plays prepared responses.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::post;
use llm::{ChatModel, ChatRequest, Message, Settings};
use tokio::net::TcpListener;
use tokio::time::Instant;

/// What the endpoint was sent.
pub(crate) struct Call {
    pub(crate) headers: HeaderMap,
    pub(crate) body: serde_json::Value,
}

#[derive(Clone)]
struct Script {
    responses: Arc<Mutex<VecDeque<Response<Body>>>>,
    calls: Arc<Mutex<Vec<Call>>>,
}

pub(crate) struct Endpoint {
    pub(crate) base_url: String,
    script: Script,
    server: tokio::task::JoinHandle<()>,
}

impl Endpoint {
    /// Starts an endpoint that gives `responses` in order, then 418.
    pub(crate) async fn start(responses: impl IntoIterator<Item = Response<Body>>) -> Self {
        let script = Script {
            responses: Arc::new(Mutex::new(responses.into_iter().collect())),
            calls: Arc::default(),
        };
        let router =
            Router::new().route("/v1/chat/completions", post(answer)).with_state(script.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base_url = format!("http://{}/v1", listener.local_addr().expect("bound"));
        let server =
            tokio::spawn(async move { axum::serve(listener, router).await.expect("never ends") });
        Self { base_url, script, server }
    }

    /// A client for this endpoint with the key `sk-secret`.
    pub(crate) fn model(&self) -> Arc<dyn ChatModel> {
        model(&self.base_url)
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        std::mem::take(&mut self.script.calls.lock().expect("no panic inside"))
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(script): State<Script>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let body = serde_json::from_slice(&body).expect("the client sends JSON");
    script.calls.lock().expect("no panic inside").push(Call { headers, body });
    let next = script.responses.lock().expect("no panic inside").pop_front();
    next.unwrap_or_else(|| response(StatusCode::IM_A_TEAPOT, "the script is at its end"))
}

pub(crate) fn model(base_url: &str) -> Arc<dyn ChatModel> {
    let settings = Settings {
        llm_base_url: Some(base_url.to_owned()),
        llm_api_key: Some("sk-secret".to_owned().into()),
        llm_model: Some("tiny".to_owned()),
        ..Settings::default()
    };
    settings.model().expect("valid settings").expect("a URL is set")
}

pub(crate) fn response(status: StatusCode, body: impl Into<Body>) -> Response<Body> {
    Response::builder().status(status).body(body.into()).expect("a valid response")
}

/// A completion that says `text`.
pub(crate) fn completion(text: &str) -> Response<Body> {
    let body = serde_json::json!({
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 2, "cost": 0.000_01},
    });
    response(StatusCode::OK, body.to_string())
}

pub(crate) fn request(patience: Duration) -> ChatRequest {
    ChatRequest {
        messages: vec![Message::system("Be brief."), Message::user("你好")],
        max_tokens: 64,
        temperature: 0.5,
        deadline: Instant::now() + patience,
    }
}
