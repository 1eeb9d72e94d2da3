//! The records of an export: what a store holds, without what only its own tables and indexes need.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::{
    digest::hex,
    hub::{self, ContentType, Knowledge, SecretText},
    ids::{ExperienceId, KnowledgeId, ResourceId},
    time::Timestamp,
};

/// What an earlier version or a tombstone speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each record says what it is")]
pub enum RecordKind {
    Experience,
    Resource,
    Knowledge,
}

impl RecordKind {
    /// Returns the kind as it is stored and exported.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Experience => "experience",
            Self::Resource => "resource",
            Self::Knowledge => "knowledge",
        }
    }
}

/// A reported experience.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of `hub::Experience`")]
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
    /// Returns a hash of all that it says except its number, by which the same report is known under another one.
    pub fn fingerprint(&self) -> String {
        let numberless = Self { id: ExperienceId(0), ..self.clone() };
        let json = serde_json::to_vec(&numberless).expect("an experience is plain JSON");
        hex(Sha256::new().chain_update(json))
    }
}

impl From<hub::Experience> for Experience {
    fn from(shown: hub::Experience) -> Self {
        Self {
            id: shown.id,
            name: shown.name,
            url: shown.url,
            category: shown.category,
            task: shown.task,
            score: shown.score,
            outcome: shown.outcome,
            tips: shown.tips,
            content_id: shown.content_id,
            submitted_by: shown.submitted_by,
            authenticated_as: shown.authenticated_as,
            on_behalf_of: shown.on_behalf_of,
            created_at: shown.created_at,
        }
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
    #[serde(deserialize_with = "read_cell")]
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

/// Reads a cell; what is none is not quoted, since it may be the secret itself.
fn read_cell<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    SecretText::deserialize(deserializer).map(|cell| cell.expose().to_owned())
}

impl From<hub::Resource> for Resource {
    /// Takes a record as versions keep it, its secret as sealed; what follows from the rest is left out.
    fn from(kept: hub::Resource) -> Self {
        Self {
            id: kept.id,
            title: kept.title,
            body: kept.body,
            secure_body: kept.secure_body.expose().to_owned(),
            content_type: kept.content_type,
            metadata: kept.metadata.0,
            sort_order: kept.sort_order,
            submitted_by: kept.submitted_by,
            authenticated_as: kept.authenticated_as,
            on_behalf_of: kept.on_behalf_of,
            version: kept.version,
            created_at: kept.created_at,
            updated_at: kept.updated_at,
        }
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

/// What was deleted, by whom and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields say what they are")]
pub struct Tombstone {
    /// What kind of record it was.
    pub kind: RecordKind,
    pub id: String,
    /// The last version it had.
    pub version: i64,
    pub deleted_at: Timestamp,
    /// The principal.
    pub deleted_by: String,
    pub reason: String,
    /// The last version whose text was erased for good; 0 when all of it is kept.
    #[serde(default)]
    pub erased_to: i64,
    /// Of an experience: [`Experience::fingerprint`] of what it said, which stays when that is erased.
    #[serde(default)]
    pub fingerprint: String,
}

/// What a record said before it was changed or deleted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields say what they are")]
pub struct Version {
    /// What kind of record it is.
    pub kind: RecordKind,
    pub id: String,
    pub version: i64,
    /// As it was, its secret as sealed.
    pub record: Value,
    pub replaced_at: Timestamp,
    /// The principal.
    pub replaced_by: String,
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
