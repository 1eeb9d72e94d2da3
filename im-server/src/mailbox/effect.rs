//! What the mailboxes want to happen outside, and why connections end.

use protocol::{
    MessageId,
    im::{self, Accepted, ErrorCode, ServerFrame},
};

use super::ConnectionId;
use crate::store::Row;

/// The spread of the pause that clients are asked for at a shutdown, so that they do not return all at once.
const RECONNECT_SPREAD_MS: u128 = 5_000;

/// One thing to do once the writes of its round are on disk.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// Sends a frame.
    Tell { connection: ConnectionId, frame: ServerFrame },
    /// Tells a sender that its message is on disk; void when `row` belongs to a failed commit.
    Accept { connection: ConnectionId, accepted: Accepted, row: Option<Row> },
    /// Sends the message of a row.
    Deliver { connection: ConnectionId, seq: u64, row: Row, attempt: u32 },
    /// Ends a connection.
    Close { connection: ConnectionId, closing: Closing },
}

/// How a connection is ended by the relay.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Closing {
    /// One of [`im::close`].
    pub(crate) code: u16,
    /// Told before the close frame.
    pub(crate) error: Option<im::Error>,
}

/// What a connection's end says about its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// One side said why: no blame on what it held.
    Closed,
    /// It is gone without a close frame: a strike for all that it held.
    Lost,
}

/// Returns an error frame that is about no message.
pub(crate) fn error(code: ErrorCode, message: impl Into<String>) -> im::Error {
    im::Error { code, message: message.into(), id: None, retry_after_ms: None }
}

/// Returns the error of a relay that goes down; each connection gets another pause.
pub(super) fn shutting_down(connection: ConnectionId, id: Option<MessageId>) -> im::Error {
    let jitter = connection.0.as_u128() % RECONNECT_SPREAD_MS;
    im::Error {
        id,
        retry_after_ms: Some(jitter as u64),
        ..error(ErrorCode::ShuttingDown, "the relay is going down; reconnect later")
    }
}
