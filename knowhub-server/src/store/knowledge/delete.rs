//! Deleting knowledge records, with what others say of them.

use std::collections::BTreeSet;

use protocol::{
    KnowledgeId,
    hub::{BatchResults, KnowledgeDeleted},
};
use rusqlite::Connection;

use super::{
    KnowledgeRow,
    change::{each_once, expect, find_row, keep, refusable, update},
    pipeline,
};
use crate::{
    knowledge::{Author, Refusal, forget},
    store::{
        Change, Deletion, Error, Expected, IdempotentRequest, RecordKind, Store, Written,
        idempotency, merges,
        tombstones::{Dead, find_tombstone, insert_tombstone, note_erasure},
        tools,
        unreadable::{delete_unread, find_unread},
        versions,
    },
};

impl Store {
    /// Deletes a record; what it ever said stays readable to an admin unless `erase` is set.
    ///
    /// One that was deleted before can still be erased.
    pub(crate) async fn delete_knowledge(
        &self,
        id: KnowledgeId,
        expected: Expected,
        deletion: Deletion,
        erase: bool,
    ) -> Result<KnowledgeDeleted, Error> {
        self.write(move |db, changes| {
            let kind = RecordKind::Knowledge;
            let version = match expect(db, id.as_str(), &expected) {
                Ok(row) => {
                    let version = row.version;
                    delete(db, changes, &row, &deletion)?;
                    version
                }
                Err(unknown @ Error::Knowledge(Refusal::Unknown { .. })) => {
                    let deleted = find_tombstone(db, kind, id.as_str())?.filter(|_| erase);
                    let version = deleted.ok_or(unknown)?;
                    expected.check(None)?;
                    note_erasure(db, kind, id.as_str(), &deletion)?;
                    version
                }
                Err(failure) => {
                    let place = find_unread(db, kind, id.as_str(), erase, failure)?;
                    expected.check(Some(place.version))?;
                    delete_unread(db, changes, kind, id.as_str(), place, &deletion)?;
                    let others = find_related(db, &id)?;
                    forget_everywhere(db, changes, &id, others, &deletion.author())?;
                    place.version
                }
            };
            if erase {
                erase_all(db, &id)?;
            }
            Ok(KnowledgeDeleted { id, version, erased: erase })
        })
        .await
    }

    /// Deletes each of these records and no other, unless the same request was answered before.
    pub(crate) async fn delete_each_knowledge(
        &self,
        ids: Vec<String>,
        deletion: Deletion,
        request: Option<IdempotentRequest>,
    ) -> Result<Written<BatchResults>, Error> {
        self.write(move |db, changes| {
            idempotency::once(db, request.as_ref(), deletion.at, || {
                each_once(&ids, |id| {
                    let row = find_row(db, id)?;
                    delete(db, changes, &row, &deletion)
                })
            })
        })
        .await
    }
}

fn delete(
    db: &Connection,
    changes: &mut Vec<Change>,
    row: &KnowledgeRow,
    deletion: &Deletion,
) -> Result<(), Error> {
    let author = deletion.author();
    keep(db, row, &author)?;
    db.prepare_cached("DELETE FROM knowledge WHERE row = ?1")?.execute([row.row])?;
    let (kind, id) = (RecordKind::Knowledge, row.record.id.as_str());
    let dead = Dead { kind, id, row: row.row, version: row.version, fingerprint: "" };
    changes.push(Change::Deleted(insert_tombstone(db, dead, deletion)?));
    pipeline::forget(db, row.row)?;
    tools::follow_record(db, changes, Some(&row.record), None, &author)?;
    let others = row.record.relationships.iter().map(|one| one.target.as_str().to_owned());
    forget_everywhere(db, changes, &row.record.id, others.collect(), &author)
}

/// Finds the records that relate to one that cannot say itself which they are.
fn find_related(db: &Connection, id: &KnowledgeId) -> rusqlite::Result<BTreeSet<String>> {
    db.prepare_cached("SELECT id FROM knowledge WHERE instr(relationships, ?1)")?
        .query_map([id.as_str()], |row| row.get(0))?
        .collect()
}

/// Ends the relations that others have with a deleted record; they would lead nowhere.
fn forget_everywhere(
    db: &Connection,
    changes: &mut Vec<Change>,
    deleted: &KnowledgeId,
    others: BTreeSet<String>,
    author: &Author,
) -> Result<(), Error> {
    for other in others {
        // One that is gone itself has nothing to forget.
        if let Ok(row) = refusable(find_row(db, &other))? {
            update(db, changes, row, author, |record| {
                forget(record, deleted);
                Ok(())
            })?;
        }
    }
    Ok(())
}

/// Removes for good whatever a deleted record ever said, and what was said of it.
fn erase_all(db: &Connection, id: &KnowledgeId) -> Result<(), Error> {
    versions::erase(db, RecordKind::Knowledge, id.as_str())?;
    for statement in [
        "DELETE FROM feedback WHERE knowledge_id = ?1",
        "DELETE FROM evaluations WHERE knowledge_id = ?1",
    ] {
        db.prepare_cached(statement)?.execute([id.as_str()])?;
    }
    merges::erase(db, id)?;
    pipeline::erase(db, id)?;
    // Answers that are kept for whoever repeats a write of this record hold the record; others hold its id at most.
    Ok(idempotency::delete_answers_at(db, &format!("/api/knowledge/{id}"))?)
}
