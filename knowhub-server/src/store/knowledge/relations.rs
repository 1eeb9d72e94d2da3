//! Relations between two records, written on both or on neither.

use protocol::{
    KnowledgeId,
    hub::{FieldFault, Knowledge, NewRelationship, Relationship},
};
use rusqlite::Connection;

use super::{
    KnowledgeRow,
    change::{Edited, expect, find_row, refusable, update, write},
    read,
};
use crate::{
    knowledge::{self, Author, Refusal},
    store::{Error, Expected, IdempotentRequest, Store, Written, idempotency},
};

/// How many records are looked at in one transaction.
const RECORDS_AT_ONCE: u32 = 256;

impl Store {
    /// Relates a record to another and the other to it, unless the same request was answered before.
    pub(crate) async fn insert_relationship(
        &self,
        id: KnowledgeId,
        relationship: NewRelationship,
        expected: Expected,
        author: Author,
        request: Option<IdempotentRequest>,
    ) -> Result<Written<Edited>, Error> {
        self.change_both(id, relationship, expected, author, request, knowledge::relate).await
    }

    /// Ends a relation on both records.
    pub(crate) async fn delete_relationship(
        &self,
        id: KnowledgeId,
        relationship: NewRelationship,
        expected: Expected,
        author: Author,
    ) -> Result<Written<Edited>, Error> {
        self.change_both(id, relationship, expected, author, None, knowledge::part).await
    }

    /// Ends what records changed after `seq` tell of others that are not here or do not tell of it.
    ///
    /// Looks at one page of records; returns the last change that it looked at, nothing behind the last, and what it
    /// ended.
    pub(crate) async fn end_loose_relations(
        &self,
        seq: i64,
        author: Author,
    ) -> Result<(Option<i64>, Vec<(KnowledgeId, Relationship)>), Error> {
        self.write(move |db, changes| {
            let rows: Vec<KnowledgeRow> = db
                .prepare_cached(
                    "SELECT * FROM knowledge WHERE seq > ?1 AND relationships <> '[]'
                     ORDER BY seq LIMIT ?2",
                )?
                .query_map((seq, RECORDS_AT_ONCE), read)?
                .collect::<Result<_, _>>()?;
            let last = rows.last().map(|row| row.seq);
            let mut ended = Vec::new();
            for row in rows {
                let loose = loose_relations(db, &row.record)?;
                if loose.is_empty() {
                    continue;
                }
                let id = row.record.id.clone();
                update(db, changes, row, &author, |record| {
                    record.relationships.retain(|relation| !loose.contains(relation));
                    Ok(())
                })?;
                ended.extend(loose.into_iter().map(|relation| (id.clone(), relation)));
            }
            Ok((last, ended))
        })
        .await
    }

    async fn change_both(
        &self,
        id: KnowledgeId,
        relationship: NewRelationship,
        expected: Expected,
        author: Author,
        request: Option<IdempotentRequest>,
        change: impl FnOnce(&mut Knowledge, &mut Knowledge, &str) -> Result<(), Refusal>
        + Send
        + 'static,
    ) -> Result<Written<Edited>, Error> {
        let NewRelationship { kind, target } = relationship;
        self.write(move |db, changes| {
            idempotency::once(db, request.as_ref(), author.now, || {
                let before = expect(db, id.as_str(), &expected)?;
                let other = refusable(find_row(db, target.as_str()))?
                    .map_err(|unknown| of_target(&unknown))?;
                let (mut record, mut target) = (before.record.clone(), other.record.clone());
                change(&mut record, &mut target, &kind)?;
                let row = write(db, changes, before, record, &author)?;
                write(db, changes, other, target, &author)?;
                Ok(row.into())
            })
        })
        .await
    }
}

fn loose_relations(db: &Connection, record: &Knowledge) -> Result<Vec<Relationship>, Error> {
    let mut loose = Vec::new();
    for relation in &record.relationships {
        let target = refusable(find_row(db, relation.target.as_str()))?;
        if !target.is_ok_and(|row| knowledge::is_mutual(&record.id, relation, &row.record)) {
            loose.push(relation.clone());
        }
    }
    Ok(loose)
}

fn of_target(unknown: &Refusal) -> Refusal {
    Refusal::Invalid(FieldFault::new("target", unknown.to_string()))
}
