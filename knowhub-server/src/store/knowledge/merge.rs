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
    knowledge::{self, Author, Merging, Refusal, TextHash, submitter},
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

/// Turns a record that is about to be stored down if another says the same, for the same scopes at least; returns which.
pub(super) fn merge_into_twin(
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

/// Tells whether a record holds for everybody for whom another does.
pub(in crate::store) fn covers(target: &Knowledge, record: &Knowledge) -> bool {
    record.scopes.iter().all(|scope| target.scopes.contains(scope))
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
