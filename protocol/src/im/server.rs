//! Frames that the relay sends to a client.

use serde::{Deserialize, Serialize};

use super::{ErrorCode, Meta, NoticeCode};
use crate::{
    ids::{ChatId, ContactId, MessageId},
    time::Timestamp,
};

/// Everything the relay may say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ServerFrame {
    /// Answers `hello`: the connection is ready.
    Welcome(Welcome),
    /// Answers `send`: the message is on disk.
    Accepted(Accepted),
    /// A delivery.
    Message(Message),
    /// What became of an accepted message.
    Notice(Notice),
    /// Answers `contacts`.
    Contacts(Contacts),
    /// Something was refused.
    Error(Error),
    /// A type this version does not know; clients ignore it.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// The connection is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The protocol version the relay speaks.
    pub v: u32,
    /// Who the client is to the relay.
    pub contact_id: ContactId,
    /// Names this connection in the relay's log.
    pub connection_id: String,
    /// The relay pings this often, in milliseconds; two missed pings end the connection.
    pub heartbeat_ms: u64,
    /// The relay's bounds.
    pub limits: Limits,
}

/// The relay's bounds, as a client must know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The longest `content`, in bytes; a longer one is answered `too_large`.
    pub max_content_bytes: u64,
    /// How many unacknowledged deliveries a connection holds; the rest waits on disk.
    pub max_in_flight: u64,
    /// How many messages a mailbox holds; past it the *sender* is answered `mailbox_full`.
    pub max_mailbox: u64,
    /// How long a delivery may go without `ack` or `working`, in milliseconds.
    pub ack_wait_ms: u64,
}

/// The message is on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The id of the message.
    pub id: MessageId,
    /// It had been accepted before, and was not stored again.
    pub duplicate: bool,
    /// What the relay knows of the recipient right now.
    pub recipient: Recipient,
}

/// What the relay knows of a recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recipient {
    /// Connected.
    Online,
    /// Known, not connected.
    Offline,
    /// Never connected so far; the message waits all the same.
    Unknown,
}

/// A delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Names this delivery; counts per connection from 1.
    pub seq: u64,
    /// The sender's id of the message; the same on every attempt.
    pub id: MessageId,
    /// Who sent it, as the relay knows it.
    pub from: ContactId,
    /// Whose mailbox it is in.
    pub to: ContactId,
    /// The text.
    pub content: String,
    /// The conversation it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<ChatId>,
    /// The message it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<MessageId>,
    /// As the sender gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// When the relay accepted it.
    pub sent_at: Timestamp,
    /// When it stops being worth delivering.
    pub expires_at: Timestamp,
    /// 1 for the first delivery, then 2, 3, …
    pub attempt: u32,
}

/// What became of an accepted message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// The id of the message.
    pub id: MessageId,
    /// Whom it was for.
    pub to: ContactId,
    /// What became of it.
    pub code: NoticeCode,
}

/// Who is known to the relay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contacts {
    /// Each contact that ever connected, by id.
    pub contacts: Vec<Contact>,
}

/// One contact's presence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    /// The contact.
    pub contact_id: ContactId,
    /// At least one connection is open.
    pub online: bool,
    /// How many connections are open.
    pub connections: u32,
    /// When something was last heard from it.
    pub last_seen: Timestamp,
}

/// Something was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error {
    /// What a program acts on.
    pub code: ErrorCode,
    /// What a person reads: the field or setting, and what would be right.
    pub message: String,
    /// The message it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<MessageId>,
    /// How long to wait before trying again, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

impl ServerFrame {
    /// Reads one text frame; an unknown `type` is [`ServerFrame::Unknown`].
    ///
    /// # Errors
    ///
    /// When it is no JSON object, or a field of a known type is missing or wrong.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Writes the frame as its JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a frame has string keys and finite numbers only")
    }
}
