//! What an answer cites: `[knowledge-…]`, `[experience-N]`, `[resource:ID]`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::ids::{ExperienceId, KnowledgeId, ResourceId};

/// A record that can be cited, written as in a citation without its brackets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceId {
    /// A knowledge record: `knowledge-20260309-215835-a699`.
    Knowledge(KnowledgeId),
    /// An experience: `experience-7`.
    Experience(ExperienceId),
    /// A resource or content: `resource:pymupdf/find-tables`.
    Resource(ResourceId),
}

impl SourceId {
    /// Returns the id in the brackets that make it a citation.
    pub fn to_citation(&self) -> String {
        format!("[{self}]")
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Knowledge(id) => id.fmt(f),
            Self::Experience(id) => write!(f, "experience-{id}"),
            Self::Resource(id) => write!(f, "resource:{id}"),
        }
    }
}

/// The text is not the id of a record that can be cited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a source id: knowledge-…, experience-N or resource:ID")]
pub struct SourceIdFault;

impl FromStr for SourceId {
    type Err = SourceIdFault;

    fn from_str(text: &str) -> Result<Self, SourceIdFault> {
        if let Some(number) = text.strip_prefix("experience-") {
            // Only the canonical form, so that parsing and formatting are a pair.
            let id = number.parse().map(ExperienceId).map_err(|_| SourceIdFault)?;
            return if id.0 > 0 && id.to_string() == number {
                Ok(Self::Experience(id))
            } else {
                Err(SourceIdFault)
            };
        }
        match text.strip_prefix("resource:") {
            Some(id) => id.parse().map(Self::Resource).map_err(|_| SourceIdFault),
            None => text.parse().map(Self::Knowledge).map_err(|_| SourceIdFault),
        }
    }
}

impl Serialize for SourceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SourceId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["knowledge-20260305-a1b2", "experience-7", "resource:论文/第一节"] {
            let id: SourceId = text.parse().unwrap();
            assert_eq!(id.to_string(), text);
            assert_eq!(id.to_citation(), format!("[{text}]"));
        }
    }

    #[test]
    fn look_alikes_are_refused() {
        for text in
            ["experience-", "experience-07", "experience--1", "experience-+1", "resource:", "x"]
        {
            assert!(text.parse::<SourceId>().is_err(), "{text}");
        }
    }
}
