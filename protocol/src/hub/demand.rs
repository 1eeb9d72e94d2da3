//! Demand: what was asked for and not found.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::FieldFault;
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

impl DemandKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::ExperienceSearch,
        Self::KnowledgeSearch,
        Self::ResourceSearch,
        Self::Content,
        Self::Resource,
    ];

    /// Returns the kind's name, as it is written everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ExperienceSearch => "experience_search",
            Self::KnowledgeSearch => "knowledge_search",
            Self::ResourceSearch => "resource_search",
            Self::Content => "content",
            Self::Resource => "resource",
        }
    }
}

impl FromStr for DemandKind {
    type Err = FieldFault;

    fn from_str(text: &str) -> Result<Self, FieldFault> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            FieldFault::new("kind", format!("must be one of {known}"))
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_written_one_way() {
        for kind in DemandKind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        assert_eq!("content, resource".parse::<DemandKind>().unwrap_err().field, "kind");
    }
}
