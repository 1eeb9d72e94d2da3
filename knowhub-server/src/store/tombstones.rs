//! What was deleted, by whom and why.

use protocol::Timestamp;
use rusqlite::{Connection, OptionalExtension};

use super::change::next_seq;

/// What kind of record a tombstone or an earlier version speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RecordKind {
    Experience,
    Resource,
    Knowledge,
}

impl RecordKind {
    /// Returns the kind as it is stored and exported.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Experience => "experience",
            Self::Resource => "resource",
            Self::Knowledge => "knowledge",
        }
    }
}

/// A record that is about to be deleted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dead<'a> {
    pub(super) kind: RecordKind,
    pub(super) id: &'a str,
    pub(super) row: i64,
    pub(super) version: i64,
}

/// Why and by whom a record is deleted.
#[derive(Clone, Debug)]
pub(crate) struct Deletion {
    /// The principal.
    pub(crate) by: String,
    /// As the caller gives it; empty when it gives none.
    pub(crate) reason: String,
    /// When.
    pub(crate) at: Timestamp,
}

/// A deleted row, as an index has to hear of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeletedRow {
    pub(crate) kind: RecordKind,
    pub(crate) row: i64,
    pub(crate) seq: i64,
}

/// Writes the tombstone of a record, within the caller's transaction; an earlier one of the same id is replaced.
pub(super) fn insert_tombstone(
    db: &Connection,
    dead: Dead<'_>,
    deletion: &Deletion,
) -> rusqlite::Result<DeletedRow> {
    let seq = next_seq(db)?;
    db.prepare_cached(
        "INSERT OR REPLACE INTO tombstones
             (kind, id, seq, row, version, deleted_at, deleted_by, reason)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute((
        dead.kind.as_str(),
        dead.id,
        seq,
        dead.row,
        dead.version,
        deletion.at.as_millis(),
        &deletion.by,
        &deletion.reason,
    ))?;
    Ok(DeletedRow { kind: dead.kind, row: dead.row, seq })
}

/// Finds the last version of a record that was deleted.
pub(super) fn find_tombstone(
    db: &Connection,
    kind: RecordKind,
    id: &str,
) -> rusqlite::Result<Option<i64>> {
    db.prepare_cached("SELECT version FROM tombstones WHERE kind = ?1 AND id = ?2")?
        .query_row((kind.as_str(), id), |row| row.get(0))
        .optional()
}

/// Lists the rows of this kind that were deleted after `seq`, in that order, at most `limit`.
pub(super) fn list_after(
    db: &Connection,
    kind: RecordKind,
    seq: i64,
    limit: u32,
) -> rusqlite::Result<Vec<DeletedRow>> {
    db.prepare_cached(
        "SELECT row, seq FROM tombstones WHERE kind = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
    )?
    .query_map((kind.as_str(), seq, limit), |row| {
        Ok(DeletedRow { kind, row: row.get(0)?, seq: row.get(1)? })
    })?
    .collect()
}
