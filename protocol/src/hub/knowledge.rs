//! Knowledge records: what was learned, with its verdicts.

mod batch;
mod change;
mod merge;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::{Body, FieldFault, check_bound, check_present};
use super::bounds::{ListEntry, TagValue};
use super::depth::check_depths;
use super::plain_texts::{PlainTexts, WriteBody};
use super::words::words;
use super::{MAX_JSON_DEPTH, MAX_LIST_ITEMS};
use crate::{
    ids::{ContactId, KnowledgeId},
    time::Timestamp,
};

pub use batch::{
    BatchDelete, BatchFeedback, BatchResults, BatchUpdate, BatchVerify, EvalStatus, ItemResult,
    MAX_BATCH_ITEMS, NewEvaluation, NewEvaluations,
};
pub use change::{
    Case, Feedback, KnowledgeDeleted, KnowledgeFeedback, KnowledgePatch, KnowledgeUpdated,
    MAX_CASE_CHARS, MAX_FEEDBACK_CHARS, MAX_RELATION_CHARS, NewRelationship, Verified, Verify,
    VerifyAction,
};
pub use merge::{
    MAX_SLIM_CALLS, Merge, MergeKind, MergeUndone, Processing, Slim, SlimMerge, Slimmed, UndoMerge,
};

/// Body of `POST /api/knowledge`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewKnowledge {
    /// In what situation, to reach what goal.
    #[schema(min_length = 1, max_length = 100_000, pattern = r"[^\s\x85]")]
    pub task: String,
    /// The knowledge itself.
    #[schema(min_length = 1, max_length = 100_000, pattern = r"[^\s\x85]")]
    pub content: String,
    /// Kinds of knowledge, such as `strategy`, `tool`, `usecase`, `definition`, `plan`, `user_profile`; free text.
    #[serde(default)]
    #[schema(value_type = Vec<ListEntry>, max_items = 100)]
    pub types: Vec<String>,
    /// Labels by name.
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, TagValue>)]
    pub tags: BTreeMap<String, String>,
    /// For whom it holds, as `kind:name`.
    #[serde(default)]
    #[schema(value_type = Vec<ListEntry>, max_items = 100)]
    pub scopes: Vec<String>,
    /// Whose it is; empty becomes `agent:{source.agent_id}` where an agent is named.
    #[serde(default)]
    #[schema(max_length = 2_000)]
    pub owner: String,
    /// Stored resources it speaks of.
    #[serde(default)]
    #[schema(value_type = Vec<ListEntry>, max_items = 100)]
    pub resource_ids: Vec<String>,
    /// Where it comes from.
    #[serde(default)]
    pub source: Origin,
    /// The id of the agent message it comes from; empty when there is none.
    #[serde(default)]
    #[schema(max_length = 2_000)]
    pub message_id: String,
    /// The contact for whom a delegate submits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<ContactId>,
}

impl Body for NewKnowledge {
    fn check(&self) -> Result<(), FieldFault> {
        check_present("task", &self.task)?;
        check_present("content", &self.content)?;
        check_bound("owner", &self.owner)?;
        check_bound("message_id", &self.message_id)?;
        check_list("types", &self.types)?;
        check_list("scopes", &self.scopes)?;
        check_list("resource_ids", &self.resource_ids)?;
        check_labels(&self.tags)?;
        self.source.check().map_err(|fault| fault.within("source"))
    }
}

impl WriteBody for NewKnowledge {
    const FOR_CONTACTS: bool = true;

    fn plain_texts(&self) -> PlainTexts<'_> {
        PlainTexts::default()
            .text("task", &self.task)
            .text("content", &self.content)
            .list("types", &self.types)
            .map("tags", &self.tags)
            .list("scopes", &self.scopes)
            .text("owner", &self.owner)
            .list("resource_ids", &self.resource_ids)
            .within("source", self.source.plain_texts())
            .text("message_id", &self.message_id)
            .on_behalf_of(self.on_behalf_of.as_ref())
    }
}

fn check_labels(tags: &BTreeMap<String, String>) -> Result<(), FieldFault> {
    if tags.len() > MAX_LIST_ITEMS {
        return Err(FieldFault::new("tags", format!("more than {MAX_LIST_ITEMS} entries")));
    }
    for (name, value) in tags {
        check_bound("tags", name)?;
        check_bound(&format!("tags.{name}"), value)?;
    }
    Ok(())
}

fn check_list(field: &str, list: &[String]) -> Result<(), FieldFault> {
    if list.len() > MAX_LIST_ITEMS {
        return Err(FieldFault::new(field, format!("more than {MAX_LIST_ITEMS} entries")));
    }
    for (index, text) in list.iter().enumerate() {
        let field = format!("{field}[{index}]");
        check_present(&field, text)?;
        check_bound(&field, text)?;
    }
    Ok(())
}

/// Where a knowledge record comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Origin {
    /// What it was learned from, such as a tool's name.
    #[schema(max_length = 2_000)]
    pub name: String,
    /// What kind of origin.
    #[schema(max_length = 2_000)]
    pub category: String,
    /// Where one can check it.
    #[schema(value_type = Vec<ListEntry>, max_items = 100)]
    pub urls: Vec<String>,
    /// The agent that learned it.
    #[schema(max_length = 2_000)]
    pub agent_id: String,
    /// Who submits it, as claimed.
    #[schema(max_length = 2_000)]
    pub submitted_by: String,
    /// When it was learned, as claimed.
    #[schema(max_length = 2_000)]
    pub timestamp: String,
    /// Whose token it was submitted with; the hub writes it, whatever a report says.
    pub authenticated_as: String,
    /// For whom a delegate submitted it, as `im:{contact}`; the hub writes it, whatever a report says.
    pub on_behalf_of: String,
}

impl Origin {
    fn check(&self) -> Result<(), FieldFault> {
        for (field, text) in [
            ("name", &self.name),
            ("category", &self.category),
            ("agent_id", &self.agent_id),
            ("submitted_by", &self.submitted_by),
            ("timestamp", &self.timestamp),
        ] {
            check_bound(field, text)?;
        }
        check_list("urls", &self.urls)
    }

    /// Returns what a report says of its origin; what the hub itself writes is not in it.
    fn plain_texts(&self) -> PlainTexts<'_> {
        PlainTexts::default()
            .text("name", &self.name)
            .text("category", &self.category)
            .list("urls", &self.urls)
            .text("agent_id", &self.agent_id)
            .text("submitted_by", &self.submitted_by)
            .text("timestamp", &self.timestamp)
    }
}

/// Answer to `POST /api/knowledge`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KnowledgeCreated {
    /// The id the hub gave it.
    pub id: KnowledgeId,
    /// How far its processing is.
    pub status: KnowledgeStatus,
    /// The record that says this already, for whose sake this one is `rejected`; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<KnowledgeId>,
}

/// How far a record's processing is; only `approved` and `checked` are found by search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum KnowledgeStatus {
    /// Stored, waiting.
    Pending,
    /// Looked at for duplicates.
    Processing,
    /// No duplicate.
    DedupPassed,
    /// Looked at for relations to tools.
    Analyzing,
    /// Found by search.
    Approved,
    /// Turned down.
    Rejected,
    /// Found by search, and confirmed by a person.
    Checked,
}

words! {
    KnowledgeStatus in "status":
    Pending = "pending",
    Processing = "processing",
    DedupPassed = "dedup_passed",
    Analyzing = "analyzing",
    Approved = "approved",
    Rejected = "rejected",
    Checked = "checked",
}

/// A stored knowledge record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Knowledge {
    /// The record's id, cited as `[knowledge-…]`.
    pub id: KnowledgeId,
    /// In what situation, to reach what goal.
    pub task: String,
    /// The knowledge itself.
    pub content: String,
    /// Kinds of knowledge.
    pub types: Vec<String>,
    /// Labels by name.
    pub tags: BTreeMap<String, String>,
    /// For whom it holds, as `kind:name`.
    pub scopes: Vec<String>,
    /// Whose it is.
    pub owner: String,
    /// Stored resources it speaks of.
    pub resource_ids: Vec<String>,
    /// Where it comes from.
    pub source: Origin,
    /// What its users found.
    pub eval: Eval,
    /// How far its processing is.
    pub status: KnowledgeStatus,
    /// Who last approved or rejected it, as claimed; empty when nobody did.
    #[serde(default)]
    pub verified_by: String,
    /// What readers should know before they take it at its word: `instructions` where it reads like orders to a model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// How it relates to other records.
    pub relationships: Vec<Relationship>,
    /// The id of the agent message it comes from.
    pub message_id: String,
    /// When the hub stored it.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What a record's users found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Eval {
    /// 1 to 5; 3 when new.
    pub score: u8,
    /// How many found it helpful.
    pub helpful: u64,
    /// How many found it harmful.
    pub harmful: u64,
    /// How many found that it has nothing to do with their task.
    pub irrelevant: u64,
    /// How many did not use it.
    pub unused: u64,
    /// How many found that it made no difference.
    pub neutral: u64,
    /// 0 to 1: the share of helpful among helpful and harmful, as if there had been one more of each.
    pub confidence: f64,
    /// The helpful cases, oldest first.
    pub helpful_history: Vec<serde_json::Value>,
    /// The harmful cases, oldest first.
    pub harmful_history: Vec<serde_json::Value>,
}

impl Eval {
    /// Checks the score, and that each case can be read again wherever it is stored.
    ///
    /// # Errors
    ///
    /// Names the first field that is wrong.
    pub fn check(&self) -> Result<(), FieldFault> {
        if !(1..=5).contains(&self.score) {
            return Err(FieldFault::new("score", "must be 1 to 5"));
        }
        // A case stands in an object, beside who told it and when.
        check_depths("helpful_history", &self.helpful_history, MAX_JSON_DEPTH + 1)?;
        check_depths("harmful_history", &self.harmful_history, MAX_JSON_DEPTH + 1)
    }
}

impl Default for Eval {
    /// The verdicts of a record that nobody has judged yet.
    fn default() -> Self {
        Self {
            score: 3,
            helpful: 0,
            harmful: 0,
            irrelevant: 0,
            unused: 0,
            neutral: 0,
            confidence: 0.5,
            helpful_history: Vec::new(),
            harmful_history: Vec::new(),
        }
    }
}

/// How a record relates to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Relationship {
    /// The relation, such as `superset`, `conflict`, `complement`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The other record.
    pub target: KnowledgeId,
}

/// Answer to `GET /api/knowledge/search`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KnowledgeSearch {
    /// Best first.
    pub results: Vec<KnowledgeHit>,
    /// How many results there are here.
    pub count: u64,
    /// Vectors took part; `false` without an embedding model, and while it is late or has not seen all records.
    #[serde(default)]
    pub by_vectors: bool,
    /// A model put them in this order.
    pub reranked: bool,
    /// How many were judged irrelevant and held back; `all=true` shows them.
    pub withheld: u64,
}

/// One found record, with why it was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KnowledgeHit {
    /// The record.
    #[serde(flatten)]
    pub knowledge: Knowledge,
    /// Judged to answer the question; `false` only with `all=true`.
    pub relevant: bool,
    /// Why it stands where it stands.
    pub signals: Signals,
}

/// Why a result stands where it stands; an absent signal played no part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Signals {
    /// BM25 score of its words.
    pub lexical: Option<f64>,
    /// From 0 to 1: how much of what the question asks about the record speaks of, by the weight of the words.
    pub share: Option<f64>,
    /// From 0 to 1: the same, with how often and how densely it does.
    #[serde(rename = "match")]
    pub matched: Option<f64>,
    /// How far its match is above that of the best other result.
    pub lead_match: Option<f64>,
    /// Cosine to the query's embedding.
    pub vector: Option<f64>,
    /// How far its cosine is above the mean of the four best others.
    pub lead_vector: Option<f64>,
    /// How many standard deviations its cosine is above that of records in general.
    pub deviations: Option<f64>,
    /// How many of these its cosine is above the mean of the four best others.
    pub lead_deviations: Option<f64>,
    /// Score after fusion, verdicts and age, by which results are ordered.
    pub fused: Option<f64>,
    /// Weight of its verdicts: from -1, all harmful, to 1, all helpful; few count little.
    pub eval: Option<f64>,
    /// From 0 to 1: how probable it is that the record answers, as far as the signals tell.
    pub relevance: Option<f64>,
}
