//! Which record was turned down for the sake of which other.

use protocol::{
    KnowledgeId, Timestamp,
    hub::{Merge, MergeKind},
};
use rusqlite::{Connection, Row};

use super::columns::unreadable;
use crate::knowledge::{Author, Merging};

/// A merge that was not taken back.
#[derive(Clone, Debug)]
pub(super) struct OpenMerge {
    id: i64,
    pub(super) kind: MergeKind,
    pub(super) target: KnowledgeId,
    pub(super) counted_helpful: bool,
}

/// Notes a merge within its transaction.
pub(super) fn insert_merge(
    db: &Connection,
    record: &KnowledgeId,
    target: &KnowledgeId,
    merging: &Merging,
    (submitter, counted_helpful): (&str, bool),
    at: Timestamp,
) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO merges (kind, record, target, reason, actor, submitter, counted_helpful, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute((
        merging.kind.as_str(),
        record.as_str(),
        target.as_str(),
        &merging.reason,
        &merging.actor,
        submitter,
        counted_helpful,
        at.as_millis(),
    ))?;
    Ok(())
}

/// Tells whether this submitter's word for a record is counted already.
pub(super) fn is_counted(
    db: &Connection,
    target: &KnowledgeId,
    submitter: &str,
) -> rusqlite::Result<bool> {
    db.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM merges WHERE target = ?1 AND submitter = ?2
                        AND counted_helpful AND undone_at IS NULL)",
    )?
    .query_row((target.as_str(), submitter), |row| row.get(0))
}

/// Tells whether two records were merged before, either into the other, be it that it was taken back.
pub(super) fn were_merged(
    db: &Connection,
    one: &KnowledgeId,
    other: &KnowledgeId,
) -> rusqlite::Result<bool> {
    db.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM merges WHERE record = ?1 AND target = ?2)
             OR EXISTS (SELECT 1 FROM merges WHERE record = ?2 AND target = ?1)",
    )?
    .query_row((one.as_str(), other.as_str()), |row| row.get(0))
}

/// Lists the records with which one was merged, either into the other.
pub(super) fn list_merged_with(
    db: &Connection,
    id: &KnowledgeId,
) -> rusqlite::Result<Vec<KnowledgeId>> {
    db.prepare_cached(
        "SELECT target FROM merges WHERE record = ?1 UNION SELECT record FROM merges WHERE target = ?1",
    )?
    .query_map([id.as_str()], |row| row.get::<_, String>(0)?.try_into().map_err(unreadable))?
    .collect()
}

/// Finds the merges of a record that were not taken back, newest first.
pub(super) fn list_open_merges(
    db: &Connection,
    record: &KnowledgeId,
) -> rusqlite::Result<Vec<OpenMerge>> {
    db.prepare_cached(
        "SELECT id, kind, target, counted_helpful FROM merges
         WHERE record = ?1 AND undone_at IS NULL ORDER BY id DESC",
    )?
    .query_map([record.as_str()], |row| {
        Ok(OpenMerge {
            id: row.get("id")?,
            kind: row.get::<_, String>("kind")?.parse().map_err(unreadable)?,
            target: row.get::<_, String>("target")?.try_into().map_err(unreadable)?,
            counted_helpful: row.get("counted_helpful")?,
        })
    })?
    .collect()
}

/// Notes that a merge was taken back.
pub(super) fn update_undone(
    db: &Connection,
    merge: &OpenMerge,
    author: &Author,
    reason: &str,
) -> rusqlite::Result<()> {
    db.prepare_cached(
        "UPDATE merges SET undone_at = ?2, undone_by = ?3, undone_reason = ?4 WHERE id = ?1",
    )?
    .execute((merge.id, author.now.as_millis(), &author.name, reason))?;
    Ok(())
}

/// Lists all merges of a record, newest first.
pub(super) fn list_merges(db: &Connection, record: &KnowledgeId) -> rusqlite::Result<Vec<Merge>> {
    db.prepare_cached(
        "SELECT *, NOT EXISTS (SELECT 1 FROM knowledge WHERE knowledge.id = merges.target) AS target_deleted
         FROM merges WHERE record = ?1 ORDER BY merges.id DESC",
    )?
        .query_map([record.as_str()], read)?
        .collect()
}

/// Removes the merges of an erased record, and what those into it say of its text.
pub(super) fn erase(db: &Connection, id: &KnowledgeId) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM merges WHERE record = ?1")?.execute([id.as_str()])?;
    db.prepare_cached("UPDATE merges SET reason = '' WHERE target = ?1")?.execute([id.as_str()])?;
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<Merge> {
    Ok(Merge {
        kind: row.get::<_, String>("kind")?.parse().map_err(unreadable)?,
        target: row.get::<_, String>("target")?.try_into().map_err(unreadable)?,
        reason: row.get("reason")?,
        by: row.get("actor")?,
        at: Timestamp::from_millis(row.get("at")?),
        counted_helpful: row.get("counted_helpful")?,
        target_deleted: row.get("target_deleted")?,
        undone_at: row.get::<_, Option<i64>>("undone_at")?.map(Timestamp::from_millis),
        undone_by: row.get("undone_by")?,
        undone_reason: row.get("undone_reason")?,
    })
}
