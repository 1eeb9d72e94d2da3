//! Chat completions and embeddings from any OpenAI-compatible endpoint, with a deadline that always holds.
//!
//! # Layout
//!
//! - [`chat`]: what is asked and answered, and the seam [`ChatModel`] that callers depend on.
//! - [`openai`]: the model behind a real endpoint; `endpoint` is what calls one.
//! - [`config`]: the settings that every program with a model shares.
//! - [`embedding`]: vectors of texts, and the seam [`embedding::Embedder`] that callers depend on.
//! - [`json`]: reads JSON out of what a model really sends.
//! - [`thought`]: takes out what a model thinks aloud.
//! - [`error`]: how a call can fail.
//! - [`scripted`]: models with prepared replies, for tests.

pub mod chat;
pub mod config;
pub mod embedding;
pub mod error;
pub mod json;
pub mod openai;
pub mod scripted;
pub mod thought;

mod endpoint;

pub use chat::{ChatModel, ChatReply, ChatRequest, FinishReason, Message, Role, Usage};
pub use config::Settings;
pub use error::Error;
pub use openai::OpenAi;
