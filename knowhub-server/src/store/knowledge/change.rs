//! Changing knowledge records: edits, decisions, and the one way in which a changed record is written.

use protocol::{
    KnowledgeId, Timestamp,
    hub::{BatchResults, Knowledge},
};
use rusqlite::{Connection, OptionalExtension, named_params};
use serde::{Deserialize, Serialize};

use super::{KnowledgeRow, read};
use crate::{
    knowledge::{Author, Refusal, TextHash, flags, item_result, text_hash},
    store::{
        Change, Error, Expected, IdempotentRequest, RecordKind, Store, Written, change::next_seq,
        columns::json, idempotency, left_out::is_unreadable, tools, versions::keep_version,
    },
};

/// A record as a change left it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Edited {
    /// Its version now.
    pub(crate) version: i64,
    /// What it says now.
    pub(crate) record: Knowledge,
}

impl Edited {
    /// Returns the version and the record.
    pub(crate) fn into_parts(self) -> (i64, Knowledge) {
        (self.version, self.record)
    }
}

impl From<KnowledgeRow> for Edited {
    fn from(row: KnowledgeRow) -> Self {
        Self { version: row.version, record: row.record }
    }
}

impl Store {
    /// Changes one record by `edit`, unless the same request was answered before.
    pub(crate) async fn update_knowledge(
        &self,
        id: KnowledgeId,
        expected: Expected,
        author: Author,
        request: Option<IdempotentRequest>,
        edit: impl FnOnce(&mut Knowledge) -> Result<(), Refusal> + Send + 'static,
    ) -> Result<Written<Edited>, Error> {
        self.write(move |db, changes| {
            idempotency::once(db, request.as_ref(), author.now, || {
                let before = expect(db, id.as_str(), &expected)?;
                Ok(update(db, changes, before, &author, edit)?.into())
            })
        })
        .await
    }

    /// Changes each of these records by `edit`; what is refused for one is told, and the others are changed.
    pub(crate) async fn update_each_knowledge(
        &self,
        ids: Vec<String>,
        author: Author,
        request: Option<IdempotentRequest>,
        edit: impl Fn(&mut Knowledge) -> Result<(), Refusal> + Send + 'static,
    ) -> Result<Written<BatchResults>, Error> {
        self.write(move |db, changes| {
            idempotency::once(db, request.as_ref(), author.now, || {
                each_once(&ids, |id| {
                    let before = find_row(db, id)?;
                    update(db, changes, before, &author, &edit)?;
                    Ok(())
                })
            })
        })
        .await
    }
}

/// Does the work for each id, in order; an id that is named again is refused there.
pub(super) fn each_once(
    ids: &[String],
    mut work: impl FnMut(&str) -> Result<(), Error>,
) -> Result<BatchResults, Error> {
    let mut results = Vec::with_capacity(ids.len());
    for (index, id) in ids.iter().enumerate() {
        let done = refusable(named_first(ids, index).and_then(&mut work))?;
        results.push(item_result(id.clone(), done));
    }
    Ok(BatchResults { results })
}

/// Returns the id at this place of a batch, unless it was named and done before.
pub(super) fn named_first(ids: &[String], index: usize) -> Result<&str, Error> {
    let id = &ids[index];
    if ids[..index].contains(id) {
        let reason = "named before in this batch, where it was done";
        return Err(Refusal::State(reason.to_owned()).into());
    }
    Ok(id)
}

/// Sets a refusal apart from a failure of the store: the one is an item's, the other everybody's.
pub(super) fn refusable<T>(done: Result<T, Error>) -> Result<Result<T, Refusal>, Error> {
    match done {
        Ok(value) => Ok(Ok(value)),
        Err(Error::Knowledge(refusal)) => Ok(Err(refusal)),
        Err(failure) => Err(failure),
    }
}

/// Finds a record that is about to be changed; one that cannot be read is refused, so that it stops no change of others.
pub(super) fn find_row(db: &Connection, id: &str) -> Result<KnowledgeRow, Error> {
    let mut statement = db.prepare_cached("SELECT * FROM knowledge WHERE id = ?1")?;
    match statement.query_row([id], read).optional() {
        Ok(Some(row)) => Ok(row),
        Ok(None) => Err(Refusal::Unknown { id: id.to_owned() }.into()),
        Err(err) if is_unreadable(&err) => Err(Refusal::Unreadable { id: id.to_owned() }.into()),
        Err(err) => Err(err.into()),
    }
}

/// Finds a record that is about to be changed, if it has the version that the caller expects.
pub(super) fn expect(
    db: &Connection,
    id: &str,
    expected: &Expected,
) -> Result<KnowledgeRow, Error> {
    let row = find_row(db, id)?;
    expected.check(Some(row.version))?;
    Ok(row)
}

/// Changes a record by `edit` and writes it.
pub(super) fn update(
    db: &Connection,
    changes: &mut Vec<Change>,
    before: KnowledgeRow,
    author: &Author,
    edit: impl FnOnce(&mut Knowledge) -> Result<(), Refusal>,
) -> Result<KnowledgeRow, Error> {
    let mut record = before.record.clone();
    edit(&mut record)?;
    write(db, changes, before, record, author)
}

/// Writes what a record says now, as its next version; one that says what it said is not written.
///
/// What it said before is kept, unless only its verdicts changed: these are counted, and have a history of their own.
pub(super) fn write(
    db: &Connection,
    changes: &mut Vec<Change>,
    before: KnowledgeRow,
    record: Knowledge,
    author: &Author,
) -> Result<KnowledgeRow, Error> {
    if record == before.record {
        return Ok(before);
    }
    let judged = Knowledge { eval: record.eval.clone(), ..before.record.clone() };
    if record != judged {
        keep(db, &before, author)?;
    }
    let old = before.record.clone();
    let row = advance(db, changes, before, record, author.now)?;
    tools::follow_record(db, changes, Some(&old), Some(&row.record), author)?;
    Ok(row)
}

/// Writes what a record says now without keeping what it said before, for changes that take away nothing.
pub(super) fn advance(
    db: &Connection,
    changes: &mut Vec<Change>,
    before: KnowledgeRow,
    mut record: Knowledge,
    now: Timestamp,
) -> Result<KnowledgeRow, Error> {
    if record == before.record {
        return Ok(before);
    }
    let is_same_text =
        (&record.task, &record.content) == (&before.record.task, &before.record.content);
    let hash = (!is_same_text).then(|| text_hash(&record.task, &record.content));
    if !is_same_text {
        record.flags = flags(&record.task, &record.content);
    }
    record.updated_at = now;
    let row =
        KnowledgeRow { row: before.row, seq: next_seq(db)?, version: before.version + 1, record };
    overwrite(db, &row, hash.as_ref())?;
    changes.push(Change::Knowledge(Box::new(row.clone())));
    Ok(row)
}

/// Keeps what a record says, before it is changed or deleted.
pub(super) fn keep(db: &Connection, row: &KnowledgeRow, author: &Author) -> rusqlite::Result<()> {
    keep_version(
        db,
        RecordKind::Knowledge,
        row.record.id.as_str(),
        row.version,
        &json(&row.record),
        author.now,
        &author.name,
    )
}

/// Writes the row; its `hash` only where the text changed.
fn overwrite(db: &Connection, row: &KnowledgeRow, hash: Option<&TextHash>) -> rusqlite::Result<()> {
    let record = &row.record;
    db.prepare_cached(
        "UPDATE knowledge SET seq = :seq, version = :version, task = :task, content = :content,
             types = :types, tags = :tags, scopes = :scopes, owner = :owner,
             resource_ids = :resource_ids, eval = :eval, status = :status,
             verified_by = :verified_by, relationships = :relationships, updated_at = :updated_at,
             text_hash = coalesce(:text_hash, text_hash)
         WHERE row = :row",
    )?
    .execute(named_params! {
        ":row": row.row,
        ":seq": row.seq,
        ":version": row.version,
        ":task": record.task,
        ":content": record.content,
        ":types": json(&record.types),
        ":tags": json(&record.tags),
        ":scopes": json(&record.scopes),
        ":owner": record.owner,
        ":resource_ids": json(&record.resource_ids),
        ":eval": json(&record.eval),
        ":status": record.status.as_str(),
        ":verified_by": record.verified_by,
        ":relationships": json(&record.relationships),
        ":updated_at": record.updated_at.as_millis(),
        ":text_hash": hash,
    })?;
    Ok(())
}
