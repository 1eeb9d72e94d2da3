//! The clients, the tools and the command, against small scripted peers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ask;
mod command;
mod connection;
mod hub;
mod inbox;
mod request;
mod scripted_hub;
mod scripted_relay;
mod send;
mod transfer;
mod upload;
