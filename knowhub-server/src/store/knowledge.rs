//! Knowledge records in the store.

mod change;
mod delete;
pub(super) mod evaluations;
pub(super) mod feedback;
mod list;
mod merge;
mod pipeline;
mod relations;
mod text;

use std::rc::Rc;

use protocol::{
    KnowledgeId, Timestamp,
    hub::{Knowledge, KnowledgeCreated},
};
use rusqlite::{Connection, OptionalExtension, Row, named_params, types::Value};

use super::{
    Change, Error, IdempotentRequest, Reader, RecordKind, Store, Written,
    change::{list_changed, next_seq},
    columns::{json, unreadable, value},
    idempotency,
    left_out::{self, LeftOut},
    tools,
};
use crate::knowledge::{Author, TextHash, flags, is_searchable, text_hash};

pub(crate) use change::Edited;
pub(crate) use feedback::{Judged, OpenFeedback};
pub(crate) use list::KnowledgeFilter;
use merge::{HUB, merge_new};
pub(crate) use pipeline::{Claim, Step, StepNote};
pub(super) use text::update_missing_hashes;

/// How often an id is drawn again when it is taken, by a deleted record too; a burst of more than some 60,000 records within a second loses.
const MAX_DRAWS: usize = 256;

/// The version of a record that is made.
const FIRST_VERSION: i64 = 1;

/// A stored record and its place in the change sequence.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KnowledgeRow {
    /// Its row, which never changes.
    pub(crate) row: i64,
    /// Its last change.
    pub(crate) seq: i64,
    /// Counted up by every change.
    pub(crate) version: i64,
    /// The record.
    pub(crate) record: Knowledge,
}

impl Store {
    /// Stores a record, unless the same request was answered before.
    ///
    /// When its id is taken, `draw` gives another.
    /// One that says what another says already, in the same words, or nothing but what `served_from` say, is stored as rejected, and the answer names the other.
    pub(crate) async fn insert_knowledge(
        &self,
        mut record: Knowledge,
        served_from: Vec<Knowledge>,
        draw: impl Fn() -> KnowledgeId + Send + 'static,
        request: Option<IdempotentRequest>,
    ) -> Result<Written<KnowledgeCreated>, Error> {
        let hash = text_hash(&record.task, &record.content);
        self.write(move |db, changes| {
            idempotency::once(db, request.as_ref(), record.created_at, || {
                record.id = free_id(db, record.id.clone(), draw)?;
                let duplicate_of = merge_new(db, changes, &mut record, &hash, &served_from)?;
                let author = Author { name: HUB.to_owned(), now: record.created_at };
                if is_searchable(&record) {
                    tools::name_tools(db, &mut record, &[])?;
                }
                let seq = next_seq(db)?;
                let row = insert(db, seq, FIRST_VERSION, &record, &hash)?;
                tools::follow_record(db, changes, None, Some(&record), &author)?;
                let created =
                    KnowledgeCreated { id: record.id.clone(), status: record.status, duplicate_of };
                changes.push(Change::Knowledge(Box::new(KnowledgeRow {
                    row,
                    seq,
                    version: FIRST_VERSION,
                    record,
                })));
                Ok(created)
            })
        })
        .await
    }

    /// Finds the record with this id.
    pub(crate) async fn find_knowledge(
        &self,
        id: KnowledgeId,
    ) -> Result<Option<KnowledgeRow>, Error> {
        self.read(move |db| {
            let mut statement = db.prepare_cached("SELECT * FROM knowledge WHERE id = ?1")?;
            Ok(statement.query_row([id.as_str()], read).optional()?)
        })
        .await
    }
}

impl Reader<'_> {
    /// Lists the records in these rows, in no particular order.
    pub(crate) fn list_knowledge(&self, rows: Vec<i64>) -> Result<Vec<KnowledgeRow>, Error> {
        let rows: Rc<Vec<Value>> = Rc::new(rows.into_iter().map(Value::from).collect());
        let mut statement =
            self.db.prepare_cached("SELECT * FROM knowledge WHERE row IN rarray(?1)")?;
        Ok(self.left_out.list(&left_out::KNOWLEDGE, statement.query([rows])?, read)?)
    }
}

/// Lists the records that changed after `seq`, in that order, at most `limit`.
pub(super) fn list_after(
    db: &Connection,
    seq: i64,
    limit: u32,
    left_out: &LeftOut,
) -> rusqlite::Result<Vec<Change>> {
    let mut statement =
        db.prepare_cached("SELECT * FROM knowledge WHERE seq > ?1 ORDER BY seq LIMIT ?2")?;
    let rows = statement.query((seq, limit))?;
    list_changed(rows, RecordKind::Knowledge, &left_out::KNOWLEDGE, left_out, |row| {
        Ok(Change::Knowledge(Box::new(read(row)?)))
    })
}

fn free_id(
    db: &Connection,
    first: KnowledgeId,
    draw: impl Fn() -> KnowledgeId,
) -> Result<KnowledgeId, Error> {
    let mut statement = db.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM knowledge WHERE id = ?1)
                 OR EXISTS (SELECT 1 FROM tombstones WHERE kind = 'knowledge' AND id = ?1)
                 OR EXISTS (SELECT 1 FROM versions WHERE kind = 'knowledge' AND id = ?1)",
    )?;
    let mut id = first;
    for _ in 0..MAX_DRAWS {
        let is_taken: bool = statement.query_row([id.as_str()], |row| row.get(0))?;
        if !is_taken {
            return Ok(id);
        }
        id = draw();
    }
    Err(Error::NoFreeId)
}

/// Writes a new row and returns its number: the one it had before, where a record of this id was deleted.
pub(super) fn insert(
    db: &Connection,
    seq: i64,
    version: i64,
    record: &Knowledge,
    hash: &TextHash,
) -> rusqlite::Result<i64> {
    db.prepare_cached(
        "INSERT INTO knowledge (row, seq, version, id, task, content, types, tags, scopes, owner,
             resource_ids, source, eval, status, verified_by, relationships, message_id,
             created_at, updated_at, text_hash)
         VALUES ((SELECT row FROM tombstones WHERE kind = 'knowledge' AND id = :id AND row > 0),
             :seq, :version, :id, :task, :content, :types, :tags, :scopes, :owner, :resource_ids,
             :source, :eval, :status, :verified_by, :relationships, :message_id, :created_at,
             :updated_at, :text_hash)",
    )?
    .execute(named_params! {
        ":seq": seq,
        ":version": version,
        ":id": record.id.as_str(),
        ":task": record.task,
        ":content": record.content,
        ":types": json(&record.types),
        ":tags": json(&record.tags),
        ":scopes": json(&record.scopes),
        ":owner": record.owner,
        ":resource_ids": json(&record.resource_ids),
        ":source": json(&record.source),
        ":eval": json(&record.eval),
        ":status": record.status.as_str(),
        ":verified_by": record.verified_by,
        ":relationships": json(&record.relationships),
        ":message_id": record.message_id,
        ":created_at": record.created_at.as_millis(),
        ":updated_at": record.updated_at.as_millis(),
        ":text_hash": hash,
    })?;
    Ok(db.last_insert_rowid())
}

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<KnowledgeRow> {
    let (task, content): (String, String) = (row.get("task")?, row.get("content")?);
    Ok(KnowledgeRow {
        row: row.get("row")?,
        seq: row.get("seq")?,
        version: row.get("version")?,
        record: Knowledge {
            id: row.get::<_, String>("id")?.try_into().map_err(unreadable)?,
            flags: flags(&task, &content),
            task,
            content,
            types: value(row, "types")?,
            tags: value(row, "tags")?,
            scopes: value(row, "scopes")?,
            owner: row.get("owner")?,
            resource_ids: value(row, "resource_ids")?,
            source: value(row, "source")?,
            eval: value(row, "eval")?,
            status: row.get::<_, String>("status")?.parse().map_err(unreadable)?,
            verified_by: row.get("verified_by")?,
            relationships: value(row, "relationships")?,
            message_id: row.get("message_id")?,
            created_at: Timestamp::from_millis(row.get("created_at")?),
            updated_at: Timestamp::from_millis(row.get("updated_at")?),
        },
    })
}

#[cfg(test)]
mod tests {
    use protocol::hub::{KnowledgeFeedback, KnowledgeStatus, NewKnowledge};

    use super::*;
    use crate::{
        access::Stamp,
        knowledge::new_record,
        metrics::CommitMetrics,
        store::{Deletion, Expected},
    };

    #[tokio::test]
    async fn the_id_of_a_deleted_record_is_not_given_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub.db");
        let store = Store::open(&path, CommitMetrics::default(), |_| {}).unwrap();
        let now = Timestamp::from_millis(0);
        let id = move |number| KnowledgeId::new(now, number);
        let record = || {
            let (stamp, status) = (Stamp::default(), KnowledgeStatus::Approved);
            new_record(NewKnowledge::default(), stamp, id(1), status, now)
        };
        let deletion = || Deletion { by: "me".into(), reason: String::new(), at: now };
        for (number, erase) in [(1, false), (2, true), (3, false)] {
            let made = store
                .insert_knowledge(record(), Vec::new(), move || id(number), None)
                .await
                .unwrap();
            assert_eq!(made.answer.id, id(number));
            let gone = store.delete_knowledge(id(number), Expected::Stored, deletion(), erase);
            gone.await.unwrap();
        }
        store.close().await;
    }

    #[tokio::test]
    async fn the_same_feedback_of_one_moment_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub.db");
        let store = Store::open(&path, CommitMetrics::default(), |_| {}).unwrap();
        let now = Timestamp::from_millis(0);
        let id = KnowledgeId::new(now, 1);
        let (stamp, status) = (Stamp::default(), KnowledgeStatus::Approved);
        let record = new_record(NewKnowledge::default(), stamp, id.clone(), status, now);
        store
            .insert_knowledge(record, Vec::new(), || unreachable!("the id is free"), None)
            .await
            .unwrap();
        for (text, at) in [("a", 0), ("a", 0), ("b", 0), ("a", 1)] {
            let author = Author { name: "me".into(), now: Timestamp::from_millis(at) };
            let evolve_feedback = Some(text.to_owned());
            let feedback = KnowledgeFeedback { evolve_feedback, ..KnowledgeFeedback::default() };
            let expected = Expected::Anything;
            store
                .insert_feedback(id.clone(), feedback, expected, author, String::new(), None)
                .await
                .unwrap();
        }
        assert_eq!(store.list_feedback(id, 0, 10).await.unwrap().1, 3);
        store.close().await;
    }
}
