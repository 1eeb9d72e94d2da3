//! What an upload carries, and the receipt for it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{complaint::shortened, hub::FieldFault, ids::MessageId};

/// The most items in one message, over all kinds; more are refused, the sender is told.
pub const MAX_UPLOAD_ITEMS: usize = 500;

/// Items to store: `{"knowledge": […], "resources": […], "tools": […]}`.
///
/// Items stay unread JSON here, so that one bad item does not cost the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Items {
    /// Bodies of `POST /api/knowledge`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knowledge: Vec<Value>,
    /// Bodies of `POST /api/resource`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<Value>,
    /// `{name, category, description?, url?, knowledge_ids?}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Value>,
}

/// Items as they are written: FINALIZE may list its parts beside the items.
#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(flatten)]
    items: Items,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<MessageId>,
}

impl Items {
    /// Returns how many items there are, over all kinds.
    pub fn len(&self) -> usize {
        self.knowledge.len() + self.resources.len() + self.tools.len()
    }

    /// Returns every item with its list and its place in that list, in the order in which they are stored.
    pub fn entries(&self) -> impl Iterator<Item = (ItemKind, usize, &Value)> {
        let lists = [
            (ItemKind::Knowledge, &self.knowledge),
            (ItemKind::Resource, &self.resources),
            (ItemKind::Tool, &self.tools),
        ];
        lists.into_iter().flat_map(|(kind, items)| {
            items.iter().enumerate().map(move |(index, item)| (kind, index, item))
        })
    }

    /// Tells whether there is no item at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads the JSON behind an upload prefix, with the parts it may list.
    pub(super) fn parse(json: &str) -> Result<(Self, Vec<MessageId>), FieldFault> {
        let value: Value = serde_json::from_str(json)
            .map_err(|err| FieldFault::new("", format!("not JSON: {err}")))?;
        let Value::Object(fields) = &value else {
            return Err(FieldFault::new("", "expected an object {\"knowledge\": [...], …}"));
        };
        let known = ["knowledge", "resources", "tools", "parts"];
        // With a misspelled list, everything would be lost and the sender none the wiser.
        if !fields.is_empty() && !known.iter().any(|field| fields.contains_key(*field)) {
            return Err(FieldFault::new("", format!("none of the lists {}", known.join(", "))));
        }
        for field in known {
            if fields.get(field).is_some_and(|value| !value.is_array()) {
                return Err(FieldFault::new(field, "must be a list"));
            }
        }
        let written: Written = serde_path_to_error::deserialize(&value)
            .map_err(|err| FieldFault::new("parts", shortened(&err.inner().to_string())))?;
        if written.items.len() > MAX_UPLOAD_ITEMS {
            return Err(FieldFault::new("", format!("more than {MAX_UPLOAD_ITEMS} items")));
        }
        Ok((written.items, written.parts))
    }

    /// Writes the JSON that stands behind an upload prefix.
    pub(super) fn to_json(&self, parts: &[MessageId]) -> String {
        let written = Written { items: self.clone(), parts: parts.to_vec() };
        serde_json::to_string(&written).expect("JSON values have string keys")
    }
}

/// What became of everything that was finalized.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Receipt {
    /// Stored.
    pub accepted: Vec<ReceiptItem>,
    /// Already there.
    pub duplicates: Vec<DuplicateItem>,
    /// Refused, with the reason.
    pub rejected: Vec<RejectedItem>,
    /// Parts that FINALIZE listed and that never came.
    pub missing: Vec<MessageId>,
}

/// A stored item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptItem {
    /// Which list it was in.
    pub kind: ItemKind,
    /// Its place in that list over all merged messages, from 0.
    pub index: usize,
    /// The id the hub gave it.
    pub id: String,
}

/// An item that equals a stored one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DuplicateItem {
    /// Which list it was in.
    pub kind: ItemKind,
    /// Its place in that list over all merged messages, from 0.
    pub index: usize,
    /// The record it equals.
    pub of: String,
}

/// A refused item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedItem {
    /// Which list it was in.
    pub kind: ItemKind,
    /// Its place in that list over all merged messages, from 0.
    pub index: usize,
    /// The field at fault; empty for the whole item.
    pub field: String,
    /// What would be right.
    pub reason: String,
}

/// Which list of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemKind {
    /// `knowledge`.
    Knowledge,
    /// `resources`.
    Resource,
    /// `tools`.
    Tool,
}
