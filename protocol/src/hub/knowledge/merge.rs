//! Bodies about records that were merged: which, why, and how that is taken back.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{KnowledgeStatus, check_list};
use crate::{
    hub::{Body, FieldFault, PlainTexts, WriteBody, bounds::ListEntry, check_bound, words::words},
    ids::KnowledgeId,
    time::Timestamp,
};

/// What a record that was turned down is to the one that stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MergeKind {
    /// It says the same.
    Duplicate,
    /// It says a part of it.
    Subset,
}

words! {
    MergeKind in "kind":
    Duplicate = "duplicate",
    Subset = "subset",
}

/// Why a record was turned down for the sake of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Merge {
    /// What it is to the other.
    pub kind: MergeKind,
    /// The other.
    pub target: KnowledgeId,
    /// Why.
    pub reason: String,
    /// Who decided: `hub`, `pipeline:{model}` or `slim:{principal}`.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// Whether it counts as a helpful case of the other.
    pub counted_helpful: bool,
    /// Whether the other is gone, so that nothing says this any more; the merge can still be taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub target_deleted: bool,
    /// When it was taken back; absent while it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone_at: Option<Timestamp>,
    /// Who took it back.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub undone_by: String,
    /// Why it was taken back.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub undone_reason: String,
}

/// Answer to `GET /api/knowledge/{id}/processing`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Processing {
    /// The record.
    pub id: KnowledgeId,
    /// Its status.
    pub status: KnowledgeStatus,
    /// What comes next: `dedup`, `link`, or `done`.
    pub stage: String,
    /// How often the model was asked in this stage and gave nothing that could be used.
    pub attempts: u32,
    /// When it is asked again, at the earliest; absent where nothing waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    /// What went wrong last, or was passed over; empty when nothing did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last_error: String,
    /// What the model said where that could not be used, likely secrets cut out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reply: String,
    /// Whether a model judged how it relates to others; without one only the same text is recognized.
    pub judged: bool,
    /// What it is merged into; absent where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged_into: Option<KnowledgeId>,
    /// Its merges, newest first, those that were taken back too.
    pub merges: Vec<Merge>,
}

/// Body of `POST /api/knowledge/{id}/undo_merge`; it may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct UndoMerge {
    /// Why.
    #[schema(max_length = 2_000)]
    pub reason: String,
}

impl Body for UndoMerge {
    fn check(&self) -> Result<(), FieldFault> {
        check_bound("reason", &self.reason)
    }
}

impl WriteBody for UndoMerge {
    fn plain_texts(&self) -> PlainTexts<'_> {
        PlainTexts::default().text("reason", &self.reason)
    }
}

/// Answer to `POST /api/knowledge/{id}/undo_merge`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MergeUndone {
    /// The record that is let back in.
    pub id: KnowledgeId,
    /// Its status now.
    pub status: KnowledgeStatus,
    /// What it had been merged into.
    pub targets: Vec<KnowledgeId>,
}

/// The most calls of the model in one pass of slimming; more are refused.
pub const MAX_SLIM_CALLS: u32 = 50;

/// Body of `POST /api/knowledge/slim`; it may be left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Slim {
    /// Nothing is merged; the answer tells what would be. `true` unless given.
    pub dry_run: bool,
    /// How often the model may be asked, 1 to 50.
    #[schema(minimum = 1, maximum = 50)]
    pub limit: u32,
    /// Only records that hold for one of these; all when empty.
    #[schema(value_type = Vec<ListEntry>, max_items = 100)]
    pub scopes: Vec<String>,
    /// Where the pass goes on: `next` of the answer before.
    pub after: i64,
    /// Taken and passed over: the hub asks the model of its settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub model: Option<String>,
}

impl Default for Slim {
    fn default() -> Self {
        Self { dry_run: true, limit: MAX_SLIM_CALLS, scopes: Vec::new(), after: 0, model: None }
    }
}

impl Body for Slim {
    fn check(&self) -> Result<(), FieldFault> {
        if !(1..=MAX_SLIM_CALLS).contains(&self.limit) {
            return Err(FieldFault::new("limit", format!("must be 1 to {MAX_SLIM_CALLS}")));
        }
        check_list("scopes", &self.scopes)?;
        check_bound("model", self.model.as_deref().unwrap_or_default())
    }
}

impl WriteBody for Slim {
    fn plain_texts(&self) -> PlainTexts<'_> {
        PlainTexts::default().list("scopes", &self.scopes)
    }
}

/// Answer to `POST /api/knowledge/slim`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Slimmed {
    /// Whether nothing was merged.
    pub dry_run: bool,
    /// Whether a model was asked; without one only the same text is found.
    pub judged: bool,
    /// How many records were looked at.
    pub examined: u64,
    /// How often the model was asked.
    #[serde(default)]
    pub asked: u32,
    /// About how many of them the model gave nothing that could be used.
    pub failed: u64,
    /// What was merged, or would be.
    pub merges: Vec<SlimMerge>,
    /// Where the next call goes on; absent when the pass is at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// One record that was merged into an older one, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SlimMerge {
    /// What is turned down.
    pub record: KnowledgeId,
    /// What stays.
    pub target: KnowledgeId,
    /// What the one is to the other.
    pub kind: MergeKind,
    /// Why.
    pub reason: String,
    /// Whether it was done; `false` in a dry run, and where either changed meanwhile.
    pub applied: bool,
}
