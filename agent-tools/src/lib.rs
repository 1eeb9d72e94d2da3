//! What an agent uses of KnowHub: clients of the relay and the hub, the tools, the `knowhub` command.
//!
//! # Layout
//!
//! - [`backoff`]: how long to wait before the next attempt.
//! - [`settings`]: addresses and tokens, shared by every client program.
//! - [`im`]: the relay's client, a cheap handle over one connection task.
//! - [`hub`]: the hub's client.
//! - [`tools`]: what an agent may call, one definition each.
//! - `eval`: measuring how well a hub finds.
//! - [`cli`]: the commands of `knowhub`.
//!
//! # Example
//!
//! Any program can be an agent: it asks before it starts, and reports when it is done.
//!
//! ```no_run
//! use agent_tools::{hub, im, tools::{self, ask_knowledge}};
//! use serde_json::json;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let hub = hub::Client::new(hub::Config {
//!     api: "http://127.0.0.1:8000".parse()?,
//!     token: None,
//! })?;
//! let relay = im::Config {
//!     url: "ws://127.0.0.1:8765/ws".to_owned(),
//!     contact_id: "my-agent/1".parse()?,
//!     token: None,
//!     mode: protocol::im::Mode::Exclusive,
//!     client: "my-agent".to_owned(),
//! };
//! let context = tools::Context::new(hub, relay, "knowledge_manager".parse()?, tools::ASK_TIMEOUT);
//!
//! let answer = ask_knowledge::ask(&context, "怎么提取表格？", context.ask_timeout).await?;
//! println!("{} ({:?})", answer.response, answer.source_ids);
//!
//! for tool in tools::all().iter().filter(|tool| tool.name() == "report_experience") {
//!     let input = json!({"name": "pymupdf", "task": "extract tables", "score": 4});
//!     println!("{}", tool.run(&context, input).await?.output);
//! }
//! context.close().await;
//! # Ok(())
//! # }
//! ```

pub mod backoff;
pub mod cli;
mod eval;
pub mod hub;
pub mod im;
pub mod settings;
pub mod tools;
