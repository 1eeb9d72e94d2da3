//! What is known of the connection.

use protocol::im;

/// What is known of the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Not connected; the task tries.
    Connecting {
        /// Why the last attempt failed; `None` before the first failure.
        last_error: Option<String>,
    },
    /// Connected and welcomed.
    Connected(im::Welcome),
    /// The task has ended, and does not try again.
    Stopped(StopReason),
}

/// Why the connection task ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StopReason {
    /// The client was closed, or its last handle dropped.
    #[error("the client was closed")]
    Closed,
    /// The address can never work.
    #[error("not a relay address: {0}; expected one such as ws://127.0.0.1:8765/ws")]
    BadAddress(String),
    /// A newer connection of the same contact took over.
    #[error("a newer connection of the same contact took over")]
    Replaced,
    /// The token does not give the right to the contact id.
    #[error("the relay refused the token for this contact id; check IM_TOKEN and IM_CONTACT_ID")]
    Unauthorized,
    /// The relay speaks another version of the protocol.
    #[error("the relay does not speak version {} of the protocol", im::VERSION)]
    UnsupportedVersion,
    /// The contact is online in the other mode.
    #[error("the contact is online in the other mode (shared or exclusive)")]
    ModeConflict,
    /// The relay closed with another code that forbids reconnecting.
    #[error("the relay closed the connection with code {code}: {reason}")]
    Refused {
        /// The close code, 4500 to 4999.
        code: u16,
        /// The reason in the close frame.
        reason: String,
    },
}

impl StopReason {
    /// Returns why a client that was closed with `code` must not reconnect; `None` when it may.
    pub(super) fn of_close(code: u16, reason: &str) -> Option<Self> {
        if im::may_reconnect(code) {
            return None;
        }
        Some(match code {
            im::close::REPLACED => Self::Replaced,
            im::close::UNAUTHORIZED => Self::Unauthorized,
            im::close::UNSUPPORTED_VERSION => Self::UnsupportedVersion,
            im::close::MODE_CONFLICT => Self::ModeConflict,
            _ => Self::Refused { code, reason: reason.to_owned() },
        })
    }
}
