//! What a record said before it was changed or deleted.

use protocol::Timestamp;
use rusqlite::Connection;

use super::tombstones::RecordKind;

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
