//! What earlier versions, verdicts and feedback speak of, told also where its own line is wrong or missing.

use serde_json::Value;

use super::{LeftOut, Line, RecordKind};

/// A record, or the tombstone of one, of which other lines of an export speak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// What kind of record it is or was.
    pub kind: RecordKind,
    /// The record's id.
    pub id: String,
    /// Of a tombstone: the last version that was deleted, [`i64::MAX`] where it cannot be told.
    pub deleted_to: Option<i64>,
}

impl Subject {
    /// Tells whose line this would be, as far as one that is wrong elsewhere says so.
    pub fn of_wrong_line(line: &[u8]) -> Option<Self> {
        let line: Value = serde_json::from_slice(line).ok()?;
        let text = |at: &str| line.pointer(at).and_then(Value::as_str);
        if let Some(id) = text("/resource/id") {
            return Some(record(RecordKind::Resource, id));
        }
        if let Some(id) = text("/knowledge/record/id") {
            return Some(record(RecordKind::Knowledge, id));
        }
        let version = line.pointer("/tombstone/version").and_then(Value::as_i64);
        let version = version.filter(|version| *version > 0);
        tombstone(text("/tombstone/kind")?, text("/tombstone/id")?, version)
    }

    /// Reads a name as [`LeftOut`] has it.
    fn of_name(name: &str) -> Option<Self> {
        match name.split_once(' ')? {
            ("resource", id) => Some(record(RecordKind::Resource, id)),
            ("knowledge", id) => Some(record(RecordKind::Knowledge, id)),
            ("tombstone", dead) => {
                let (kind, id) = dead.split_once(' ')?;
                tombstone(kind, id, None)
            }
            _ => None,
        }
    }
}

impl Line {
    /// Returns what this is for other lines; `None` where none speaks of it.
    pub fn subject(&self) -> Option<Subject> {
        match self {
            Self::Resource(one) => Some(record(RecordKind::Resource, one.id.as_str())),
            Self::Knowledge(one) => Some(record(RecordKind::Knowledge, one.record.id.as_str())),
            Self::Tombstone(one) => tombstone(one.kind.as_str(), &one.id, Some(one.version)),
            _ => None,
        }
    }
}

impl LeftOut {
    /// Returns those of the named records of which other lines may speak.
    pub fn subjects(&self) -> impl Iterator<Item = Subject> {
        self.records.iter().filter_map(|name| Subject::of_name(name))
    }
}

fn record(kind: RecordKind, id: &str) -> Subject {
    Subject { kind, id: id.to_owned(), deleted_to: None }
}

fn tombstone(kind: &str, id: &str, version: Option<i64>) -> Option<Subject> {
    let kind = serde_json::from_value(kind.into()).ok()?;
    Some(Subject { kind, id: id.to_owned(), deleted_to: Some(version.unwrap_or(i64::MAX)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(found: Option<&Subject>, expected: Option<(RecordKind, &str, Option<i64>)>) {
        let found = found.map(|it| (it.kind, it.id.as_str(), it.deleted_to));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_wrong_line_says_whose_it_would_be() {
        for (line, expected) in [
            (r#"{"resource":{"id":"a/b","version":0}}"#, Some((RecordKind::Resource, "a/b", None))),
            (r#"{"knowledge":{"record":{"id":"k"}}}"#, Some((RecordKind::Knowledge, "k", None))),
            (
                r#"{"tombstone":{"kind":"experience","id":"7","version":2}}"#,
                Some((RecordKind::Experience, "7", Some(2))),
            ),
            (
                r#"{"tombstone":{"kind":"resource","id":"a","version":0}}"#,
                Some((RecordKind::Resource, "a", Some(i64::MAX))),
            ),
            (r#"{"tombstone":{"kind":"video","id":"a"}}"#, None),
            (r#"{"experience":{"id":7}}"#, None),
            ("{", None),
        ] {
            check(Subject::of_wrong_line(line.as_bytes()).as_ref(), expected);
        }
    }

    #[test]
    fn a_left_out_record_is_known_by_its_name() {
        for (name, expected) in [
            ("resource a/b", Some((RecordKind::Resource, "a/b", None))),
            ("tombstone resource a/b", Some((RecordKind::Resource, "a/b", Some(i64::MAX)))),
            ("knowledge k", Some((RecordKind::Knowledge, "k", None))),
            ("experience 7", None),
            ("version resource a 1", None),
            ("demand content", None),
        ] {
            let left_out = LeftOut { count: 1, records: vec![name.to_owned()] };
            check(left_out.subjects().next().as_ref(), expected);
        }
    }
}
