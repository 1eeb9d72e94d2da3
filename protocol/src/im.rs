//! The relay's protocol, version 1: one JSON object per WebSocket text frame, `type` names it.
//!
//! `docs/im-protocol.md` tells what each exchange means; this module gives the shapes.

mod client;
mod code;
mod server;

pub use client::{Ack, ClientFrame, Fault, Hello, Nak, Send, Working};
pub use code::{ErrorCode, NoticeCode, close, may_reconnect};
pub use server::{
    Accepted, Contact, Contacts, Error, Limits, Message, Notice, Recipient, ServerFrame, Welcome,
};

use serde::{Deserialize, Serialize};

/// The protocol version that `hello` and `welcome` carry.
pub const VERSION: u32 = 1;

/// The WebSocket subprotocol, offered by clients, not demanded by the relay.
pub const SUBPROTOCOL: &str = "knowhub.im.v1";

/// What a sender attaches to a message besides its text; the relay passes it on unread.
pub type Meta = serde_json::Map<String, serde_json::Value>;

/// How the connections of one contact share its mailbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// One connection; a newer one replaces it.
    #[default]
    Exclusive,
    /// Several connections; each message goes to one of them.
    Shared,
}
