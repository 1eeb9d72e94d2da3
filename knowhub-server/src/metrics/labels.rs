//! The labels of the counts; each takes a few values, whatever callers send.

use prometheus_client::encoding::EncodeLabelSet;
use protocol::hub::ErrorCode;

/// A kind of row or search.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Kind {
    pub(super) kind: &'static str,
}

/// What a search looked for, and whether it found any.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Searched {
    pub(super) kind: &'static str,
    pub(super) outcome: &'static str,
}

/// Why a request was refused or failed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Code {
    code: &'static str,
}

impl Code {
    /// Returns the code as clients read it.
    pub(super) fn new(code: ErrorCode) -> Self {
        Self { code: code.as_str() }
    }
}

/// A stage of the processing of a record, and how a step of it ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Stepped {
    pub(super) stage: &'static str,
    pub(super) outcome: &'static str,
}

/// When a record was turned down for the sake of another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Stage {
    pub(super) stage: &'static str,
}

/// What the language model was called for, and how that went.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Called {
    pub(super) purpose: &'static str,
    pub(super) outcome: &'static str,
}

/// What the language model was called for, and whether it read or wrote.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Tokens {
    pub(super) purpose: &'static str,
    pub(super) direction: &'static str,
}

/// Texts of which role an embedding model was given, and how that went.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Embedded {
    pub(super) role: &'static str,
    pub(super) outcome: &'static str,
}
