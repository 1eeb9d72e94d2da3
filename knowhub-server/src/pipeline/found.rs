//! What a stage found out of a record, or why it did not.

use std::time::Duration;

use crate::{model::NoReply, secrets, store::Step};

/// How much of an unusable reply is kept, in bytes.
const MAX_REPLY_BYTES: usize = 64 * 1024;

/// Why nobody is asked about a record that gives orders.
pub(super) const FLAGGED: &str = "it reads like instructions, so no model was asked about it";

/// What a stage found out.
pub(super) enum Found {
    /// The step, and what was passed over.
    Step(Step, String),
    /// Nobody was asked, for this reason.
    Unasked(Step, &'static str),
    /// The model gave nothing that could be used.
    Nothing(Nothing),
}

/// Why the model's word could not be used.
#[derive(Debug, Default)]
pub(super) struct Nothing {
    /// What went wrong.
    pub(super) error: String,
    /// What it said, as it is kept: its beginning, likely secrets cut out.
    pub(super) reply: String,
    /// How long it wants to be left alone, where it says so.
    pub(super) retry_after: Option<Duration>,
}

impl Nothing {
    /// The model did not answer.
    pub(super) fn unanswered(why: NoReply) -> Self {
        let (error, retry_after) = match why {
            NoReply::Late => ("the language model did not answer in time", None),
            NoReply::Failed { retry_after } => ("the language model failed", retry_after),
        };
        Self { error: error.to_owned(), reply: String::new(), retry_after }
    }

    /// The model said something else than it was asked for.
    pub(super) fn unusable(error: String, reply: &str) -> Self {
        Self { error, reply: kept(reply), retry_after: None }
    }
}

fn kept(reply: &str) -> String {
    let end = reply.floor_char_boundary(MAX_REPLY_BYTES);
    let mut kept = secrets::redact(&reply[..end]).into_owned();
    if end < reply.len() {
        kept.push('…');
    }
    kept
}
