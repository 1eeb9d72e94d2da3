//! Records that cannot be read: found by their keys, and removed for good, since nothing of them can be kept.

use rusqlite::{Connection, OptionalExtension};

use super::{
    Change, Deletion, Error, RecordKind,
    left_out::is_unreadable,
    tombstones::{Dead, insert_tombstone},
};
use crate::knowledge;

/// What can be told of a record without reading what it says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Its row.
    pub(super) row: i64,
    /// Its version.
    pub(super) version: i64,
    /// Whether it has a secret.
    pub(super) is_sealed: bool,
}

fn find_place(db: &Connection, kind: RecordKind, id: &str) -> rusqlite::Result<Option<Place>> {
    let sql = match kind {
        RecordKind::Experience => "SELECT id, 1, false FROM experiences WHERE id = ?1",
        RecordKind::Knowledge => "SELECT row, version, false FROM knowledge WHERE id = ?1",
        RecordKind::Resource => {
            "SELECT row, version, secure_body <> '' FROM resources WHERE id = ?1"
        }
    };
    let place = |row: &rusqlite::Row<'_>| {
        Ok(Place { row: row.get(0)?, version: row.get(1)?, is_sealed: row.get(2)? })
    };
    db.prepare_cached(sql)?.query_row([id], place).optional()
}

/// Removes a record without reading it; its earlier versions are the caller's.
pub(super) fn delete_unread(
    db: &Connection,
    changes: &mut Vec<Change>,
    kind: RecordKind,
    id: &str,
    place: Place,
    deletion: &Deletion,
) -> rusqlite::Result<()> {
    let sql = match kind {
        RecordKind::Experience => "DELETE FROM experiences WHERE id = ?1",
        RecordKind::Knowledge => "DELETE FROM knowledge WHERE row = ?1",
        RecordKind::Resource => "DELETE FROM resources WHERE row = ?1",
    };
    db.prepare_cached(sql)?.execute([place.row])?;
    let dead = Dead { kind, id, row: place.row, version: place.version, fingerprint: "" };
    changes.push(Change::Deleted(insert_tombstone(db, dead, deletion)?));
    tracing::warn!(kind = kind.as_str(), id, "a record that could not be read was removed");
    Ok(())
}

/// Finds a record that is to be erased and could not be read; what else failed, or is not to be erased, fails on.
pub(super) fn find_unread(
    db: &Connection,
    kind: RecordKind,
    id: &str,
    erase: bool,
    failure: Error,
) -> Result<Place, Error> {
    let is_unreadable = matches!(
        failure,
        Error::Unreadable { .. } | Error::Knowledge(knowledge::Refusal::Unreadable { .. })
    );
    let place = if erase && is_unreadable { find_place(db, kind, id)? } else { None };
    place.ok_or(failure)
}

/// Returns why a record that is about to be changed or deleted was not found.
pub(super) fn not_found(err: rusqlite::Error, kind: RecordKind, id: &str) -> Error {
    if is_unreadable(&err) { Error::Unreadable { kind, id: id.to_owned() } } else { err.into() }
}
