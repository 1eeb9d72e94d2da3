//! What is asked of the librarian and what its answer consists of.

use protocol::librarian::{AnswerMode, ReplyMeta};
use protocol::source::SourceExcerpt;
use protocol::{Source, SourceId, Timestamp};
use tokio::time::Instant;

use crate::citation;
use crate::language::Language;
use crate::wording;

/// A question, and how long its asker waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The question itself.
    pub text: String,
    /// The wall clock when it is answered; the ages of sources are counted from it.
    pub asked_at: Timestamp,
    /// When the answer must be ready.
    pub deadline: Instant,
}

/// An answer with the evidence it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The answer, in the question's language; every citation in it was retrieved for it.
    pub text: String,
    /// How it came about.
    pub mode: AnswerMode,
    /// Why it is of this mode and not a better one, or what it lacks.
    pub reason: Option<String>,
    /// The ids that the text cites, in order of first appearance.
    pub source_ids: Vec<SourceId>,
    /// Everything that was retrieved, cited or not, best first.
    pub sources: Vec<SourceExcerpt>,
}

impl Answer {
    /// The answer that a model wrote, after its citations were checked.
    pub(crate) fn integrated(checked: citation::Checked, sources: &[Source]) -> Self {
        Self {
            text: checked.text,
            mode: AnswerMode::Integrated,
            reason: None,
            source_ids: checked.cited,
            sources: excerpts(sources),
        }
    }

    /// The answer that consists of the results themselves; of nothing, if there are none.
    pub(crate) fn extractive(language: Language, sources: &[Source], reason: &str) -> Self {
        Self {
            text: wording::extractive(language, sources),
            mode: AnswerMode::Extractive,
            reason: Some(reason.to_owned()),
            source_ids: sources.iter().map(|source| source.id.clone()).collect(),
            sources: excerpts(sources),
        }
    }

    /// Returns what goes beside the text of a reply.
    pub fn to_meta(&self) -> ReplyMeta {
        ReplyMeta {
            mode: Some(self.mode),
            reason: self.reason.clone(),
            source_ids: self.source_ids.clone(),
            sources: self.sources.clone(),
            ..ReplyMeta::default()
        }
    }
}

fn excerpts(sources: &[Source]) -> Vec<SourceExcerpt> {
    sources.iter().map(Source::excerpt).collect()
}
