//! Error, notice and close codes, and what a client does on each.

use serde::{Deserialize, Serialize};

/// Why the relay refuses something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The frame cannot be read, or does not belong here.
    BadFrame,
    /// The token does not give the right to this contact id.
    Unauthorized,
    /// Something other than `hello` came first.
    NotReady,
    /// The id was used before with another content.
    IdConflict,
    /// The contact is online in the other mode.
    ModeConflict,
    /// The recipient's mailbox has no room; send again later under the same id.
    MailboxFull,
    /// The content is larger than the welcome's `max_content_bytes`.
    TooLarge,
    /// Too much at once; send again after `retry_after_ms` under the same id.
    RateLimited,
    /// The relay does not speak the version of the `hello`.
    UnsupportedVersion,
    /// A newer connection of the contact took over.
    Replaced,
    /// The relay is going down; reconnect after `retry_after_ms`.
    ShuttingDown,
    /// The relay could not store the message; send again later under the same id.
    Unavailable,
    /// A code this version does not know.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// What became of an accepted message that did not reach its recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeCode {
    /// Its time to live ran out first.
    Expired,
    /// It was set aside after too many failed deliveries; a person can see it.
    Undeliverable,
    /// A code this version does not know.
    #[serde(other, skip_serializing)]
    Unknown,
}

/// WebSocket close codes of the relay.
pub mod close {
    /// The client leaves.
    pub const NORMAL: u16 = 1000;
    /// The relay goes down; reconnect.
    pub const GOING_AWAY: u16 = 1001;
    /// The peer broke the WebSocket protocol.
    pub const PROTOCOL: u16 = 1002;
    /// The peer sent a binary frame.
    pub const UNSUPPORTED_DATA: u16 = 1003;
    /// The peer sent a text frame that is not UTF-8.
    pub const INVALID_UTF8: u16 = 1007;
    /// The peer broke a rule of this protocol, such as a second `hello`.
    pub const POLICY: u16 = 1008;
    /// The peer sent a frame that is too large.
    pub const TOO_BIG: u16 = 1009;
    /// The relay has a fault of its own; reconnect.
    pub const INTERNAL: u16 = 1011;
    /// The client does not read, or did not say `hello` in time; reconnect.
    pub const SLOW: u16 = 4001;
    /// A delivery was not acknowledged in time; reconnect.
    pub const ACK_OVERDUE: u16 = 4002;
    /// A newer connection of the contact took over; do not reconnect.
    pub const REPLACED: u16 = 4501;
    /// The token does not give the right to this contact id; do not reconnect.
    pub const UNAUTHORIZED: u16 = 4502;
    /// The relay does not speak the client's version; do not reconnect.
    pub const UNSUPPORTED_VERSION: u16 = 4503;
    /// The contact is online in the other mode; do not reconnect.
    pub const MODE_CONFLICT: u16 = 4504;
}

/// Tells whether a client that was closed with `code` may reconnect by itself.
pub fn may_reconnect(code: u16) -> bool {
    !(4500..=4999).contains(&code)
}
