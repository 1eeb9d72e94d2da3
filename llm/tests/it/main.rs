//! The client against a real HTTP server that misbehaves on purpose.

mod harness;
mod openai;
