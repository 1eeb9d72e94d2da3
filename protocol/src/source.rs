//! A retrieved record, as evidence for an answer.

use serde::{Deserialize, Serialize};

use crate::{
    citation::SourceId,
    hub::{ExperienceHit, KnowledgeHit, ResourceHit},
    time::Timestamp,
};

/// How many records an answer rests on, whether the librarian or a direct search retrieves them.
///
/// What ranks lower has no part in the answer.
pub const ANSWER_SOURCES: usize = 5;

/// How many characters of a source's task, and of its content, go along with an answer.
pub const EXCERPT_CHARS: usize = 500;

/// A retrieved record: what it says, and what one must know to judge it.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// What a citation of it says.
    pub id: SourceId,
    /// The situation it speaks of.
    pub task: String,
    /// What it says.
    pub content: String,
    /// Who it comes from, as claimed; empty when nobody said.
    pub author: String,
    /// When the hub stored it.
    pub created_at: Timestamp,
    /// How many found it helpful.
    pub helpful: u64,
    /// How many found it harmful.
    pub harmful: u64,
    /// What readers should know before they take it at its word, as the hub flags it.
    pub flags: Vec<String>,
}

/// The part of a source that goes along with an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceExcerpt {
    /// What a citation of it says.
    pub id: SourceId,
    /// The situation it speaks of, cut at [`EXCERPT_CHARS`] characters.
    pub task: String,
    /// What it says, cut at [`EXCERPT_CHARS`] characters.
    pub content: String,
}

impl Source {
    /// Returns the part that goes along with an answer.
    pub fn excerpt(&self) -> SourceExcerpt {
        SourceExcerpt {
            id: self.id.clone(),
            task: excerpt(&self.task, EXCERPT_CHARS),
            content: excerpt(&self.content, EXCERPT_CHARS),
        }
    }

    /// Returns one experience with the resource it was had with.
    pub fn from_experience(resource: &ResourceHit, hit: &ExperienceHit) -> Self {
        let mut content = resource.name.clone();
        if !resource.url.is_empty() {
            content = format!("{content} <{}>", resource.url);
        }
        if let Some(score) = hit.score {
            content = format!("{content} ({score}/5)");
        }
        for part in [&hit.outcome, &hit.tips] {
            if !part.is_empty() {
                content = format!("{content}\n{part}");
            }
        }
        Self {
            id: SourceId::Experience(hit.id),
            task: hit.task.clone(),
            content,
            author: hit.submitted_by.clone(),
            created_at: hit.created_at,
            helpful: 0,
            harmful: 0,
            flags: Vec::new(),
        }
    }

    /// Returns the best `limit` of both searches, taking turns, knowledge first.
    ///
    /// Of each resource only its best experience goes in, so that one popular tool does not fill the answer.
    pub fn interleave(
        knowledge: Vec<KnowledgeHit>,
        resources: &[ResourceHit],
        limit: usize,
    ) -> Vec<Self> {
        let mut knowledge = knowledge.into_iter().map(Self::from);
        let mut experiences = resources.iter().filter_map(|resource| {
            resource.relevant_experiences.first().map(|hit| Self::from_experience(resource, hit))
        });
        let mut sources = Vec::new();
        while sources.len() < limit {
            let before = sources.len();
            sources.extend(knowledge.next());
            sources.extend(experiences.next());
            if sources.len() == before {
                break;
            }
        }
        sources.truncate(limit);
        sources
    }
}

impl From<KnowledgeHit> for Source {
    fn from(hit: KnowledgeHit) -> Self {
        let record = hit.knowledge;
        let author = if record.source.submitted_by.is_empty() {
            record.owner
        } else {
            record.source.submitted_by
        };
        Self {
            id: SourceId::Knowledge(record.id),
            task: record.task,
            content: record.content,
            author,
            created_at: record.created_at,
            helpful: record.eval.helpful,
            harmful: record.eval.harmful,
            flags: record.flags,
        }
    }
}

/// Returns at most `limit` characters of `text`, with `…` as the last one when something was cut.
pub fn excerpt(text: &str, limit: usize) -> String {
    if text.chars().nth(limit).is_none() {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(limit.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_counts_characters_and_never_cuts_through_one() {
        assert_eq!(excerpt("表格提取", 4), "表格提取");
        assert_eq!(excerpt("表格提取", 3), "表格…");
        assert_eq!(excerpt(&"é".repeat(600), EXCERPT_CHARS).chars().count(), EXCERPT_CHARS);
    }
}
