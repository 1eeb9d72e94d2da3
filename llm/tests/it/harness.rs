//! An endpoint on a free port that plays prepared responses.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};
use axum::routing::post;
use llm::embedding::{self, Embedder};
use llm::{ChatModel, ChatRequest, Message, Settings};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::time::Instant;

/// What the endpoint was sent.
pub(crate) struct Call {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

#[derive(Clone)]
struct Script {
    respond: Arc<Mutex<Respond>>,
    calls: Arc<Mutex<Vec<Call>>>,
}

type Respond = dyn FnMut(&Value) -> Response<Body> + Send;

pub(crate) struct Endpoint {
    pub(crate) base_url: String,
    script: Script,
    server: tokio::task::JoinHandle<()>,
}

impl Endpoint {
    /// Starts an endpoint that gives `responses` in order, then 418.
    pub(crate) async fn start(responses: impl IntoIterator<Item = Response<Body>>) -> Self {
        let mut responses: VecDeque<_> = responses.into_iter().collect();
        let end = || response(StatusCode::IM_A_TEAPOT, "the script is at its end");
        Self::answering(move |_| responses.pop_front().unwrap_or_else(end)).await
    }

    /// Starts an endpoint whose response follows from the body.
    pub(crate) async fn answering(
        respond: impl FnMut(&Value) -> Response<Body> + Send + 'static,
    ) -> Self {
        let script = Script { respond: Arc::new(Mutex::new(respond)), calls: Arc::default() };
        let router = Router::new()
            .route("/v1/chat/completions", post(answer))
            .route("/v1/embeddings", post(answer))
            .with_state(script.clone());
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

    /// An embedding model at this endpoint with the key `sk-secret`.
    pub(crate) fn embedder(&self) -> Arc<dyn Embedder> {
        embedder(&self.base_url)
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
    let response = script.respond.lock().expect("no panic inside")(&body);
    script.calls.lock().expect("no panic inside").push(Call { headers, body });
    response
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

pub(crate) fn embedder(base_url: &str) -> Arc<dyn Embedder> {
    let settings = embedding::Settings {
        embedding_base_url: Some(base_url.to_owned()),
        embedding_api_key: Some("sk-secret".to_owned().into()),
        embedding_model: Some("tiny-passages".to_owned()),
        embedding_query_model: Some("tiny-queries".to_owned()),
        embedding_query_prefix: Some("query: ".to_owned()),
        ..embedding::Settings::default()
    };
    settings.embedder().expect("valid settings").expect("a URL is set")
}

pub(crate) fn response(status: StatusCode, body: impl Into<Body>) -> Response<Body> {
    Response::builder().status(status).body(body.into()).expect("a valid response")
}

/// A reply with these values in the place of vectors, in their order.
pub(crate) fn embeddings(vectors: &[Value]) -> Response<Body> {
    let item = |(index, vector)| serde_json::json!({"index": index, "embedding": vector});
    let data: Vec<_> = vectors.iter().enumerate().map(item).collect();
    response(StatusCode::OK, serde_json::json!({ "data": data }).to_string())
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
