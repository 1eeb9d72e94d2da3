//! The cells of one row, whatever type the engine let in.

use std::collections::HashMap;

use protocol::{
    Timestamp,
    export::{Finding, unknown_field},
    hub::{FieldFault, Metadata, has_inexact},
};
use rusqlite::{Row, types::Value};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Map;

use crate::secrets;

/// Numbers above this are milliseconds, others seconds since the Unix epoch: the year 5138, or March 1973.
const LEAST_MILLIS: u64 = 100_000_000_000;

/// One row, and what was found to be odd in it.
pub(super) struct Cells {
    place: String,
    number: i64,
    values: HashMap<String, Value>,
    adjusted: Vec<Finding>,
}

impl Cells {
    /// Reads the row with this number, from 1, of a table.
    pub(super) fn read(
        table: &str,
        number: i64,
        columns: &[String],
        row: &Row<'_>,
    ) -> rusqlite::Result<Self> {
        let mut values = HashMap::new();
        for (index, column) in columns.iter().enumerate() {
            // SQLite keeps text as it was given, UTF-8 or not.
            let value = match row.get_ref(index)? {
                rusqlite::types::ValueRef::Text(text) => match str::from_utf8(text) {
                    Ok(text) => Value::Text(text.to_owned()),
                    Err(_) => Value::Blob(text.to_owned()),
                },
                other => other.try_into()?,
            };
            values.insert(column.clone(), value);
        }
        let place = format!("{table}, row {number}");
        Ok(Self { place, number, values, adjusted: Vec::new() })
    }

    /// Returns where the row stands.
    pub(super) fn into_place(self) -> String {
        self.place
    }

    /// Returns what was adjusted.
    pub(super) fn take_adjusted(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.adjusted)
    }

    /// Returns what is wrong with a cell.
    pub(super) fn wrong(&self, field: &str, reason: impl Into<String>) -> Finding {
        Finding { place: self.place.clone(), field: field.to_owned(), reason: reason.into() }
    }

    /// Notes that a cell is read as something else.
    pub(super) fn adjust(&mut self, field: &str, reason: String) {
        let finding = self.wrong(field, reason);
        self.adjusted.push(finding);
    }

    fn value(&self, column: &str) -> &Value {
        self.values.get(column).unwrap_or(&Value::Null)
    }

    /// Returns a cell as text; numbers as they are written, nothing as empty text.
    pub(super) fn text(&self, column: &str) -> Result<String, Finding> {
        match self.value(column) {
            Value::Null => Ok(String::new()),
            Value::Text(text) => Ok(text.clone()),
            Value::Integer(number) => Ok(number.to_string()),
            Value::Real(number) => Ok(number.to_string()),
            Value::Blob(bytes) => {
                String::from_utf8(bytes.clone()).map_err(|_| self.wrong(column, "not UTF-8 text"))
            }
        }
    }

    /// Returns a whole number, however it is written.
    fn integer(&self, column: &str) -> Option<i64> {
        match self.value(column) {
            Value::Integer(number) => Some(*number),
            Value::Real(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
                Some(*number as i64)
            }
            Value::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }

    fn is_empty(&self, column: &str) -> bool {
        match self.value(column) {
            Value::Null => true,
            Value::Text(text) => text.trim().is_empty(),
            _ => false,
        }
    }

    /// Returns the row's id, or its number where the table has none.
    pub(super) fn id_number(&self) -> Result<i64, Finding> {
        if self.is_empty("id") {
            return Ok(self.number);
        }
        self.integer("id").ok_or_else(|| self.wrong("id", "must be a whole number"))
    }

    /// Returns a rating; what is none becomes absent.
    pub(super) fn score(&mut self, column: &str) -> Option<u8> {
        if self.is_empty(column) {
            return None;
        }
        let score = self.integer(column).filter(|score| (1..=5).contains(score));
        if score.is_none() {
            self.adjust(column, "not 1 to 5; stored without a score".to_owned());
        }
        score.and_then(|score| u8::try_from(score).ok())
    }

    /// Returns a whole number; what is none becomes 0.
    pub(super) fn whole_number(&mut self, column: &str) -> i64 {
        if self.is_empty(column) {
            return 0;
        }
        self.integer(column).unwrap_or_else(|| {
            self.adjust(column, "no whole number; stored as 0".to_owned());
            0
        })
    }

    /// Returns a time; one without zone is UTC, and what is none is told and left out.
    pub(super) fn time(&mut self, column: &str) -> Option<Timestamp> {
        if self.is_empty(column) {
            return None;
        }
        let time = match (self.integer(column), self.value(column)) {
            (Some(number), _) if number.unsigned_abs() < LEAST_MILLIS => millis(number * 1_000),
            (Some(number), _) => millis(number),
            (None, Value::Real(number)) if number.abs() < LEAST_MILLIS as f64 => {
                millis((number * 1_000.0) as i64)
            }
            (None, Value::Real(number)) => millis(*number as i64),
            (None, Value::Text(text)) => parse_time(text),
            (None, _) => None,
        };
        if time.is_none() {
            self.adjust(column, "not a readable time; left out".to_owned());
        }
        time
    }

    /// Returns one of a set of words; what is none of them becomes `default`.
    pub(super) fn word<T: DeserializeOwned>(&mut self, column: &str, default: T, name: &str) -> T {
        if self.is_empty(column) {
            return default;
        }
        let text = self.text(column).unwrap_or_default();
        serde_json::from_value(text.trim().into()).unwrap_or_else(|_| {
            self.adjust(column, format!("unknown; stored as {name}"));
            default
        })
    }

    /// Returns metadata; what is no JSON object, has times that are none or numbers that would lose digits, is kept as text
    /// under `original`.
    pub(super) fn metadata(
        &mut self,
        column: &str,
    ) -> Result<Map<String, serde_json::Value>, Finding> {
        if self.is_empty(column) {
            return Ok(Map::new());
        }
        let text = self.text(column)?;
        let read = serde_json::from_str(&text).map_err(|_| "no JSON object".to_owned());
        let read = read.and_then(|metadata: Metadata| match metadata.check() {
            Ok(()) if metadata.0.values().any(has_inexact) => {
                Err("holds a whole number of more than 64 bits".to_owned())
            }
            Ok(()) => Ok(metadata.0),
            Err(fault) => Err(secrets::shown(&fault).to_string()),
        });
        Ok(read.unwrap_or_else(|reason| {
            self.adjust(column, format!("{reason}; stored as text under `original`"));
            Map::from_iter([("original".to_owned(), text.into())])
        }))
    }

    /// Returns a list of texts without the blank ones.
    pub(super) fn list(&mut self, column: &str) -> Result<Vec<String>, Finding> {
        let mut list: Vec<String> = self.json(column)?.unwrap_or_default();
        let count = list.len();
        list.retain(|text| !text.trim().is_empty());
        if list.len() < count {
            self.adjust(column, "blank entries left out".to_owned());
        }
        Ok(list)
    }

    /// Returns what a cell says as JSON; a field that has no place is told.
    pub(super) fn json<T: DeserializeOwned + Serialize>(
        &mut self,
        column: &str,
    ) -> Result<Option<T>, Finding> {
        if self.is_empty(column) {
            return Ok(None);
        }
        let text = self.text(column)?;
        let wrong = |_| self.wrong(column, "not JSON of the expected shape");
        let given: serde_json::Value = serde_json::from_str(&text).map_err(wrong)?;
        let read = T::deserialize(&given).map_err(wrong)?;
        if let Some(field) = unknown_field(&given, &read) {
            let fault = FieldFault::new(format!("{column}.{field}"), "not read: unknown field");
            let fault = secrets::shown(&fault);
            self.adjust(&fault.field, fault.reason);
        }
        Ok(Some(read))
    }
}

/// Returns a time, if the calendar has it.
fn millis(millis: i64) -> Option<Timestamp> {
    Some(Timestamp::from_millis(millis)).filter(|time| time.as_millis() == millis)
}

/// Reads a time as Python and SQLite write it; without a zone it is UTC.
fn parse_time(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let whole = if text.len() == "2026-03-05".len() {
        format!("{text}T00:00:00Z")
    } else {
        text.replacen(' ', "T", 1).replace(' ', "")
    };
    whole.parse().or_else(|_| format!("{whole}Z").parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_were_written() {
        for text in [
            "2026-03-05 10:00:00",
            "2026-03-05T10:00:00",
            "2026-03-05T10:00:00.000000",
            "2026-03-05T10:00:00Z",
            "2026-03-05 18:00:00+08:00",
            " 2026-03-05 18:00:00 +08:00 ",
        ] {
            let time = parse_time(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(time.to_string(), "2026-03-05T10:00:00.000Z", "{text}");
        }
        assert_eq!(parse_time("2026-03-05").unwrap().to_string(), "2026-03-05T00:00:00.000Z");
        for text in ["", "yesterday", "2026-13-05 10:00:00", "表"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    #[test]
    fn a_number_is_seconds_or_milliseconds_by_its_size() {
        for (value, millis) in [
            (Value::Integer(1_772_704_800), Some(1_772_704_800_000)),
            (Value::Integer(1_772_704_800_123), Some(1_772_704_800_123)),
            (Value::Real(1_772_704_800.5), Some(1_772_704_800_500)),
            (Value::Real(1_772_704_800_123.5), Some(1_772_704_800_123)),
            (Value::Integer(i64::MIN), None),
            (Value::Integer(i64::MAX), None),
            (Value::Real(1e300), None),
        ] {
            let values = HashMap::from([("at".to_owned(), value.clone())]);
            let mut cells = Cells { place: String::new(), number: 1, values, adjusted: vec![] };
            assert_eq!(cells.time("at").map(Timestamp::as_millis), millis, "{value:?}");
            assert_eq!(cells.take_adjusted().is_empty(), millis.is_some(), "{value:?}");
        }
    }
}
