//! Embeddings of knowledge in the store, each for what its record says now.
//!
//! Triggers delete a vector together with the text that it was made of, so that a stored vector is always true.

use std::{collections::HashMap, rc::Rc};

use half::f16;
use rusqlite::{Connection, OptionalExtension, Row, named_params, types::Value};

use super::{Error, Reader, Store};

/// How many vectors are deleted in one transaction, so that other writes get their turn.
const DELETED_AT_ONCE: u32 = 1_000;

/// A set of vectors that can be compared with each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SpaceRow {
    /// Its number here.
    pub(crate) space: i64,
    /// The model, and what else decides which vector a text gets.
    pub(crate) name: String,
    /// How many numbers a vector has.
    pub(crate) dimension: u32,
    /// Records up to this change have their vector.
    pub(crate) mark: i64,
    /// All records had their vector at some time; since then only fresh ones lack it.
    pub(crate) is_complete: bool,
}

/// What an embedding model made of a record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredVector {
    /// Of unit length; empty when the model refuses the text.
    pub(crate) vector: Vec<f16>,
    /// Only the beginning of the text was embedded.
    pub(crate) is_cut: bool,
}

/// A vector for a record, if that still says what was embedded.
#[derive(Clone, Debug)]
pub(crate) struct NewVector {
    /// The record's row.
    pub(crate) row: i64,
    /// What the record said.
    pub(crate) task: String,
    /// The same.
    pub(crate) content: String,
    /// What the model made of it.
    pub(crate) vector: StoredVector,
}

/// How many records have a vector in a space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VectorCounts {
    /// All records.
    pub(crate) records: u32,
    /// Those with a vector.
    pub(crate) embedded: u32,
    /// Of these, those whose text was longer than the model takes.
    pub(crate) cut: u32,
    /// Those whose text the model refuses.
    pub(crate) refused: u32,
}

impl Store {
    /// Finds the space of this name; of several, which differ in dimension, the newest.
    pub(crate) async fn find_space(&self, name: String) -> Result<Option<SpaceRow>, Error> {
        self.read(move |db| {
            let sql = "SELECT * FROM embedding_spaces WHERE name = ?1 ORDER BY space DESC LIMIT 1";
            Ok(db.prepare_cached(sql)?.query_row([name], read_space).optional()?)
        })
        .await
    }

    /// Makes a space, or finds it anew as the newest of its name.
    pub(crate) async fn insert_space(
        &self,
        name: String,
        dimension: u32,
    ) -> Result<SpaceRow, Error> {
        // A model that came back to an earlier dimension begins again, so that the newest is the one in use.
        if let Some(earlier) = self.forget_space(name.clone(), dimension).await? {
            while self.delete_some("space = ?1", earlier).await? > 0 {}
        }
        self.write(move |db, _| {
            db.prepare_cached("DELETE FROM embedding_spaces WHERE name = ?1 AND dimension = ?2")?
                .execute((&name, dimension))?;
            let sql = "INSERT INTO embedding_spaces (name, dimension, mark, is_complete)
                       VALUES (?1, ?2, 0, 0) RETURNING *";
            Ok(db.prepare_cached(sql)?.query_row((&name, dimension), read_space)?)
        })
        .await
    }

    /// Notes of a space that no record has its vector, before that is so; returns its number if there is one.
    async fn forget_space(&self, name: String, dimension: u32) -> Result<Option<i64>, Error> {
        self.write(move |db, _| {
            let sql = "UPDATE embedding_spaces SET mark = 0, is_complete = 0
                       WHERE name = ?1 AND dimension = ?2 RETURNING space";
            Ok(db
                .prepare_cached(sql)?
                .query_row((&name, dimension), |row| row.get(0))
                .optional()?)
        })
        .await
    }

    /// Finds the vectors that these rows have in a space.
    pub(crate) async fn find_vectors(
        &self,
        space: i64,
        rows: Vec<i64>,
    ) -> Result<HashMap<i64, StoredVector>, Error> {
        self.read(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT row, vector, is_cut FROM vectors WHERE space = ?1 AND row IN rarray(?2)",
            )?;
            let read = |row: &Row<'_>| Ok((row.get(0)?, read_vector(row)?));
            Ok(statement.query_map((space, array(rows)), read)?.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Stores vectors of a space, and that all records up to change `mark` have theirs.
    ///
    /// A record that no longer says what was embedded is passed over: its change has a greater number.
    pub(crate) async fn insert_vectors(
        &self,
        space: i64,
        vectors: Vec<NewVector>,
        mark: i64,
        is_complete: bool,
    ) -> Result<(), Error> {
        self.write(move |db, _| {
            for new in &vectors {
                insert(db, space, new)?;
            }
            let sql = "UPDATE embedding_spaces SET mark = max(mark, ?2), is_complete = max(is_complete, ?3)
                       WHERE space = ?1";
            db.prepare_cached(sql)?.execute((space, mark, is_complete))?;
            Ok(())
        })
        .await
    }

    /// Deletes a thousand vectors of other spaces, and those spaces once nothing is left of them; returns how many.
    ///
    /// Costs one short read where there is no other space.
    pub(crate) async fn delete_other_vectors(&self, space: i64) -> Result<usize, Error> {
        let has_others = self.read(move |db| {
            let sql = "SELECT EXISTS (SELECT 1 FROM embedding_spaces WHERE space <> ?1)";
            Ok(db.prepare_cached(sql)?.query_row([space], |row| row.get(0))?)
        });
        if !has_others.await? {
            return Ok(0);
        }
        let deleted = self.delete_some("space <> ?1", space).await?;
        if deleted == 0 {
            self.write(move |db, _| {
                db.execute("DELETE FROM embedding_spaces WHERE space <> ?1", [space])?;
                Ok(())
            })
            .await?;
        }
        Ok(deleted)
    }

    /// Deletes up to [`DELETED_AT_ONCE`] vectors for which `condition` on this space holds; returns how many were found.
    ///
    /// They are sought in a read, since that looks at all vectors where there are few.
    async fn delete_some(&self, condition: &'static str, space: i64) -> Result<usize, Error> {
        let found: Vec<i64> = self
            .read(move |db| {
                let sql = format!("SELECT id FROM vectors WHERE {condition} LIMIT ?2");
                let mut statement = db.prepare_cached(&sql)?;
                let ids = statement.query_map((space, DELETED_AT_ONCE), |row| row.get(0))?;
                Ok(ids.collect::<Result<_, _>>()?)
            })
            .await?;
        let count = found.len();
        if count > 0 {
            self.write(move |db, _| {
                // By the condition too: an id may be another vector's by now.
                let sql = format!("DELETE FROM vectors WHERE {condition} AND id = ?2");
                let mut statement = db.prepare_cached(&sql)?;
                for id in found {
                    statement.execute((space, id))?;
                }
                Ok(())
            })
            .await?;
        }
        Ok(count)
    }

    /// Counts the records, and those that have a vector in a space; takes tens of milliseconds per million.
    pub(crate) async fn count_vectors(&self, space: Option<i64>) -> Result<VectorCounts, Error> {
        self.read(move |db| {
            let records = db.query_row("SELECT count(*) FROM knowledge", [], |row| row.get(0))?;
            let sql = "SELECT count(*) FILTER (WHERE length(vector) > 0),
                           count(*) FILTER (WHERE is_cut),
                           count(*) FILTER (WHERE length(vector) = 0)
                       FROM vectors WHERE space = ?1";
            let count = |row: &Row<'_>| {
                let (embedded, cut, refused) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(VectorCounts { records, embedded, cut, refused })
            };
            Ok(db.prepare_cached(sql)?.query_row([space], count)?)
        })
        .await
    }

    /// Counts the records that changed after `mark`; takes tens of milliseconds per million of them.
    pub(crate) async fn count_changed_knowledge(&self, mark: i64) -> Result<u32, Error> {
        self.read(move |db| {
            let sql = "SELECT count(*) FROM knowledge WHERE seq > ?1";
            Ok(db.prepare_cached(sql)?.query_row([mark], |row| row.get(0))?)
        })
        .await
    }
}

impl Reader<'_> {
    /// Returns of these rows those whose record has a vector in the space, so that what an index knows of it is true.
    pub(crate) fn list_embedded(&self, space: i64, rows: Vec<i64>) -> Result<Vec<i64>, Error> {
        let mut statement = self
            .db
            .prepare_cached("SELECT row FROM vectors WHERE space = ?1 AND row IN rarray(?2)")?;
        Ok(statement
            .query_map((space, array(rows)), |row| row.get(0))?
            .collect::<Result<_, _>>()?)
    }
}

fn insert(db: &Connection, space: i64, new: &NewVector) -> rusqlite::Result<()> {
    let bytes: Vec<u8> = new.vector.vector.iter().flat_map(|one| one.to_le_bytes()).collect();
    db.prepare_cached(
        "INSERT OR REPLACE INTO vectors (row, space, vector, is_cut)
         SELECT row, :space, :vector, :is_cut FROM knowledge
         WHERE row = :row AND task = :task AND content = :content",
    )?
    .execute(named_params! {
        ":row": new.row,
        ":space": space,
        ":vector": bytes,
        ":is_cut": new.vector.is_cut,
        ":task": new.task,
        ":content": new.content,
    })?;
    Ok(())
}

fn read_space(row: &Row<'_>) -> rusqlite::Result<SpaceRow> {
    Ok(SpaceRow {
        space: row.get("space")?,
        name: row.get("name")?,
        dimension: row.get("dimension")?,
        mark: row.get("mark")?,
        is_complete: row.get("is_complete")?,
    })
}

fn read_vector(row: &Row<'_>) -> rusqlite::Result<StoredVector> {
    let bytes = row.get_ref("vector")?.as_blob()?;
    let vector = bytes.chunks_exact(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]]));
    Ok(StoredVector { vector: vector.collect(), is_cut: row.get("is_cut")? })
}

fn array(rows: Vec<i64>) -> Rc<Vec<Value>> {
    Rc::new(rows.into_iter().map(Value::from).collect())
}

#[cfg(test)]
mod tests {
    use protocol::{
        KnowledgeId, Timestamp,
        hub::{KnowledgePatch, KnowledgeStatus, NewKnowledge},
    };

    use super::*;
    use crate::{
        access::Stamp,
        knowledge::{Author, new_record, patch},
        metrics::CommitMetrics,
        store::{Deletion, Expected},
    };

    fn now() -> Timestamp {
        Timestamp::from_millis(0)
    }

    fn id() -> KnowledgeId {
        KnowledgeId::new(now(), 1)
    }

    async fn store_with_a_record(folder: &tempfile::TempDir) -> Store {
        let path = folder.path().join("hub.db");
        let store = Store::open(&path, CommitMetrics::default(), |_| {}).unwrap();
        let report = NewKnowledge { task: "a".into(), content: "b".into(), ..Default::default() };
        let record = new_record(report, Stamp::default(), id(), KnowledgeStatus::Approved, now());
        store
            .insert_knowledge(record, Vec::new(), || unreachable!("the id is free"), None)
            .await
            .unwrap();
        store
    }

    fn vector(number: f32) -> StoredVector {
        StoredVector { vector: vec![f16::from_f32(number), f16::ONE], is_cut: false }
    }

    fn new(content: &str) -> NewVector {
        NewVector { row: 1, task: "a".into(), content: content.into(), vector: vector(0.25) }
    }

    #[tokio::test]
    async fn a_vector_is_there_as_long_as_its_text() {
        let folder = tempfile::tempdir().unwrap();
        let store = store_with_a_record(&folder).await;
        let space = store.insert_space("model".into(), 2).await.unwrap();
        assert_eq!((space.mark, space.is_complete), (0, false));
        let vectors = async || store.find_vectors(space.space, vec![1, 2]).await.unwrap();
        let edit = async |edit: KnowledgePatch| {
            let author = Author { name: "me".into(), now: now() };
            let done =
                store.update_knowledge(id(), Expected::Anything, author, None, move |record| {
                    patch(record, edit);
                    Ok(())
                });
            done.await.unwrap();
        };

        store.insert_vectors(space.space, vec![new("b")], 1, true).await.unwrap();
        assert_eq!(vectors().await, HashMap::from([(1, vector(0.25))]));
        let found = store.find_space("model".into()).await.unwrap();
        assert_eq!(found, Some(SpaceRow { mark: 1, is_complete: true, ..space.clone() }));

        edit(KnowledgePatch { owner: Some("me".into()), ..Default::default() }).await;
        assert_eq!(vectors().await.len(), 1, "the text is what it was");
        edit(KnowledgePatch { content: Some("c".into()), ..Default::default() }).await;
        assert_eq!(vectors().await.len(), 0);
        store.insert_vectors(space.space, vec![new("b")], 0, false).await.unwrap();
        assert_eq!(vectors().await.len(), 0, "that is no longer its text");
        let found = store.find_space("model".into()).await.unwrap().unwrap();
        assert_eq!((found.mark, found.is_complete), (1, true), "a mark never goes back");

        store.insert_vectors(space.space, vec![new("c")], 2, true).await.unwrap();
        assert_eq!(vectors().await.len(), 1);
        let deletion = Deletion { by: "me".into(), reason: String::new(), at: now() };
        store.delete_knowledge(id(), Expected::Stored, deletion, false).await.unwrap();
        assert_eq!(vectors().await.len(), 0);
        store.close().await;
    }

    #[tokio::test]
    async fn the_newest_space_of_a_name_is_the_one_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let store = store_with_a_record(&folder).await;
        let find = async || store.find_space("model".into()).await.unwrap();
        assert_eq!(find().await, None);
        for dimension in [2, 3, 2] {
            let made = store.insert_space("model".into(), dimension).await.unwrap();
            assert_eq!(find().await, Some(made.clone()));
            let none = store.count_vectors(Some(made.space)).await.unwrap();
            assert_eq!(none, VectorCounts { records: 1, ..VectorCounts::default() });
            store.insert_vectors(made.space, vec![new("b")], 1, true).await.unwrap();
        }
        let current = find().await.unwrap();
        assert_eq!(store.count_vectors(Some(current.space)).await.unwrap().embedded, 1);
        assert_eq!(store.delete_other_vectors(current.space).await.unwrap(), 1);
        assert_eq!(store.delete_other_vectors(current.space).await.unwrap(), 0);
        assert_eq!(find().await, Some(current));
        store.close().await;
    }
}
