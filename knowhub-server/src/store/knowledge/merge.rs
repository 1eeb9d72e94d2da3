//! Merging a record into another that says as much, and taking that back, both in one transaction.

use protocol::{
    KnowledgeId,
    hub::{Knowledge, MergeKind, MergeUndone},
};
use rusqlite::Connection;

use super::{
    KnowledgeRow,
    change::{expect, find_row, refusable, write},
    text::list_twins,
};
use crate::{
    knowledge::{
        self, Author, Merging, Refusal, TextHash, covers, is_searchable, says_the_same, submitter,
        text_hash,
    },
    store::{Change, Error, Expected, IdempotentRequest, Store, Written, idempotency, merges},
};

/// Who decides what no model is asked about.
pub(in crate::store) const HUB: &str = "hub";

impl Store {
    /// Lets a record back in that was merged into others, unless the same request was answered before.
    ///
    /// Returns its version as well. The same records are not merged again but by a person.
    pub(crate) async fn undo_merge(
        &self,
        id: KnowledgeId,
        reason: String,
        expected: Expected,
        author: Author,
        request: Option<IdempotentRequest>,
    ) -> Result<Written<(i64, MergeUndone)>, Error> {
        self.write(move |db, changes| {
            idempotency::once(db, request.as_ref(), author.now, || {
                let before = expect(db, id.as_str(), &expected)?;
                let (row, targets) = unmerge(db, changes, before, &author, &reason)?;
                Ok((row.version, MergeUndone { id, status: row.record.status, targets }))
            })
        })
        .await
    }
}

fn unmerge(
    db: &Connection,
    changes: &mut Vec<Change>,
    before: KnowledgeRow,
    author: &Author,
    reason: &str,
) -> Result<(KnowledgeRow, Vec<KnowledgeId>), Error> {
    let mut record = before.record.clone();
    let merges = merges::list_open_merges(db, &record.id)?;
    if merges.is_empty() {
        let reason = format!(
            "{} is merged into no other record, so there is nothing to take back",
            record.id
        );
        return Err(Refusal::State(reason).into());
    }
    for merge in &merges {
        // One that was deleted meanwhile has nothing to take back.
        if let Ok(row) = refusable(find_row(db, merge.target.as_str()))? {
            let mut target = row.record.clone();
            knowledge::unmerge(&mut record, &mut target, merge.kind, merge.counted_helpful);
            write(db, changes, row, target, author)?;
        }
        merges::update_undone(db, merge, author, reason)?;
    }
    knowledge::let_in(&mut record);
    let row = write(db, changes, before, record, author)?;
    Ok((row, merges.into_iter().map(|merge| merge.target).collect()))
}

impl Store {
    /// Merges a stored record into another, if both still say what they said and neither was merged with the other before.
    pub(crate) async fn merge(
        &self,
        seen: Knowledge,
        target: Knowledge,
        merging: Merging,
        author: Author,
    ) -> Result<bool, Error> {
        self.write(move |db, changes| {
            let (Some(before), Some(row)) = (find_as_seen(db, &seen)?, find_as_seen(db, &target)?)
            else {
                return Ok(false);
            };
            let mut record = before.record.clone();
            if merges::were_merged(db, &record.id, &target.id)? {
                return Ok(false);
            }
            merge_into(db, changes, &mut record, row, &merging, &author)?;
            write(db, changes, before, record, &author)?;
            Ok(true)
        })
        .await
    }

    /// Finds an older record that says the same as this one, and was not merged with it before.
    pub(crate) async fn find_older_twin(
        &self,
        row: KnowledgeRow,
    ) -> Result<Option<Knowledge>, Error> {
        self.read(move |db| {
            let hash = text_hash(&row.record.task, &row.record.content);
            for twin in list_twins(db, &hash)? {
                let is_one = twin.row < row.row
                    && is_searchable(&twin.record)
                    && covers(&twin.record, &row.record)
                    && !merges::were_merged(db, &twin.record.id, &row.record.id)?;
                if is_one {
                    return Ok(Some(twin.record));
                }
            }
            Ok(None)
        })
        .await
    }

    /// Lists the records with which a record was merged, either way, be it that it was taken back.
    pub(crate) async fn list_merged_with(
        &self,
        id: KnowledgeId,
    ) -> Result<Vec<KnowledgeId>, Error> {
        self.read(move |db| Ok(merges::list_merged_with(db, &id)?)).await
    }
}

/// Finds a record that still says what was seen of it, and that searches find.
pub(super) fn find_as_seen(
    db: &Connection,
    seen: &Knowledge,
) -> Result<Option<KnowledgeRow>, Error> {
    let Ok(row) = refusable(find_row(db, seen.id.as_str()))? else { return Ok(None) };
    Ok((says_the_same(&row.record, seen) && is_searchable(&row.record)).then_some(row))
}

/// Turns a record that is about to be stored down if others say all of it; returns the first of them.
pub(super) fn merge_new(
    db: &Connection,
    changes: &mut Vec<Change>,
    record: &mut Knowledge,
    hash: &TextHash,
    served_from: &[Knowledge],
) -> Result<Option<KnowledgeId>, Error> {
    let twin = merge_into_twin(db, changes, record, hash)?;
    if twin.is_some() || served_from.is_empty() {
        return Ok(twin);
    }
    let rows = served_from.iter().map(|seen| find_as_seen(db, seen));
    // What was taken from a record that has changed meanwhile may be the only one to say so.
    let Some(rows) = rows.collect::<Result<Option<Vec<_>>, _>>()? else { return Ok(None) };
    let merging =
        Merging { kind: MergeKind::Subset, reason: "served".to_owned(), actor: HUB.to_owned() };
    let author = Author { name: merging.actor.clone(), now: record.created_at };
    let first = rows.first().map(|row| row.record.id.clone());
    for row in rows {
        merge_into(db, changes, record, row, &merging, &author)?;
    }
    Ok(first)
}

/// Turns a record that is about to be stored down if another says the same, for the same scopes at least; returns which.
fn merge_into_twin(
    db: &Connection,
    changes: &mut Vec<Change>,
    record: &mut Knowledge,
    hash: &TextHash,
) -> Result<Option<KnowledgeId>, Error> {
    let twins = list_twins(db, hash)?.into_iter();
    let Some(twin) = twins.into_iter().find(|twin| covers(&twin.record, record)) else {
        return Ok(None);
    };
    let id = twin.record.id.clone();
    let merging = Merging {
        kind: MergeKind::Duplicate,
        reason: "the same text".to_owned(),
        actor: HUB.to_owned(),
    };
    let author = Author { name: merging.actor.clone(), now: record.created_at };
    merge_into(db, changes, record, twin, &merging, &author)?;
    Ok(Some(id))
}

/// Merges a record into another: writes the other and the note of the merge, and leaves `record` as it is to be written.
pub(in crate::store) fn merge_into(
    db: &Connection,
    changes: &mut Vec<Change>,
    record: &mut Knowledge,
    row: KnowledgeRow,
    merging: &Merging,
    author: &Author,
) -> Result<(), Error> {
    let mut target = row.record.clone();
    let submitter = submitter(&record.source);
    let counts = merging.kind == MergeKind::Duplicate
        && submitter != knowledge::submitter(&target.source)
        && !merges::is_counted(db, &target.id, &submitter)?;
    knowledge::merge(record, &mut target, merging.kind, counts, author);
    merges::insert_merge(db, &record.id, &target.id, merging, (&submitter, counts), author.now)?;
    write(db, changes, row, target, author)?;
    Ok(())
}
