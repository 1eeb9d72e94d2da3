//! What one may say to the librarian: `[ASK]`, `[UPLOAD]`, `[UPLOAD:FINALIZE]`.

use std::{fmt, str::FromStr};

use super::{Items, MAX_UPLOAD_ITEMS};
use crate::{hub::FieldFault, ids::MessageId};

/// The longest question, in characters; a longer one is refused, the asker is told.
pub const MAX_QUESTION_CHARS: usize = crate::hub::MAX_QUERY_CHARS;

const ASK: &str = "[ASK]";
const UPLOAD: &str = "[UPLOAD]";
const FINALIZE: &str = "[UPLOAD:FINALIZE]";

/// A message to the librarian.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// `[ASK] {query}`: a question, trimmed, not blank.
    Ask(String),
    /// `[UPLOAD] {json}`: items to merge with others of the same sender and chat.
    Upload(Items),
    /// `[UPLOAD:FINALIZE] {json}`: the last items; submit everything now.
    Finalize {
        /// The last items; may be empty.
        items: Items,
        /// The ids of the uploads that belong to it; empty when the sender did not list them.
        parts: Vec<MessageId>,
    },
}

/// Why a text is no message to the librarian.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrammarFault {
    /// It starts with none of the three prefixes.
    #[error("expected [ASK] question, [UPLOAD] {{json}} or [UPLOAD:FINALIZE] {{json}}")]
    UnknownPrefix,
    /// `[ASK]` alone.
    #[error("[ASK] has no question; write it behind the prefix: [ASK] how do I …?")]
    EmptyQuestion,
    /// The question is too long.
    #[error("the question has {chars} characters; at most {MAX_QUESTION_CHARS} are allowed")]
    LongQuestion {
        /// How long it is.
        chars: usize,
    },
    /// What follows an upload prefix is no object of lists.
    #[error("{prefix} {fault}")]
    BadBatch {
        /// `[UPLOAD]` or `[UPLOAD:FINALIZE]`.
        prefix: &'static str,
        /// The field at fault.
        fault: FieldFault,
    },
}

impl FromStr for Request {
    type Err = GrammarFault;

    fn from_str(text: &str) -> Result<Self, GrammarFault> {
        let text = text.trim();
        if let Some(query) = text.strip_prefix(ASK) {
            return parse_ask(query.trim());
        }
        if let Some(json) = text.strip_prefix(FINALIZE) {
            return parse_finalize(json.trim());
        }
        match text.strip_prefix(UPLOAD) {
            Some(json) => Items::parse(json.trim())
                .map(|(items, _)| Self::Upload(items))
                .map_err(|fault| GrammarFault::BadBatch { prefix: UPLOAD, fault }),
            None => Err(GrammarFault::UnknownPrefix),
        }
    }
}

fn parse_ask(query: &str) -> Result<Request, GrammarFault> {
    match query.chars().count() {
        0 => Err(GrammarFault::EmptyQuestion),
        chars if chars > MAX_QUESTION_CHARS => Err(GrammarFault::LongQuestion { chars }),
        _ => Ok(Request::Ask(query.to_owned())),
    }
}

fn parse_finalize(json: &str) -> Result<Request, GrammarFault> {
    // A bare prefix is the natural way to say "nothing more, submit".
    let json = if json.is_empty() { "{}" } else { json };
    let bad = |fault| GrammarFault::BadBatch { prefix: FINALIZE, fault };
    let (items, parts) = Items::parse(json).map_err(bad)?;
    if parts.len() > MAX_UPLOAD_ITEMS {
        let reason = format!("more than {MAX_UPLOAD_ITEMS} entries");
        return Err(bad(FieldFault::new("parts", reason)));
    }
    Ok(Request::Finalize { items, parts })
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ask(query) => write!(f, "{ASK} {query}"),
            Self::Upload(items) => write!(f, "{UPLOAD} {}", items.to_json(&[])),
            Self::Finalize { items, parts } => write!(f, "{FINALIZE} {}", items.to_json(parts)),
        }
    }
}
