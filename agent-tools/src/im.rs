//! The relay's client: a cheap handle over one connection task; nothing of the wire leaks.
//!
//! The handle, the inbox and the task share one desk rather than a command channel:
//! what nobody waits for any more leaves the desk in the moment its waiting future is dropped,
//! and a message sent down a channel could not be taken back.
//!
//! # Layout
//!
//! - `client`: the handle: send, request, contacts.
//! - `inbox`: deliveries, and how they are settled.
//! - `desk`: what the handle, the inbox and the task share; made of
//!   `outbox` (what the relay has not accepted yet) and `replies` (who waits for which answer).
//! - `task`: connects, reconnects with `backoff`, stops; `session` is one connection.

mod client;
mod desk;
mod error;
mod inbox;
mod outbox;
mod replies;
mod session;
mod state;
mod task;

use std::time::Duration;

use protocol::{ChatId, ContactId, MessageId, im};
use secrecy::SecretString;

pub use client::Client;
pub use error::{RequestError, SendError};
pub use inbox::{Delivery, Inbox};
pub use state::{State, StopReason};

use desk::Desk;

/// Where the relay is, and as whom to connect.
#[derive(Clone, Debug)]
pub struct Config {
    /// The relay's address, such as `ws://127.0.0.1:8765/ws`.
    pub url: String,
    /// The mailbox to read and the sender of what is sent.
    pub contact_id: ContactId,
    /// Proves the right to the contact id, where the relay wants tokens.
    pub token: Option<SecretString>,
    /// How this connection shares the mailbox.
    pub mode: im::Mode,
    /// Name and version of the program, for the relay's log.
    pub client: String,
}

/// A message to hand over.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// The key that removes doubles: whoever is unsure sends again under the same id.
    pub id: MessageId,
    /// Whose mailbox it goes to.
    pub to: ContactId,
    /// The text.
    pub content: String,
    /// The conversation it belongs to.
    pub chat_id: Option<ChatId>,
    /// The message it answers.
    pub in_reply_to: Option<MessageId>,
    /// How long it is worth delivering; the relay's default (24 hours) when absent.
    pub ttl: Option<Duration>,
    /// Passed on unread by the relay.
    pub meta: Option<im::Meta>,
}

impl Outgoing {
    /// Returns a message under a new random id, with nothing but a recipient and a text.
    pub fn new(to: ContactId, content: impl Into<String>) -> Self {
        Self {
            id: MessageId::random(),
            to,
            content: content.into(),
            chat_id: None,
            in_reply_to: None,
            ttl: None,
            meta: None,
        }
    }

    fn into_frame(self) -> im::Send {
        im::Send {
            id: self.id,
            to: self.to,
            content: self.content,
            chat_id: self.chat_id,
            in_reply_to: self.in_reply_to,
            ttl_ms: self.ttl.map(|ttl| ttl.as_millis() as u64),
            meta: self.meta,
        }
    }
}
