//! One line of an export, read and written.

use serde::{Deserialize, Serialize};

use super::{
    Evaluation, Experience, Feedback, Kind, KnowledgeRecord, Manifest, Resource, Tombstone,
    Version,
    records::{check_count, check_subject},
};
use crate::hub::{Demand, FieldFault, as_field_fault};

/// Every line but the first, as `{"experience": {…}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each type says what it is")]
#[expect(clippy::large_enum_variant, reason = "a line lives shortly, and one at a time")]
pub enum Line {
    Experience(Experience),
    Resource(Resource),
    Knowledge(KnowledgeRecord),
    Version(Version),
    Tombstone(Tombstone),
    Evaluation(Evaluation),
    Feedback(Feedback),
    Demand(Demand),
    Manifest(Manifest),
}

impl Line {
    /// Reads a line without its end, and checks what it says.
    ///
    /// # Errors
    ///
    /// Names the first field that is missing, unknown, of a wrong type, or out of bounds.
    pub fn parse(text: &[u8]) -> Result<Self, FieldFault> {
        let mut json = serde_json::Deserializer::from_slice(text);
        let line: Self =
            serde_path_to_error::deserialize(&mut json).map_err(|err| as_field_fault(&err))?;
        json.end().map_err(|_| FieldFault::new("", "must be one JSON object"))?;
        line.check().map_err(|fault| match line.kind() {
            Some(kind) => fault.within(kind.as_str()),
            None => fault,
        })?;
        Ok(line)
    }

    /// Returns the line as it is written, without its end.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a line is plain JSON")
    }

    /// Returns what kind of record it holds; the manifest is none.
    pub fn kind(&self) -> Option<Kind> {
        Some(match self {
            Self::Experience(_) => Kind::Experience,
            Self::Resource(_) => Kind::Resource,
            Self::Knowledge(_) => Kind::Knowledge,
            Self::Version(_) => Kind::Version,
            Self::Tombstone(_) => Kind::Tombstone,
            Self::Evaluation(_) => Kind::Evaluation,
            Self::Feedback(_) => Kind::Feedback,
            Self::Demand(_) => Kind::Demand,
            Self::Manifest(_) => return None,
        })
    }

    /// Checks what the types do not say; the field is named within its record.
    ///
    /// # Errors
    ///
    /// Names the first field that is wrong.
    pub fn check(&self) -> Result<(), FieldFault> {
        match self {
            Self::Experience(experience) => experience.check(),
            Self::Resource(resource) => resource.check(),
            Self::Knowledge(knowledge) => knowledge.check(),
            Self::Version(version) => check_subject(&version.kind, &version.id, version.version),
            Self::Tombstone(dead) => check_subject(&dead.kind, &dead.id, dead.version),
            Self::Demand(demand) => check_count(demand.count),
            Self::Evaluation(_) | Self::Feedback(_) | Self::Manifest(_) => Ok(()),
        }
    }
}
