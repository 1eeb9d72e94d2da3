//! Why a message was not accepted, or a request not answered.

use protocol::im::{self, NoticeCode, Recipient};

use super::StopReason;

/// Why a message is not known to be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// There was no connection within the caller's patience.
    #[error("the relay cannot be reached: {0}")]
    Unreachable(String),
    /// The relay did not answer within the caller's patience; it may have the message.
    #[error("the relay did not accept the message in time")]
    Deadline,
    /// The relay refused it: for good, or still when the caller's patience ended.
    #[error("the relay refused the message: {}", .0.message)]
    Refused(im::Error),
    /// The connection has ended for good.
    #[error("the relay's client has stopped: {0}")]
    Stopped(StopReason),
}

/// Why a request has no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// There is no connection to the relay.
    #[error("the relay cannot be reached: {0}")]
    Unreachable(String),
    /// The recipient is not there; the message waits in its mailbox.
    #[error("the recipient is {}", match .recipient {
        Recipient::Online => "online",
        Recipient::Offline => "offline",
        Recipient::Unknown => "unknown to the relay",
    })]
    Offline {
        /// What the relay knows of the recipient.
        recipient: Recipient,
    },
    /// No reply came within the caller's patience.
    #[error("no reply in time")]
    Deadline,
    /// The relay refused the message.
    #[error("the relay refused the message: {}", .0.message)]
    Refused(im::Error),
    /// The relay gave the message up.
    #[error("the message was not delivered: {}", match .0 {
        NoticeCode::Expired => "it expired",
        NoticeCode::Undeliverable => "it was set aside after too many failed deliveries",
        NoticeCode::Unknown => "the relay gave it up",
    })]
    Undeliverable(NoticeCode),
}

impl From<SendError> for RequestError {
    fn from(err: SendError) -> Self {
        match err {
            SendError::Unreachable(why) => Self::Unreachable(why),
            SendError::Deadline => Self::Deadline,
            SendError::Refused(error) => Self::Refused(error),
            SendError::Stopped(reason) => Self::Unreachable(reason.to_string()),
        }
    }
}
