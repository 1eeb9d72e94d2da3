//! The `meta` that goes with the librarian's replies.

use serde::{Deserialize, Serialize};

use super::Receipt;
use crate::{citation::SourceId, im, source::SourceExcerpt};

/// What a program reads of a reply whose text is for people.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplyMeta {
    /// How the answer came about; absent when it is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<AnswerMode>,
    /// Why the answer is of this mode and not a better one; absent when there is nothing to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The ids cited, in order of first citation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source_ids: Vec<SourceId>,
    /// What was retrieved for the question.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceExcerpt>,
    /// What became of a finalized upload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ReplyError>,
}

impl ReplyMeta {
    /// Reads the meta of a message; what is not the librarian's is `None`.
    pub fn from_meta(meta: &im::Meta) -> Option<Self> {
        let meta: Self = serde_json::from_value(meta.clone().into()).ok()?;
        (meta != Self::default()).then_some(meta)
    }

    /// Writes the meta of a message.
    pub fn to_meta(&self) -> im::Meta {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(meta)) => meta,
            _ => unreachable!("a struct with string keys is a JSON object"),
        }
    }
}

/// How an answer came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerMode {
    /// A model wrote it from what was retrieved.
    Integrated,
    /// The top results themselves, put together without a model.
    Extractive,
    /// Direct search; the librarian had no part in it.
    Search,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyError {
    /// What a program acts on.
    pub code: ReplyCode,
    /// What a person reads.
    pub message: String,
}

/// The librarian's error codes; on each, `ask_knowledge` falls back at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyCode {
    /// The message is none the librarian understands.
    Malformed,
    /// Too many questions at once.
    Busy,
    /// The hub does not answer.
    HubUnavailable,
    /// A code this version does not know.
    #[serde(other, skip_serializing)]
    Unknown,
}
