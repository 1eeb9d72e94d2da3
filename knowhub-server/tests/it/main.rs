//! The hub through its public entry: its routes, and a store folder that outlives it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
mod backup;
mod chat;
mod concurrency;
mod conditions;
mod contents;
mod deletion;
mod demand;
mod durability;
mod embeddings;
mod errors;
mod evolution;
mod experiences;
mod harness;
mod idempotency;
mod knowledge;
mod knowledge_batches;
mod knowledge_changes;
mod knowledge_list;
mod listener;
mod merges;
mod metrics;
mod openapi;
mod original;
mod pipeline;
mod rerank;
mod resource_deletion;
mod resource_search;
mod resource_versions;
mod resources;
mod slim;
mod transfer;
mod unreadable;
mod vault;
