//! Frames that a client sends to the relay.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{ErrorCode, Meta, Mode};
use crate::{
    complaint::shortened,
    ids::{ChatId, ContactId, MessageId},
};

/// Everything a client may say.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ClientFrame {
    /// Says who is calling; must come first.
    Hello(Hello),
    /// Hands over a message.
    Send(Send),
    /// These deliveries are processed.
    Ack(Ack),
    /// These deliveries are still being worked on.
    Working(Working),
    /// These deliveries are given back.
    Nak(Nak),
    /// Asks who is known and who is online.
    Contacts,
}

/// The first frame of a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The protocol version the client speaks; see [`super::VERSION`].
    pub v: u32,
    /// The mailbox the client reads and the sender of what it sends.
    pub contact_id: ContactId,
    /// Proves the right to the contact id, where the relay wants tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// How this connection shares the mailbox.
    #[serde(default)]
    pub mode: Mode,
    /// Name and version of the client program, for the relay's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// A message on its way to the relay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Send {
    /// Made by the sender; sent again under the same id, the message is accepted once.
    pub id: MessageId,
    /// Whose mailbox it goes to.
    pub to: ContactId,
    /// The text; at most the welcome's `max_content_bytes`.
    pub content: String,
    /// The conversation it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<ChatId>,
    /// The message it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<MessageId>,
    /// How long it is worth delivering, in milliseconds; 24 hours when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Passed on unread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// Deliveries that are processed, in any order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ack {
    /// The `seq` of each delivery.
    pub seqs: Vec<u64>,
}

/// Deliveries that are still being worked on: their `ack_wait` starts anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Working {
    /// The `seq` of each delivery.
    pub seqs: Vec<u64>,
}

/// Deliveries that are given back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nak {
    /// The `seq` of each delivery.
    pub seqs: Vec<u64>,
    /// How long to wait before the next attempt, in milliseconds; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
}

/// Why a text is no client frame: the content of the error frame that answers it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// [`ErrorCode::BadFrame`], for whatever is wrong with a frame's text.
    pub code: ErrorCode,
    /// Names the field and what would be right.
    pub message: String,
    /// The message id in the faulty frame, if it could be read.
    pub id: Option<MessageId>,
}

impl ClientFrame {
    /// Reads one text frame.
    ///
    /// # Errors
    ///
    /// When it is no JSON object, its `type` is unknown, or a field is missing, doubled or wrong.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        /// As much of a frame as is needed to choose how to read the rest.
        #[derive(Deserialize)]
        struct Head<'a> {
            #[serde(borrow, rename = "type")]
            kind: Cow<'a, str>,
        }
        // Serde would take a list of the fields' values for the object.
        if !text.trim_start().starts_with('{') {
            return Err(fault(text, None, "must be a JSON object"));
        }
        let head: Head<'_> =
            serde_json::from_str(text).map_err(|err| fault(text, None, &err.to_string()))?;
        let kind = head.kind.as_ref();
        let frame = match kind {
            "hello" => serde_json::from_str(text).map(Self::Hello),
            "send" => serde_json::from_str(text).map(Self::Send),
            "ack" => serde_json::from_str(text).map(Self::Ack),
            "working" => serde_json::from_str(text).map(Self::Working),
            "nak" => serde_json::from_str(text).map(Self::Nak),
            "contacts" => Ok(Self::Contacts),
            _ => {
                let known = "hello, send, ack, working, nak or contacts";
                return Err(fault(text, None, &format!("unknown type; expected {known}")));
            }
        };
        frame.map_err(|err| fault(text, Some(kind), &err.to_string()))
    }

    /// Writes the frame as its JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a frame has string keys and finite numbers only")
    }
}

fn fault(text: &str, kind: Option<&str>, reason: &str) -> Fault {
    /// The id alone, so that a sender learns which of its messages was refused.
    #[derive(Deserialize)]
    struct IdOnly {
        id: MessageId,
    }
    let id = serde_json::from_str::<IdOnly>(text).ok().map(|only| only.id);
    let reason = shortened(reason);
    let message = match kind {
        Some(kind) => format!("{kind} frame: {reason}"),
        None => format!("frame: {reason}"),
    };
    Fault { code: ErrorCode::BadFrame, message, id }
}
