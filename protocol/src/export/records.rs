//! The records of an export: what a store holds, without what only its own tables and indexes need.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    hub::{Body, ContentType, FieldFault, Knowledge, NewExperience, check_bound, check_present},
    ids::{ExperienceId, KnowledgeId, ResourceId},
    time::Timestamp,
};

/// What a secret must begin with to be stored.
const SEALED_PREFIX: &str = "encrypted:AES256-GCM:";

/// The highest number of an experience, the largest that every JSON reader knows exactly.
pub(super) const MAX_NUMBER: i64 = (1 << 53) - 1;

/// A reported experience.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    missing_docs,
    reason = "the fields are those of `hub::NewExperience` and `hub::ExperienceHit`"
)]
pub struct Experience {
    pub id: ExperienceId,
    pub name: String,
    pub url: String,
    pub category: String,
    pub task: String,
    pub score: Option<u8>,
    pub outcome: String,
    pub tips: String,
    pub content_id: String,
    pub submitted_by: String,
    pub authenticated_as: String,
    pub on_behalf_of: String,
    pub created_at: Timestamp,
}

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

    pub(super) fn check(&self) -> Result<(), FieldFault> {
        if !(1..=MAX_NUMBER).contains(&self.id.0) {
            return Err(FieldFault::new("id", format!("must be 1 to {MAX_NUMBER}")));
        }
        self.report().check()
    }
}

/// A stored resource or content node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of a stored resource")]
pub struct Resource {
    pub id: ResourceId,
    pub title: String,
    pub body: String,
    /// As it is sealed; empty when there is none.
    pub secure_body: String,
    pub content_type: ContentType,
    pub metadata: Map<String, Value>,
    pub sort_order: i64,
    pub submitted_by: String,
    pub authenticated_as: String,
    pub on_behalf_of: String,
    /// Counted up by every change.
    pub version: i64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Resource {
    pub(super) fn check(&self) -> Result<(), FieldFault> {
        if !self.secure_body.is_empty() && !self.secure_body.starts_with(SEALED_PREFIX) {
            return Err(FieldFault::new("secure_body", "must be sealed, or empty"));
        }
        check_bound("submitted_by", &self.submitted_by)?;
        check_version(self.version)
    }
}

/// A knowledge record and how often it changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeRecord {
    /// Counted up by every change.
    pub version: i64,
    /// The record.
    pub record: Knowledge,
}

impl KnowledgeRecord {
    pub(super) fn check(&self) -> Result<(), FieldFault> {
        check_version(self.version)?;
        let record = &self.record;
        let checked = check_present("task", &record.task)
            .and_then(|()| check_present("content", &record.content))
            .and_then(|()| match record.eval.score {
                1..=5 => Ok(()),
                _ => Err(FieldFault::new("eval.score", "must be 1 to 5")),
            });
        checked.map_err(|fault| fault.within("record"))
    }
}

/// What a record said before it was changed or deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields say what they are")]
pub struct Version {
    /// What kind of record it is.
    pub kind: String,
    pub id: String,
    pub version: i64,
    /// As it was, its secret as sealed.
    pub record: Value,
    pub replaced_at: Timestamp,
    /// The principal.
    pub replaced_by: String,
}

/// What was deleted, by whom and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields say what they are")]
pub struct Tombstone {
    /// What kind of record it was.
    pub kind: String,
    pub id: String,
    /// The last version it had.
    pub version: i64,
    pub deleted_at: Timestamp,
    /// The principal.
    pub deleted_by: String,
    pub reason: String,
}

/// A verdict on knowledge that was injected into a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of the evaluation as it was sent")]
pub struct Evaluation {
    pub principal: String,
    pub trace_id: String,
    pub knowledge_id: String,
    pub injected_at_sequence: i64,
    pub goal_id: String,
    pub eval_status: String,
    pub reason: String,
    /// As the trace wrote it.
    pub evaluated_at: String,
    pub evaluated_at_trigger: String,
    pub created_at: Timestamp,
}

/// What a user said a record should say instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields say what they are")]
pub struct Feedback {
    pub knowledge_id: KnowledgeId,
    pub text: String,
    pub principal: String,
    pub created_at: Timestamp,
    /// When it was worked into the record.
    pub applied_at: Option<Timestamp>,
}

/// Checks what a version or a tombstone speaks of.
pub(super) fn check_subject(kind: &str, id: &str, version: i64) -> Result<(), FieldFault> {
    if !["experience", "resource", "knowledge"].contains(&kind) {
        return Err(FieldFault::new("kind", "must be experience, resource or knowledge"));
    }
    let is_id = match kind {
        "experience" => id.parse::<i64>().is_ok_and(|id| id >= 1),
        "resource" => id.parse::<ResourceId>().is_ok(),
        _ => id.parse::<KnowledgeId>().is_ok(),
    };
    if !is_id {
        return Err(FieldFault::new("id", format!("not a valid {kind} id")));
    }
    check_version(version)
}

/// Checks a count of what was asked for.
pub(super) fn check_count(count: u64) -> Result<(), FieldFault> {
    match i64::try_from(count) {
        Ok(1..=MAX_NUMBER) => Ok(()),
        _ => Err(FieldFault::new("count", format!("must be 1 to {MAX_NUMBER}"))),
    }
}

fn check_version(version: i64) -> Result<(), FieldFault> {
    if version >= 0 { Ok(()) } else { Err(FieldFault::new("version", "must not be negative")) }
}
