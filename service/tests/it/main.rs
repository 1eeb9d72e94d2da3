//! Tests of the shared listener through real sockets.

mod http;
