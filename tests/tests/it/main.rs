//! System tests: all processes together, real peers, and the rules of the house.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod ask;
mod commands;
mod crash;
mod crash_under_load;
mod eval;
mod fixtures;
mod full_disk;
mod import;
mod peers;
mod pipeline_crash;
mod relay;
mod skill;
mod start;
mod tidy;
mod two_hubs;
mod upload;
