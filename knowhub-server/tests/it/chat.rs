//! A chat endpoint whose replies a test chooses, by what the model is asked for.

use std::{
    collections::{HashMap, VecDeque},
    convert::Infallible,
    future::pending,
    sync::{Arc, Mutex, MutexGuard},
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::State,
    http::{Response, StatusCode, header},
    routing::post,
};
use futures_util::{StreamExt, stream};
use knowhub_server::Config;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::Notify};

use crate::harness::{TestHub, config_with};

/// What the hub asks a model for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    Relate,
    Link,
    Evolve,
    Rerank,
}

/// Each purpose with what the system message says then.
const PURPOSES: [(Purpose, &str); 4] = [
    (Purpose::Relate, include_str!("../../prompts/relate-v1.system.md")),
    (Purpose::Link, include_str!("../../prompts/link-v1.system.md")),
    (Purpose::Evolve, include_str!("../../prompts/evolve-v1.system.md")),
    (Purpose::Rerank, include_str!("../../prompts/rerank-v1.system.md")),
];

/// What the endpoint does with a call.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Completes with this text.
    Text(String),
    /// The same, once it is told to.
    Gated(Arc<Notify>, String),
    /// Refuses with this status.
    Status(u16),
    /// Wants to be left alone for so many seconds.
    Limited(u64),
    /// Never answers.
    Hang,
    /// Sends the head and half of the body, and no more.
    Stalled,
    /// Completes with a text of so many bytes.
    Huge(usize),
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Reply {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// An endpoint on a free port; clones share it.
#[derive(Clone)]
pub(crate) struct Chat {
    script: Arc<Mutex<Script>>,
    base_url: String,
}

#[derive(Default)]
struct Script {
    /// What is done once, oldest first, before what is always done.
    once: VecDeque<(Purpose, Reply)>,
    always: HashMap<Purpose, Reply>,
    prompts: Vec<(Purpose, String)>,
}

impl Chat {
    /// Starts an endpoint that finds no relations and no tools, and has no words for anything else.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let chat = Self { script: Arc::default(), base_url };
        chat.says(Purpose::Relate, "[]");
        chat.says(Purpose::Link, "[]");
        let router =
            Router::new().route("/v1/chat/completions", post(complete)).with_state(chat.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        chat
    }

    /// Sets what is done from now on.
    pub(crate) fn says(&self, purpose: Purpose, reply: impl Into<Reply>) {
        self.script().always.insert(purpose, reply.into());
    }

    /// Sets what is done with the next call, before what is done from then on.
    pub(crate) fn says_once(&self, purpose: Purpose, reply: impl Into<Reply>) {
        self.script().once.push_back((purpose, reply.into()));
    }

    /// Returns what the user's messages said, oldest first.
    pub(crate) fn prompts(&self, purpose: Purpose) -> Vec<String> {
        let script = self.script();
        let asked = script.prompts.iter().filter(|(asked, _)| *asked == purpose);
        asked.map(|(_, prompt)| prompt.clone()).collect()
    }

    /// Starts a hub with this model.
    pub(crate) async fn hub(&self) -> TestHub {
        self.hub_in(tempfile::tempdir().unwrap(), &[]).await
    }

    /// The same in this folder and with further flags.
    pub(crate) async fn hub_in(&self, folder: TempDir, flags: &[&str]) -> TestHub {
        let llm_base_url = Some(self.base_url.clone());
        let llm = llm::Settings { llm_base_url, ..llm::Settings::default() };
        let config = Config { llm, ..config_with(&folder, flags) };
        TestHub::start_with(folder, &config).await
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    /// Takes the next reply of the script, and notes the prompt.
    fn next(&self, purpose: Purpose, prompt: &str) -> Reply {
        let mut script = self.script();
        script.prompts.push((purpose, prompt.to_owned()));
        match script.once.iter().position(|(next, _)| *next == purpose) {
            Some(at) => script.once.remove(at).unwrap().1,
            None => script.always.get(&purpose).cloned().unwrap_or_else(|| "".into()),
        }
    }
}

async fn complete(State(chat): State<Chat>, Json(request): Json<Value>) -> Response<Body> {
    let [system, user] = [0, 1].map(|at| request["messages"][at]["content"].as_str().unwrap());
    let (purpose, _) = PURPOSES.into_iter().find(|(_, text)| *text == system).unwrap();
    match chat.next(purpose, user) {
        Reply::Text(text) => completion(&text),
        Reply::Gated(gate, text) => {
            gate.notified().await;
            completion(&text)
        }
        Reply::Status(status) => refusal(status).unwrap(),
        Reply::Limited(secs) => {
            let mut response = refusal(429).unwrap();
            response.headers_mut().insert(header::RETRY_AFTER, secs.into());
            response
        }
        Reply::Hang => pending().await,
        Reply::Stalled => {
            let half = Bytes::from_static(br#"{"choices": [{"mess"#);
            let started = stream::once(async { Ok::<_, Infallible>(half) });
            Response::new(Body::from_stream(started.chain(stream::pending())))
        }
        Reply::Huge(bytes) => completion(&"x".repeat(bytes)),
    }
}

fn completion(text: &str) -> Response<Body> {
    let message = json!({ "role": "assistant", "content": text });
    let body = json!({
        "choices": [{ "message": message, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 7, "completion_tokens": 2 },
    });
    Response::new(body.to_string().into())
}

fn refusal(status: u16) -> axum::http::Result<Response<Body>> {
    let body = json!({ "error": { "message": "no" } }).to_string();
    Response::builder().status(StatusCode::from_u16(status)?).body(body.into())
}
