//! Tests of the shared listener through real sockets.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod http;
