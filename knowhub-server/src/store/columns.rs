//! Columns that hold more than the engine's own types: JSON, ids, single words.

use rusqlite::{Row, types::Type};
use serde::{Serialize, de::DeserializeOwned};

/// Returns a value as a column of JSON holds it.
pub(super) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("what was read from JSON can be written as JSON")
}

/// Reads a column of JSON.
pub(super) fn value<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> rusqlite::Result<T> {
    serde_json::from_str(&row.get::<_, String>(column)?).map_err(unreadable)
}

/// Returns the error of a stored text that does not say what it should; the cause is left out, since it may quote it.
pub(super) fn unreadable<E: std::error::Error>(_: E) -> rusqlite::Error {
    let cause = "a stored text is not what its column holds";
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, cause.into())
}
