//! One line of an export, read and written.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Evaluation, Experience, Feedback, Kind, KnowledgeRecord, Manifest, Resource, Tombstone,
    Version,
    check::{check_demand, check_known},
};
use crate::{
    complaint::shortened,
    hub::{Demand, FieldFault, PlainTexts, WriteBody, as_field_fault},
};

/// Every line but the first, as `{"experience": {…}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each type says what it is")]
#[expect(clippy::large_enum_variant, reason = "a line lives shortly, and one at a time")]
pub enum Line {
    Experience(Experience),
    Resource(Resource),
    Knowledge(KnowledgeRecord),
    Tombstone(Tombstone),
    Version(Version),
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
        // The other records refuse what they do not know by themselves.
        if matches!(line, Self::Knowledge(_) | Self::Demand(_)) {
            let given: Value = serde_json::from_slice(text)
                .map_err(|err| FieldFault::new("", shortened(&err.to_string())))?;
            check_known(&given, &line)?;
        }
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
            Self::Tombstone(_) => Kind::Tombstone,
            Self::Version(_) => Kind::Version,
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
            Self::Tombstone(dead) => dead.check(),
            Self::Version(version) => version.check(),
            Self::Evaluation(evaluation) => evaluation.check(),
            Self::Feedback(feedback) => feedback.check(),
            Self::Demand(demand) => check_demand(demand),
            Self::Manifest(_) => Ok(()),
        }
    }

    /// Hands `look` every text that the record brings for everybody to read, each by its field within the record.
    pub fn look_through<T>(&self, look: impl FnOnce(&PlainTexts<'_>) -> T) -> T {
        let nothing = PlainTexts::default;
        match self {
            Self::Experience(one) => look(&one.report().plain_texts()),
            Self::Resource(one) => look(&one.written().plain_texts()),
            Self::Knowledge(one) => one.look_through(look),
            Self::Tombstone(one) => look(&nothing().text("reason", &one.reason)),
            Self::Version(one) => one.look_through(look),
            Self::Evaluation(one) => look(&one.plain_texts()),
            Self::Feedback(one) => look(&nothing().text("text", &one.text)),
            Self::Demand(one) => look(&nothing().text("wanted", &one.wanted)),
            Self::Manifest(_) => look(&nothing()),
        }
    }
}

/// Tells whether a line is the end of an export, however it is spaced.
pub fn is_manifest(line: &[u8]) -> bool {
    let inner = line.trim_ascii_start().strip_prefix(b"{");
    inner.is_some_and(|inner| inner.trim_ascii_start().starts_with(b"\"manifest\""))
}
