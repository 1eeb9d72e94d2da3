//! What the relay keeps on disk: the writes it knows, and the rows it reads back.
//!
//! `messages` holds what is accepted and neither acknowledged nor expired; its rows are numbered in the order of acceptance.
//! `seen` holds the id of each message while it lives, and a day longer, so that a message sent twice is accepted once.
//! `contacts` holds who ever connected; `notices` what senders that are away have to be told.
//! A message and its `seen` row are written together, and so are its end and the end of its `seen` row.
//! A message's content is never updated.

mod apply;
mod cells;
mod schema;
mod sqlite;

pub(crate) use sqlite::Sqlite;

use std::path::PathBuf;

use protocol::{
    ContactId, MessageId, Timestamp,
    im::{Message, Notice, Send},
};
use sha2::{Digest, Sha256};

/// A message's place in the order of acceptance, relay-wide; the number of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Row(pub(crate) i64);

/// A message as it was accepted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Letter {
    pub(crate) from: ContactId,
    pub(crate) send: Send,
    pub(crate) sent_at: Timestamp,
    pub(crate) expires_at: Timestamp,
}

impl Letter {
    /// Returns the message as its delivery number `seq` on one connection, the `attempt`th of all.
    pub(crate) fn into_message(self, seq: u64, attempt: u32) -> Message {
        Message {
            seq,
            id: self.send.id,
            from: self.from,
            to: self.send.to,
            content: self.send.content,
            chat_id: self.send.chat_id,
            in_reply_to: self.send.in_reply_to,
            meta: self.send.meta,
            sent_at: self.sent_at,
            expires_at: self.expires_at,
            attempt,
        }
    }
}

/// What is known of a message's deliveries.
///
/// Written with a delay: after a crash it may be older than what clients saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// How often it was handed to a connection.
    pub(crate) attempts: u32,
    /// How often it came back because its holder failed.
    pub(crate) strikes: u32,
    pub(crate) first_delivered_at: Option<Timestamp>,
}

/// What makes two sends under one id the same message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint(pub(crate) [u8; 32]);

impl Fingerprint {
    /// Digests recipient, content, chat and the message answered.
    pub(crate) fn of(send: &Send) -> Self {
        let reply = send.in_reply_to.map(|id| id.0);
        let parts = [
            Some(send.to.as_str().as_bytes()),
            Some(send.content.as_bytes()),
            send.chat_id.as_ref().map(|chat| chat.as_str().as_bytes()),
            reply.as_ref().map(|id| id.as_bytes().as_slice()),
        ];
        let mut digest = Sha256::new();
        for part in parts {
            // The length first, so that no two lists of parts run together into the same bytes.
            let length = part.map_or(u64::MAX, |part| part.len() as u64);
            digest.update(length.to_le_bytes());
            digest.update(part.unwrap_or_default());
        }
        Self(digest.finalize().into())
    }
}

/// One change; those of one commit take effect together.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    /// A message is accepted.
    Insert { row: Row, letter: Box<Letter>, fingerprint: Fingerprint },
    /// A message was delivered or came back.
    Record { row: Row, record: Record },
    /// A message is acknowledged or expired.
    Settle { row: Row, from: ContactId, id: MessageId, at: Timestamp },
    /// A message failed too often and waits for a person.
    SetAside { row: Row, from: ContactId, id: MessageId, at: Timestamp },
    /// A contact connected or left.
    Contact { contact_id: ContactId, last_seen: Timestamp },
    /// A contact was away for too long.
    ForgetContact { contact_id: ContactId },
    /// A sender has to be told something.
    Notice { row: Row, from: ContactId, notice: Notice, at: Timestamp },
    /// A sender was told, or is away for too long.
    ForgetNotice { row: Row },
}

/// What a store holds when the relay starts; messages without content, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// The next free row of messages.
    pub(crate) next_row: i64,
    /// The next free row of notices.
    pub(crate) next_notice: i64,
    pub(crate) waiting: Vec<Waiting>,
    pub(crate) contacts: Vec<(ContactId, Timestamp)>,
    pub(crate) notices: Vec<(Row, ContactId, Notice, Timestamp)>,
}

/// A stored message without its content.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) row: Row,
    pub(crate) id: MessageId,
    pub(crate) from: ContactId,
    pub(crate) to: ContactId,
    pub(crate) chat_id: Option<protocol::ChatId>,
    pub(crate) is_reply: bool,
    pub(crate) size_bytes: u64,
    pub(crate) expires_at: Timestamp,
    pub(crate) record: Record,
}

/// Returns what a message counts for in the bounds of a mailbox, in bytes.
pub(crate) fn size_bytes(send: &Send) -> u64 {
    let meta = send.meta.as_ref().map_or(0, |meta| to_json(meta).len());
    (send.content.len() + meta) as u64
}

fn to_json(meta: &protocol::im::Meta) -> String {
    serde_json::to_string(meta).expect("a JSON object has string keys")
}

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its folder cannot be made.
    #[error("cannot create the folder of IM_DB={}", path.display())]
    Folder {
        /// The database file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The lock file beside it cannot be opened or locked.
    #[error("cannot lock {}.lock", path.display())]
    Lock {
        /// The database file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// Another relay has it.
    #[error(
        "IM_DB={} is in use by another relay; stop that one or name another file",
        path.display()
    )]
    InUse {
        /// The database file.
        path: PathBuf,
    },
    /// It cannot be opened.
    #[error("cannot open IM_DB={}", path.display())]
    Open {
        /// The database file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// It holds something else than mailboxes.
    #[error("IM_DB={} is not a relay's database; name another file", path.display())]
    Foreign {
        /// The database file.
        path: PathBuf,
    },
    /// It was written by a newer relay.
    #[error(
        "IM_DB={} has schema version {found}, this relay knows {known}; use a relay at least as new as the file",
        path.display()
    )]
    Newer {
        /// The database file.
        path: PathBuf,
        /// The version in the file.
        found: i64,
        /// The version of this program.
        known: usize,
    },
    /// A row holds what was never written there.
    #[error("row {row} of {table} is damaged: {field} is not valid")]
    Damaged {
        /// The table.
        table: &'static str,
        /// Its row.
        row: i64,
        /// The field.
        field: &'static str,
    },
    /// It cannot be read.
    #[error("cannot read the store")]
    Read(#[source] rusqlite::Error),
    /// It cannot be written.
    #[error("cannot write the store")]
    Write(#[source] rusqlite::Error),
}
