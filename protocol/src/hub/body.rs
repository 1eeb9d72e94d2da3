//! Reading a body: a wrong field is named, whichever way it is wrong.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    MAX_SHORT_CHARS, MAX_TEXT_CHARS,
    secret::wipe_secret,
    whole_numbers::{check_free_numbers, write_whole_numbers},
};
use crate::complaint::shortened;

/// What is wrong with which field of a body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}{}{reason}", if .field.is_empty() { "" } else { ": " })]
pub struct FieldFault {
    /// The field, as a path such as `tags.project` or `knowledge[2].task`; empty for the whole body.
    pub field: String,
    /// What would be right.
    pub reason: String,
}

impl FieldFault {
    /// Returns the fault of one field.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }

    /// Returns the fault as seen from a body that holds this one under `prefix`.
    #[must_use]
    pub fn within(mut self, prefix: &str) -> Self {
        self.field = match self.field.as_str() {
            "" => prefix.to_owned(),
            field => format!("{prefix}.{field}"),
        };
        self
    }
}

/// A request body: what serde can read, and what else must hold.
pub trait Body: DeserializeOwned {
    /// Checks what the types do not say: presence and bounds.
    ///
    /// # Errors
    ///
    /// Names the first field that is wrong.
    fn check(&self) -> Result<(), FieldFault>;

    /// Reads a body from a JSON value and checks it; a secret in the value is wiped from memory.
    ///
    /// # Errors
    ///
    /// Names the first field that is missing, of a wrong type, or out of bounds.
    fn read(mut value: Value) -> Result<Self, FieldFault> {
        // Serde would take a list of the fields' values for the object.
        if !value.is_object() {
            return Err(FieldFault::new("", "must be a JSON object"));
        }
        write_whole_numbers(&mut value);
        let numbers = check_free_numbers(&value);
        let body = serde_path_to_error::deserialize(&value).map_err(|err| as_field_fault(&err));
        wipe_secret(&mut value);
        let body: Self = body?;
        numbers?;
        body.check()?;
        Ok(body)
    }

    /// Reads a body from a JSON value that stays as it is, and checks it.
    ///
    /// # Errors
    ///
    /// Those of [`Body::read`].
    fn from_value(value: &Value) -> Result<Self, FieldFault> {
        Self::read(value.clone())
    }
}

pub(crate) fn as_field_fault(err: &serde_path_to_error::Error<serde_json::Error>) -> FieldFault {
    let reason = shortened(&err.inner().to_string());
    let path = shortened(&err.path().to_string());
    // A missing field is reported at its parent; the message names it.
    let missing = reason
        .strip_prefix("missing field `")
        .and_then(|rest| rest.split_once('`'))
        .map(|(field, _)| FieldFault::new(field, "required"));
    match (missing, path.as_str()) {
        (Some(fault), ".") => fault,
        (Some(fault), path) => fault.within(path),
        (None, ".") => FieldFault::new("", reason),
        (None, path) => FieldFault::new(path, reason),
    }
}

/// Checks that a required text says something and is at most [`MAX_TEXT_CHARS`] long.
///
/// # Errors
///
/// When it is blank or too long.
pub fn check_present(field: &str, text: &str) -> Result<(), FieldFault> {
    if text.trim().is_empty() {
        return Err(FieldFault::new(field, "required, must not be blank"));
    }
    check_chars(field, text, MAX_TEXT_CHARS)
}

/// Checks that a short text is at most [`MAX_SHORT_CHARS`] long.
///
/// # Errors
///
/// When it is too long.
pub fn check_bound(field: &str, text: &str) -> Result<(), FieldFault> {
    check_chars(field, text, MAX_SHORT_CHARS)
}

pub(crate) fn check_chars(field: &str, text: &str, limit: usize) -> Result<(), FieldFault> {
    match text.chars().nth(limit) {
        None => Ok(()),
        Some(_) => Err(FieldFault::new(field, format!("longer than {limit} characters"))),
    }
}
