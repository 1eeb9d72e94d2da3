//! Each record as the write that would make it, whose bounds hold for it and whose plain texts are its own.

use super::{Evaluation, Experience, KnowledgeRecord, Resource};
use crate::hub::{
    Knowledge, Metadata, NewEvaluation, NewExperience, NewKnowledge, NewResource, PlainTexts,
    WriteBody,
};

impl Experience {
    /// Returns what was reported, without what the hub noted about it.
    pub fn report(&self) -> NewExperience {
        NewExperience {
            name: self.name.clone(),
            url: self.url.clone(),
            category: self.category.clone(),
            task: self.task.clone(),
            score: self.score,
            outcome: self.outcome.clone(),
            tips: self.tips.clone(),
            content_id: self.content_id.clone(),
            submitted_by: self.submitted_by.clone(),
            on_behalf_of: None,
        }
    }
}

impl Resource {
    /// Returns what was written, without the secret.
    pub(super) fn written(&self) -> NewResource {
        NewResource {
            id: self.id.clone(),
            title: self.title.clone(),
            body: self.body.clone(),
            secure_body: None,
            content_type: self.content_type,
            metadata: Metadata(self.metadata.clone()),
            sort_order: self.sort_order,
            submitted_by: self.submitted_by.clone(),
            on_behalf_of: None,
        }
    }
}

impl KnowledgeRecord {
    pub(super) fn look_through<T>(&self, look: impl FnOnce(&PlainTexts<'_>) -> T) -> T {
        look_through_knowledge(&self.record, look)
    }
}

/// Returns what was reported or is said now, without verdicts and relations.
pub(super) fn written_knowledge(record: &Knowledge) -> NewKnowledge {
    // An owner that the hub made of the agent's name may be a little longer than one that is given.
    let is_derived = record.owner.strip_prefix("agent:") == Some(&record.source.agent_id);
    NewKnowledge {
        task: record.task.clone(),
        content: record.content.clone(),
        types: record.types.clone(),
        tags: record.tags.clone(),
        scopes: record.scopes.clone(),
        owner: if is_derived { String::new() } else { record.owner.clone() },
        resource_ids: record.resource_ids.clone(),
        source: record.source.clone(),
        message_id: record.message_id.clone(),
        on_behalf_of: None,
    }
}

/// Hands `look` the texts of a knowledge record, as they stand under `record`.
pub(super) fn look_through_knowledge<T>(
    record: &Knowledge,
    look: impl FnOnce(&PlainTexts<'_>) -> T,
) -> T {
    let body = written_knowledge(record);
    let mut texts = body.plain_texts().text("verified_by", &record.verified_by);
    for (field, history) in [
        ("eval.helpful_history", &record.eval.helpful_history),
        ("eval.harmful_history", &record.eval.harmful_history),
    ] {
        for (index, case) in history.iter().enumerate() {
            texts = texts.json(&format!("{field}[{index}]"), case);
        }
    }
    for (index, relation) in record.relationships.iter().enumerate() {
        texts = texts.text(format!("relationships[{index}].type"), &relation.kind);
    }
    look(&PlainTexts::default().within("record", texts))
}

impl Evaluation {
    /// Returns the verdict as it was reported; its number is checked apart.
    pub(super) fn written(&self) -> NewEvaluation {
        NewEvaluation {
            knowledge_id: self.knowledge_id.clone(),
            goal_id: self.goal_id.clone(),
            injected_at_sequence: 0,
            eval_status: self.eval_status.clone(),
            reason: self.reason.clone(),
            evaluated_at: self.evaluated_at.clone(),
            evaluated_at_trigger: self.evaluated_at_trigger.clone(),
        }
    }

    pub(super) fn plain_texts(&self) -> PlainTexts<'_> {
        PlainTexts::default()
            .text("trace_id", &self.trace_id)
            .text("goal_id", &self.goal_id)
            .text("reason", &self.reason)
            .text("evaluated_at", &self.evaluated_at)
            .text("evaluated_at_trigger", &self.evaluated_at_trigger)
    }
}
