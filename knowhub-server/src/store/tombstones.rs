//! What was deleted, by whom and why.

use protocol::Timestamp;
pub(crate) use protocol::export::RecordKind;
use rusqlite::{Connection, OptionalExtension};

use super::change::next_seq;
use crate::knowledge::Author;

/// A record that is deleted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dead<'a> {
    pub(super) kind: RecordKind,
    pub(super) id: &'a str,
    /// The row it had here; 0 when it had none, so that no index has to hear of it.
    pub(super) row: i64,
    pub(super) version: i64,
    /// Of an experience: the hash of what it said; empty for all others.
    pub(super) fingerprint: &'a str,
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

impl Deletion {
    /// Returns who changes other records because of it.
    pub(super) fn author(&self) -> Author {
        Author { name: self.by.clone(), now: self.at }
    }
}

/// A deleted row, as an index has to hear of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeletedRow {
    pub(crate) kind: RecordKind,
    pub(crate) row: i64,
    pub(crate) seq: i64,
}

/// Writes the tombstone of a record, within the caller's transaction; an earlier one of the same id is replaced.
///
/// What was erased under that id stays known.
pub(super) fn insert_tombstone(
    db: &Connection,
    dead: Dead<'_>,
    deletion: &Deletion,
) -> rusqlite::Result<DeletedRow> {
    let seq = next_seq(db)?;
    db.prepare_cached(
        "INSERT INTO tombstones
             (kind, id, seq, row, version, deleted_at, deleted_by, reason, fingerprint)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (kind, id) DO UPDATE SET
             seq = excluded.seq, row = excluded.row, version = excluded.version,
             deleted_at = excluded.deleted_at, deleted_by = excluded.deleted_by,
             reason = excluded.reason, fingerprint = excluded.fingerprint",
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
        dead.fingerprint,
    ))?;
    Ok(DeletedRow { kind: dead.kind, row: dead.row, seq })
}

/// Notes on the tombstone of a record that what it said is about to be erased, by whom and why.
///
/// Who deleted it, and why, stays; what was erased before is not noted again.
pub(super) fn note_erasure(
    db: &Connection,
    kind: RecordKind,
    id: &str,
    erasure: &Deletion,
) -> rusqlite::Result<()> {
    let Deletion { by, reason, at } = erasure;
    let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let note = format!("erased {at} by {by}{why}");
    db.prepare_cached(
        "UPDATE tombstones SET reason = ltrim(reason || '; ' || ?3, '; ')
         WHERE kind = ?1 AND id = ?2
           AND EXISTS (SELECT 1 FROM versions WHERE kind = ?1 AND id = ?2)",
    )?
    .execute((kind.as_str(), id, note))?;
    Ok(())
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

/// Finds when the last record of this id ended.
pub(super) fn find_deleted_at(
    db: &Connection,
    kind: RecordKind,
    id: &str,
) -> rusqlite::Result<Option<Timestamp>> {
    db.prepare_cached("SELECT deleted_at FROM tombstones WHERE kind = ?1 AND id = ?2")?
        .query_row((kind.as_str(), id), |row| row.get(0).map(Timestamp::from_millis))
        .optional()
}

/// Notes that what a deleted record said up to this version is erased, and must not come back.
pub(super) fn update_erased_to(
    db: &Connection,
    kind: RecordKind,
    id: &str,
    version: i64,
) -> rusqlite::Result<()> {
    db.prepare_cached(
        "UPDATE tombstones SET erased_to = max(erased_to, ?3) WHERE kind = ?1 AND id = ?2",
    )?
    .execute((kind.as_str(), id, version))?;
    Ok(())
}

/// Tells whether an experience that says this, under whatever number, was deleted.
pub(super) fn is_deleted_experience(db: &Connection, fingerprint: &str) -> rusqlite::Result<bool> {
    db.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM tombstones WHERE fingerprint = ?1 AND fingerprint <> '')",
    )?
    .query_row([fingerprint], |row| row.get(0))
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
