//! Tests of the wire: each message against its golden file, and the grammar as a pair.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod body;
mod export;
mod golden;
mod grammar;
mod properties;
