//! What makes each of KnowHub's daemons a well-behaved process.
//!
//! Knows nothing of relays, hubs or librarians, so that all three can share it without knowing each other.
//!
//! # Layout
//!
//! - [`process`]: from `main` to exit code, and the signals in between.
//! - [`logging`]: structured logs on standard error.
//! - [`file_lock`]: one process a file.
//! - [`http`]: a listener that half-open and foreign requests cannot hurt.
//! - [`metrics`]: what Prometheus reads of requests and process.

pub mod file_lock;
pub mod http;
pub mod logging;
pub mod metrics;
pub mod process;
