//! Bodies that judge several knowledge records at once, and what became of each.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{MAX_FEEDBACK_CHARS, VerifyAction};
use crate::{
    hub::{
        Body, ErrorDetail, FieldFault, MAX_TEXT_CHARS, PlainTexts, WriteBody, body::check_chars,
        check_bound, check_present, words::words,
    },
    ids::ContactId,
};

/// The most records of one batch; more are refused as a whole, the sender keeps them.
pub const MAX_BATCH_ITEMS: usize = 100;

fn check_count(field: &str, count: usize) -> Result<(), FieldFault> {
    if (1..=MAX_BATCH_ITEMS).contains(&count) {
        return Ok(());
    }
    Err(FieldFault::new(field, format!("must have 1 to {MAX_BATCH_ITEMS} entries")))
}

/// Body of `POST /api/knowledge/batch_verify`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchVerify {
    /// The records.
    #[schema(min_items = 1, max_items = 100)]
    pub knowledge_ids: Vec<String>,
    /// What is decided; only `approve`.
    pub action: VerifyAction,
    /// Who decides, as claimed; the token's name unless given.
    #[serde(default)]
    #[schema(max_length = 2_000)]
    pub verified_by: String,
}

impl Body for BatchVerify {
    fn check(&self) -> Result<(), FieldFault> {
        check_count("knowledge_ids", self.knowledge_ids.len())?;
        if self.action != VerifyAction::Approve {
            return Err(FieldFault::new("action", "must be approve; reject records one by one"));
        }
        check_bound("verified_by", &self.verified_by)
    }
}

impl WriteBody for BatchVerify {
    fn plain_texts(&self) -> PlainTexts<'_> {
        PlainTexts::default().text("verified_by", &self.verified_by)
    }
}

/// Body of `POST /api/knowledge/batch_delete`: the bare list of ids.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct BatchDelete {
    /// The records.
    #[schema(min_items = 1, max_items = 100)]
    pub knowledge_ids: Vec<String>,
}

impl Body for BatchDelete {
    fn check(&self) -> Result<(), FieldFault> {
        check_count("", self.knowledge_ids.len())
    }

    fn read(value: Value) -> Result<Self, FieldFault> {
        let is_text = |value: &Value| value.as_str().map(str::to_owned);
        let ids = value.as_array().and_then(|ids| ids.iter().map(is_text).collect());
        let knowledge_ids =
            ids.ok_or_else(|| FieldFault::new("", "must be a JSON list of knowledge ids"))?;
        let body = Self { knowledge_ids };
        body.check()?;
        Ok(body)
    }
}

impl WriteBody for BatchDelete {
    fn plain_texts(&self) -> PlainTexts<'_> {
        PlainTexts::default()
    }
}

/// Body of `POST /api/knowledge/batch_update`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchUpdate {
    /// The verdicts.
    #[schema(min_items = 1, max_items = 100)]
    pub feedback_list: Vec<BatchFeedback>,
    /// The contact for whom a delegate tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<ContactId>,
}

/// One verdict of a [`BatchUpdate`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchFeedback {
    /// The record.
    pub knowledge_id: String,
    /// Whether it helped; raises `eval.helpful` or `eval.harmful`.
    pub is_effective: bool,
    /// What it should say; kept, and worked into the content by a model where one is configured.
    #[serde(default)]
    #[schema(max_length = 4_000)]
    pub feedback: String,
}

impl Body for BatchUpdate {
    fn check(&self) -> Result<(), FieldFault> {
        check_count("feedback_list", self.feedback_list.len())?;
        for (index, item) in self.feedback_list.iter().enumerate() {
            let field = format!("feedback_list[{index}].feedback");
            check_chars(&field, &item.feedback, MAX_FEEDBACK_CHARS)?;
        }
        Ok(())
    }
}

impl WriteBody for BatchUpdate {
    const FOR_CONTACTS: bool = true;

    fn plain_texts(&self) -> PlainTexts<'_> {
        let texts = PlainTexts::default().on_behalf_of(self.on_behalf_of.as_ref());
        let items = self.feedback_list.iter().enumerate();
        items.fold(texts, |texts, (index, item)| {
            texts.text(format!("feedback_list[{index}].feedback"), &item.feedback)
        })
    }
}

/// Body of `POST /api/knowledge/evaluations`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewEvaluations {
    /// The trace into which the records were injected.
    #[schema(min_length = 1, max_length = 2_000, pattern = r"[^\s\x85]")]
    pub trace_id: String,
    /// The verdicts.
    #[schema(min_items = 1, max_items = 100)]
    pub evaluations: Vec<NewEvaluation>,
    /// The contact for whom a delegate tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<ContactId>,
}

/// The verdict on one record that was injected into a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewEvaluation {
    /// The record.
    pub knowledge_id: String,
    /// The goal it was injected for.
    #[serde(default)]
    #[schema(max_length = 2_000)]
    pub goal_id: String,
    /// The message at which it was injected.
    pub injected_at_sequence: u32,
    /// The verdict: `irrelevant`, `unused`, `helpful`, `harmful` or `neutral`.
    pub eval_status: String,
    /// Why, in a sentence or two.
    #[serde(default)]
    #[schema(max_length = 100_000)]
    pub reason: String,
    /// When it was judged, as the trace wrote it.
    #[serde(default)]
    #[schema(max_length = 2_000)]
    pub evaluated_at: String,
    /// What made the agent judge it: `goal_completion`, `compression` or `task_completion`.
    #[serde(default)]
    #[schema(max_length = 2_000)]
    pub evaluated_at_trigger: String,
}

impl Body for NewEvaluations {
    fn check(&self) -> Result<(), FieldFault> {
        check_present("trace_id", &self.trace_id)?;
        check_bound("trace_id", &self.trace_id)?;
        check_count("evaluations", self.evaluations.len())?;
        for (index, item) in self.evaluations.iter().enumerate() {
            item.check().map_err(|fault| fault.within(&format!("evaluations[{index}]")))?;
        }
        Ok(())
    }
}

impl NewEvaluation {
    pub(crate) fn check(&self) -> Result<(), FieldFault> {
        check_bound("goal_id", &self.goal_id)?;
        check_chars("reason", &self.reason, MAX_TEXT_CHARS)?;
        check_bound("evaluated_at", &self.evaluated_at)?;
        check_bound("evaluated_at_trigger", &self.evaluated_at_trigger)
    }

    fn plain_texts(&self) -> PlainTexts<'_> {
        PlainTexts::default()
            .text("goal_id", &self.goal_id)
            .text("reason", &self.reason)
            .text("evaluated_at", &self.evaluated_at)
            .text("evaluated_at_trigger", &self.evaluated_at_trigger)
    }
}

impl WriteBody for NewEvaluations {
    const FOR_CONTACTS: bool = true;

    fn plain_texts(&self) -> PlainTexts<'_> {
        let texts = PlainTexts::default()
            .text("trace_id", &self.trace_id)
            .on_behalf_of(self.on_behalf_of.as_ref());
        let items = self.evaluations.iter().enumerate();
        items.fold(texts, |texts, (index, item)| {
            texts.within(&format!("evaluations[{index}]"), item.plain_texts())
        })
    }
}

/// What an agent found of a record that it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvalStatus {
    /// It has nothing to do with the task.
    Irrelevant,
    /// It fits the task, and was not used.
    Unused,
    /// It helped.
    Helpful,
    /// It did harm.
    Harmful,
    /// It fits the task, and made no difference.
    Neutral,
}

words! {
    EvalStatus in "eval_status":
    Irrelevant = "irrelevant",
    Unused = "unused",
    Helpful = "helpful",
    Harmful = "harmful",
    Neutral = "neutral",
}

/// Answer to every call on several records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchResults {
    /// What became of each item, in the order of the items.
    pub results: Vec<ItemResult>,
}

/// What became of one item of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ItemResult {
    /// The record's id, as the item gave it.
    pub id: String,
    /// Whether the item is done.
    pub ok: bool,
    /// The same was reported before, and is counted once; absent when not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
    /// Whether a model worked the feedback into the content; absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evolved: Option<bool>,
    /// Why it did not; absent when it did.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What is wrong with the item; absent when it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorDetail>,
}
