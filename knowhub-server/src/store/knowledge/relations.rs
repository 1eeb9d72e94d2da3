//! Relations between two records, written on both or on neither.

use protocol::{
    KnowledgeId,
    hub::{FieldFault, Knowledge, NewRelationship, Relationship},
};
use rusqlite::Connection;

use super::change::{Edited, expect, find_row, refusable, update, write};
use crate::{
    knowledge::{self, Author, Refusal},
    store::{Error, Expected, IdempotentRequest, Store, Written, idempotency},
};

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

    /// Ends what these records tell of others that are not here or do not tell of it, and returns what it ended.
    ///
    /// What cannot be read may tell of it, and stays as it is.
    pub(crate) async fn end_loose_relations(
        &self,
        ids: Vec<KnowledgeId>,
        author: Author,
    ) -> Result<Vec<(KnowledgeId, Relationship)>, Error> {
        self.write(move |db, changes| {
            let mut ended = Vec::new();
            for id in ids {
                let Ok(row) = refusable(find_row(db, id.as_str()))? else { continue };
                let loose = loose_relations(db, &row.record)?;
                if loose.is_empty() {
                    continue;
                }
                update(db, changes, row, &author, |record| {
                    record.relationships.retain(|relation| !loose.contains(relation));
                    Ok(())
                })?;
                ended.extend(loose.into_iter().map(|relation| (id.clone(), relation)));
            }
            Ok(ended)
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
        let is_loose = match refusable(find_row(db, relation.target.as_str()))? {
            Ok(target) => !knowledge::is_mutual(&record.id, relation, &target.record),
            Err(refusal) => matches!(refusal, Refusal::Unknown { .. }),
        };
        if is_loose {
            loose.push(relation.clone());
        }
    }
    Ok(loose)
}

fn of_target(unknown: &Refusal) -> Refusal {
    Refusal::Invalid(FieldFault::new("target", unknown.to_string()))
}
