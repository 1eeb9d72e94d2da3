//! Chat completions against any OpenAI-compatible endpoint, with a deadline that always holds.
//!
//! # Layout
//!
//! - [`chat`]: what is asked and answered, and the seam [`ChatModel`] that callers depend on.
//! - [`openai`]: the client for real endpoints.
//! - [`config`]: the settings that every program with a model shares.
//! - [`json`]: reads JSON out of what a model really sends.
//! - [`thought`]: takes out what a model thinks aloud.
//! - [`scripted`]: a model with prepared replies, for tests.

pub mod chat;
pub mod config;
pub mod json;
pub mod openai;
pub mod scripted;
pub mod thought;

mod error;
mod retry;

pub use chat::{ChatModel, ChatReply, ChatRequest, FinishReason, Message, Role, Usage};
pub use config::Settings;
pub use error::Error;
pub use openai::OpenAi;
