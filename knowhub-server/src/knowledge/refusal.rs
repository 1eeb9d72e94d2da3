//! Why a change of a record is refused.

use protocol::hub::{ErrorCode, ErrorDetail, FieldFault, ItemResult};

/// A change that is not made; the record stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// There is no such record.
    #[error("there is no knowledge record {id}")]
    Unknown {
        /// The id, as it was given.
        id: String,
    },
    /// The records are not related in this way.
    #[error("there is no such relation between the two records")]
    NoRelation,
    /// The record cannot be read, so what it says could not be kept.
    #[error(
        "the stored record {id} cannot be read, so it can neither be changed nor kept as an earlier version; \
         a DELETE with erase=true removes it for good"
    )]
    Unreadable {
        /// The id, as it was given.
        id: String,
    },
    /// The record, or the one it would relate to, does not allow it.
    #[error("{0}")]
    State(String),
    /// What is asked for is wrong, whatever the record.
    #[error("{0}")]
    Invalid(FieldFault),
}

impl Refusal {
    /// Returns what a program acts on.
    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            Self::Unknown { .. } | Self::NoRelation => ErrorCode::NotFound,
            Self::Unreadable { .. } | Self::State(_) => ErrorCode::Conflict,
            Self::Invalid(_) => ErrorCode::Invalid,
        }
    }

    /// Returns the field at fault, where there is one.
    pub(crate) fn field(&self) -> Option<String> {
        match self {
            Self::Invalid(fault) if !fault.field.is_empty() => Some(fault.field.clone()),
            _ => None,
        }
    }
}

/// Returns what a batch tells of one item.
pub(crate) fn item_result(id: String, done: Result<(), Refusal>) -> ItemResult {
    let error = done.err().map(|refusal| ErrorDetail {
        code: refusal.code(),
        message: refusal.to_string(),
        field: refusal.field(),
    });
    ItemResult { id, ok: error.is_none(), error, ..ItemResult::default() }
}
