//! What a record said before it was changed or deleted, and the version that a change expects.

use std::sync::Arc;

use protocol::{
    ResourceId, Timestamp,
    hub::{EarlierVersion, SEALED_PREFIX},
};
use rusqlite::Connection;
use serde::de::DeserializeOwned;

use super::{
    Error, Store,
    columns::value,
    left_out,
    tombstones::{RecordKind, find_tombstone, update_erased_to},
};

/// What version a change expects its record to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Whatever is there, or nothing.
    Anything,
    /// Any version, but there must be a record.
    Stored,
    /// One of these versions.
    OneOf(Vec<i64>),
    /// That there is no record yet.
    Nothing,
}

impl Expected {
    /// Checks the version that the record has, within the transaction that is about to change it.
    pub(super) fn check(&self, current: Option<i64>) -> Result<(), Error> {
        let is_met = match (self, current) {
            (Self::Nothing, Some(current)) => return Err(Error::Exists { current }),
            (Self::Anything, _) | (Self::Stored, Some(_)) | (Self::Nothing, None) => true,
            (Self::OneOf(versions), Some(current)) => versions.contains(&current),
            (Self::Stored | Self::OneOf(_), None) => false,
        };
        if is_met { Ok(()) } else { Err(Error::OtherVersion { current }) }
    }
}

/// Keeps what a record says now, within the transaction that is about to change it.
///
/// `record` is JSON, with a sealed body as sealed.
pub(super) fn keep_version(
    db: &Connection,
    kind: RecordKind,
    id: &str,
    version: i64,
    record: &str,
    now: Timestamp,
    by: &str,
) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO versions (kind, id, version, record, replaced_at, replaced_by)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((kind.as_str(), id, version, record, now.as_millis(), by))?;
    Ok(())
}

/// Returns the version that a new record of this id gets: one more than any that was deleted had.
pub(super) fn first_free(db: &Connection, kind: RecordKind, id: &str) -> rusqlite::Result<i64> {
    db.prepare_cached(
        "SELECT 1 + max(
             coalesce((SELECT version FROM tombstones WHERE kind = ?1 AND id = ?2), 0),
             coalesce((SELECT max(version) FROM versions WHERE kind = ?1 AND id = ?2), 0))",
    )?
    .query_row((kind.as_str(), id), |row| row.get(0))
}

/// Finds the number of the newest earlier version.
pub(super) fn find_last(
    db: &Connection,
    kind: RecordKind,
    id: &str,
) -> rusqlite::Result<Option<i64>> {
    db.prepare_cached("SELECT max(version) FROM versions WHERE kind = ?1 AND id = ?2")?
        .query_row((kind.as_str(), id), |row| row.get(0))
}

/// Tells whether any earlier version of a resource has a secret, as far as it can be read.
pub(super) fn has_sealed(db: &Connection, id: &ResourceId) -> rusqlite::Result<bool> {
    db.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM versions WHERE kind = 'resource' AND id = ?1
                        AND CASE WHEN json_valid(record) THEN record ->> '$.secure_body' <> ''
                                 ELSE instr(record, ?2) END)",
    )?
    .query_row((id.as_str(), SEALED_PREFIX), |row| row.get(0))
}

/// Removes all earlier versions of a deleted record for good, and notes on its tombstone that none comes back.
pub(super) fn erase(db: &Connection, kind: RecordKind, id: &str) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM versions WHERE kind = ?1 AND id = ?2")?
        .execute((kind.as_str(), id))?;
    match find_tombstone(db, kind, id)? {
        Some(version) => update_erased_to(db, kind, id, version),
        None => Ok(()),
    }
}

/// Which earlier versions of a record are wanted.
#[derive(Clone, Debug)]
pub(crate) struct VersionFilter {
    /// What the record is.
    pub(crate) kind: RecordKind,
    /// Its id.
    pub(crate) id: String,
    /// Only this one.
    pub(crate) version: Option<i64>,
    /// Also what was deleted with the record, before it was made anew.
    pub(crate) with_deleted: bool,
}

impl Store {
    /// Lists one page of earlier versions, newest first, and counts all that match; `None` when there is no such record.
    pub(crate) async fn list_versions<T: DeserializeOwned + Send + 'static>(
        &self,
        filter: VersionFilter,
        offset: u32,
        limit: u32,
    ) -> Result<Option<(Vec<EarlierVersion<T>>, u64)>, Error> {
        const MATCHES: &str = "kind = ?1 AND id = ?2 AND (?3 IS NULL OR version = ?3) AND (?4 OR
             version > coalesce((SELECT version FROM tombstones WHERE kind = ?1 AND id = ?2), 0))";
        let left_out = Arc::clone(&self.left_out);
        self.read(move |db| {
            let snapshot = db.unchecked_transaction()?;
            let (kind, id) = (filter.kind.as_str(), filter.id.as_str());
            let bounds = (kind, id, filter.version, filter.with_deleted);
            let total: i64 = snapshot
                .prepare_cached(&format!("SELECT count(*) FROM versions WHERE {MATCHES}"))?
                .query_row(bounds, |row| row.get(0))?;
            if total == 0 && !is_alive(&snapshot, filter.kind, id)? {
                return Ok(None);
            }
            let mut statement = snapshot.prepare_cached(&format!(
                "SELECT * FROM versions WHERE {MATCHES}
                 ORDER BY version DESC LIMIT ?5 OFFSET ?6"
            ))?;
            let rows = statement.query((bounds.0, bounds.1, bounds.2, bounds.3, limit, offset))?;
            let versions = left_out.list(&left_out::VERSIONS, rows, |row| {
                Ok(EarlierVersion {
                    record: value(row, "record")?,
                    replaced_at: Timestamp::from_millis(row.get("replaced_at")?),
                    replaced_by: row.get("replaced_by")?,
                })
            })?;
            Ok(Some((versions, total.unsigned_abs())))
        })
        .await
    }
}

fn is_alive(db: &Connection, kind: RecordKind, id: &str) -> rusqlite::Result<bool> {
    let table = match kind {
        RecordKind::Experience => "experiences",
        RecordKind::Resource => "resources",
        RecordKind::Knowledge => "knowledge",
    };
    db.prepare_cached(&format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE id = ?1)"))?
        .query_row([id], |row| row.get(0))
}
