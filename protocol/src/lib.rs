//! What crosses a socket in KnowHub, and nothing else.
//!
//! Pure values: parsing and formatting side by side, no I/O, no runtime.
//! Both ends of every wire use these types, so that a message has one shape and one name.
//!
//! # Layout
//!
//! - [`ids`]: newtypes for everything that is identified.
//! - [`time`]: the one way KnowHub writes a point in time.
//! - [`im`]: the relay's frames, error codes and close codes (protocol version 1).
//! - [`librarian`]: the librarian's text grammar, its replies and receipts.
//! - [`citation`]: what an answer cites, and how a citation is written.
//! - [`source`]: a retrieved record, as evidence for an answer.
//! - [`hub`]: bodies of the hub's HTTP API.
//! - [`export`]: everything a hub knows, line by line.
//! - [`digest`]: SHA-256 sums as text.
//! - `complaint`: keeps what a parser complains of short.

pub mod citation;
mod complaint;
pub mod digest;
pub mod export;
pub mod hub;
pub mod ids;
pub mod im;
pub mod librarian;
pub mod source;
pub mod time;

pub use citation::SourceId;
pub use ids::{ChatId, ContactId, ExperienceId, KnowledgeId, MessageId, ResourceId};
pub use source::Source;
pub use time::Timestamp;
