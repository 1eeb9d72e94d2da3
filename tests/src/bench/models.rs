//! Models that cost next to nothing, so that what is measured is the hub: embeddings and chat, as an endpoint has them.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    net::SocketAddr,
    sync::Arc,
};

use anyhow::Result;
use axum::{Json, Router, extract::State, routing::post};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::vectors::Vectors;

/// How many numbers a vector has, as those of multilingual-e5-small.
const DIMENSION: usize = 384;

/// How many rows the vectors are spread for.
const SPREAD_ROWS: u64 = 100_000;

/// An endpoint for both kinds of models.
pub struct Models(SocketAddr);

impl Models {
    /// Starts it; it ends with the program.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let addr = listener.local_addr()?;
        let vectors = Arc::new(Vectors::new(SPREAD_ROWS, DIMENSION, 1));
        let routes = Router::new()
            .route("/v1/embeddings", post(embed))
            .route("/v1/chat/completions", post(complete))
            .with_state(vectors);
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok(Self(addr))
    }

    /// Returns the settings that make it a hub's embedding model.
    pub fn embedding_settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("EMBEDDING_BASE_URL", format!("http://{}/v1", self.0)),
            ("EMBEDDING_MODEL", "synthetic".to_owned()),
        ]
    }

    /// Returns the settings that make it a hub's language model, without its ordering searches.
    pub fn chat_settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("LLM_BASE_URL", format!("http://{}/v1", self.0)),
            ("SEARCH_RERANK", "false".to_owned()),
        ]
    }
}

/// Gives each text a vector of its own near some middle, the same each time.
async fn embed(State(vectors): State<Arc<Vectors>>, Json(request): Json<Value>) -> Json<Value> {
    let texts = match &request["input"] {
        Value::Array(texts) => texts.iter().filter_map(Value::as_str).collect(),
        text => Vec::from_iter(text.as_str()),
    };
    let one = |(index, text): (usize, &str)| {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        json!({ "index": index, "embedding": vectors.vector(hasher.finish() >> 1) })
    };
    Json(json!({ "data": texts.into_iter().enumerate().map(one).collect::<Vec<_>>() }))
}

/// Finds no relation between any two records.
async fn complete() -> Json<Value> {
    let message = json!({ "role": "assistant", "content": r#"{"relations": [], "tools": []}"# });
    Json(json!({ "choices": [{ "message": message, "finish_reason": "stop" }] }))
}
