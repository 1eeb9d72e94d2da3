//! Demand: what was asked for and not found.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::words::words;
use crate::time::Timestamp;

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DemandKind {
    /// A search for experiences.
    ExperienceSearch,
    /// A search for knowledge.
    KnowledgeSearch,
    /// A search for resources.
    ResourceSearch,
    /// A content, by its id.
    Content,
    /// A resource, by its id or name.
    Resource,
}

words! {
    DemandKind in "kind":
    ExperienceSearch = "experience_search",
    KnowledgeSearch = "knowledge_search",
    ResourceSearch = "resource_search",
    Content = "content",
    Resource = "resource",
}

/// Something that was asked for and not found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Demand {
    /// What was asked for.
    pub kind: DemandKind,
    /// The query, in lower case and with likely secrets cut out, or the id.
    pub wanted: String,
    /// How often.
    pub count: u64,
    /// When it was first asked for.
    pub first_at: Timestamp,
    /// When it was last asked for.
    pub last_at: Timestamp,
}
