//! System tests: all processes together, real peers, and the rules of the house.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ask;
mod crash;
mod fixtures;
mod peers;
mod relay;
mod skill;
mod start;
mod tidy;
mod upload;
