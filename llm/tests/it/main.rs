//! The client against a real HTTP server that misbehaves on purpose.

mod embeddings;
mod harness;
#[cfg(feature = "local-embeddings")]
mod local;
mod openai;
