//! What an agent uses of KnowHub: clients of the relay and the hub, the tools, the `knowhub` command.
//!
//! # Layout
//!
//! - [`settings`]: addresses and tokens, shared by every client program.
//! - [`im`]: the relay's client, a cheap handle over one connection task.
//! - [`hub`]: the hub's client.
//! - [`tools`]: what an agent may call, one definition each.
//! - [`cli`]: the commands of `knowhub`.

pub mod cli;
pub mod hub;
pub mod im;
pub mod settings;
pub mod tools;
