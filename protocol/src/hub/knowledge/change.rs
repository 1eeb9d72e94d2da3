//! Bodies that change one knowledge record: feedback, edits, verification, relations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{Knowledge, KnowledgeStatus, check_labels, check_list};
use crate::{
    hub::{
        Body, FieldFault, PlainTexts, WriteBody,
        body::check_chars,
        bounds::{ListEntry, TagValue},
        check_bound, check_present,
        depth::check_entry_depths,
    },
    ids::{ContactId, KnowledgeId},
    time::Timestamp,
};

/// The longest case of a verdict, in characters of its JSON; a longer one is refused, the sender keeps it.
pub const MAX_CASE_CHARS: usize = 2_000;

/// The longest feedback that a record is to be rewritten by, in characters; longer is refused.
pub const MAX_FEEDBACK_CHARS: usize = 4_000;

/// The longest name of a new relation, in characters; a longer one is refused.
///
/// Told on the other record it may be up to three longer, with `_of` at its end.
pub const MAX_RELATION_CHARS: usize = 100;

/// What happened when somebody used a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged, expecting = "expected a text or an object")]
pub enum Case {
    /// In words.
    Text(String),
    /// In fields of the reporter's choice.
    Fields(BTreeMap<String, Value>),
}

impl Case {
    fn check(&self, field: &str) -> Result<(), FieldFault> {
        let is_empty = match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Fields(fields) => fields.is_empty(),
        };
        if is_empty {
            return Err(FieldFault::new(field, "must say something"));
        }
        if let Self::Fields(fields) = self {
            check_entry_depths(field, fields.values())?;
        }
        let json = serde_json::to_string(self).expect("what was read from JSON can be written");
        check_chars(field, &json, MAX_CASE_CHARS)
    }

    fn plain_texts(&self, field: &'static str) -> PlainTexts<'_> {
        match self {
            Self::Text(text) => PlainTexts::default().text(field, text),
            Self::Fields(fields) => fields.iter().fold(PlainTexts::default(), |texts, entry| {
                texts.text(field, entry.0).json(&format!("{field}.{}", entry.0), entry.1)
            }),
        }
    }
}

/// Body of `PUT /api/knowledge/{id}`: what its users found; one field at least.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(min_properties = 1)]
pub struct KnowledgeFeedback {
    /// Where it helped; raises `eval.helpful`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add_helpful_case: Option<Case>,
    /// Where it did harm; raises `eval.harmful`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add_harmful_case: Option<Case>,
    /// The new `eval.score`, 1 to 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 5)]
    pub update_score: Option<u8>,
    /// What it should say; kept, and worked into the content by a model where one is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 4_000)]
    pub evolve_feedback: Option<String>,
    /// The contact for whom a delegate tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<ContactId>,
}

impl Body for KnowledgeFeedback {
    fn check(&self) -> Result<(), FieldFault> {
        if *self == (Self { on_behalf_of: self.on_behalf_of.clone(), ..Self::default() }) {
            let fields = "add_helpful_case, add_harmful_case, update_score or evolve_feedback";
            return Err(FieldFault::new("", format!("names nothing to change; give {fields}")));
        }
        for (field, case) in [
            ("add_helpful_case", &self.add_helpful_case),
            ("add_harmful_case", &self.add_harmful_case),
        ] {
            case.as_ref().map_or(Ok(()), |case| case.check(field))?;
        }
        if self.update_score.is_some_and(|score| !(1..=5).contains(&score)) {
            return Err(FieldFault::new("update_score", "must be 1 to 5"));
        }
        self.evolve_feedback.as_ref().map_or(Ok(()), |text| {
            check_present("evolve_feedback", text)?;
            check_chars("evolve_feedback", text, MAX_FEEDBACK_CHARS)
        })
    }
}

impl WriteBody for KnowledgeFeedback {
    const FOR_CONTACTS: bool = true;

    fn plain_texts(&self) -> PlainTexts<'_> {
        let mut texts = PlainTexts::default()
            .text("evolve_feedback", self.evolve_feedback.as_deref().unwrap_or_default())
            .on_behalf_of(self.on_behalf_of.as_ref());
        for (field, case) in [
            ("add_helpful_case", &self.add_helpful_case),
            ("add_harmful_case", &self.add_harmful_case),
        ] {
            if let Some(case) = case {
                texts = texts.join(case.plain_texts(field));
            }
        }
        texts
    }
}

/// Answer to `PUT /api/knowledge/{id}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KnowledgeUpdated {
    /// The record as it is now.
    #[serde(flatten)]
    pub knowledge: Knowledge,
    /// Whether a model worked `evolve_feedback` into the content.
    pub evolved: bool,
    /// Why not, where that was asked for; empty otherwise.
    pub reason: String,
}

/// Body of `PATCH /api/knowledge/{id}`; what it leaves out, or gives as `null`, stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(min_properties = 1)]
pub struct KnowledgePatch {
    /// In what situation, to reach what goal.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 100_000, pattern = r"[^\s\x85]")]
    pub task: Option<String>,
    /// The knowledge itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 100_000, pattern = r"[^\s\x85]")]
    pub content: Option<String>,
    /// All its kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<ListEntry>>, max_items = 100)]
    pub types: Option<Vec<String>>,
    /// All its labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, TagValue>>)]
    pub tags: Option<BTreeMap<String, String>>,
    /// For whom it holds; an empty list becomes `["org:cybertogether"]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<ListEntry>>, max_items = 100)]
    pub scopes: Option<Vec<String>>,
    /// Whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub owner: Option<String>,
    /// All stored resources it speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<ListEntry>>, max_items = 100)]
    pub resource_ids: Option<Vec<String>>,
}

impl Body for KnowledgePatch {
    fn check(&self) -> Result<(), FieldFault> {
        if *self == Self::default() {
            let fields = "task, content, types, tags, scopes, owner or resource_ids";
            return Err(FieldFault::new("", format!("names nothing to change; give {fields}")));
        }
        for (field, text) in [("task", &self.task), ("content", &self.content)] {
            text.as_ref().map_or(Ok(()), |text| check_present(field, text))?;
        }
        for (field, list) in
            [("types", &self.types), ("scopes", &self.scopes), ("resource_ids", &self.resource_ids)]
        {
            list.as_ref().map_or(Ok(()), |list| check_list(field, list))?;
        }
        self.owner.as_ref().map_or(Ok(()), |owner| check_bound("owner", owner))?;
        self.tags.as_ref().map_or(Ok(()), check_labels)
    }
}

impl WriteBody for KnowledgePatch {
    fn plain_texts(&self) -> PlainTexts<'_> {
        let mut texts = PlainTexts::default();
        for (field, text) in
            [("task", &self.task), ("content", &self.content), ("owner", &self.owner)]
        {
            texts = texts.text(field, text.as_deref().unwrap_or_default());
        }
        for (field, list) in
            [("types", &self.types), ("scopes", &self.scopes), ("resource_ids", &self.resource_ids)]
        {
            texts = texts.list(field, list.as_deref().unwrap_or_default());
        }
        self.tags.iter().fold(texts, |texts, tags| texts.map("tags", tags))
    }
}

/// What a person decides about a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerifyAction {
    /// Confirms an approved record, and takes that back from a confirmed one; lets a rejected one back in.
    Approve,
    /// Turns it down, so that no search finds it.
    Reject,
}

/// Body of `POST /api/knowledge/{id}/verify`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Verify {
    /// What is decided.
    pub action: VerifyAction,
    /// Who decides, as claimed; the token's name unless given.
    #[serde(default)]
    #[schema(max_length = 2_000)]
    pub verified_by: String,
}

impl Body for Verify {
    fn check(&self) -> Result<(), FieldFault> {
        check_bound("verified_by", &self.verified_by)
    }
}

impl WriteBody for Verify {
    fn plain_texts(&self) -> PlainTexts<'_> {
        PlainTexts::default().text("verified_by", &self.verified_by)
    }
}

/// Answer to `POST /api/knowledge/{id}/verify`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Verified {
    /// The record.
    pub id: KnowledgeId,
    /// Its status now.
    pub status: KnowledgeStatus,
}

/// Body of `POST /api/knowledge/{id}/relationships`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewRelationship {
    /// The relation: `superset`, `subset`, `conflict`, `complement`, `duplicate`, or another name.
    #[serde(rename = "type")]
    #[schema(min_length = 1, max_length = 100, pattern = r"[^\s\x85]")]
    pub kind: String,
    /// The other record.
    pub target: KnowledgeId,
}

impl Body for NewRelationship {
    fn check(&self) -> Result<(), FieldFault> {
        check_present("type", &self.kind)?;
        check_chars("type", &self.kind, MAX_RELATION_CHARS)
    }
}

impl WriteBody for NewRelationship {
    fn plain_texts(&self) -> PlainTexts<'_> {
        PlainTexts::default().text("type", &self.kind)
    }
}

/// Answer to `DELETE /api/knowledge/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KnowledgeDeleted {
    /// Its id.
    pub id: KnowledgeId,
    /// The last version it had.
    pub version: i64,
    /// Whether all that it ever said is gone as well.
    pub erased: bool,
}

/// What a user said a record should say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Feedback {
    /// Its number.
    pub id: i64,
    /// In the user's words.
    pub text: String,
    /// Whose token it came with.
    pub authenticated_as: String,
    /// What readers should know before they take it at its word: `instructions` where it reads like orders to a model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// When it came.
    pub created_at: Timestamp,
    /// When a model worked it into the content; absent while it is open.
    pub applied_at: Option<Timestamp>,
}
