//! Listing knowledge records by what they are labeled with.

use std::sync::Arc;

use protocol::hub::{Knowledge, KnowledgeStatus};
use rusqlite::{Connection, named_params};

use super::{KnowledgeRow, read};
use crate::store::{
    Error, Store,
    columns::json,
    left_out::{self, LeftOut},
};

/// Which records a list holds; an empty list in here asks for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KnowledgeFilter {
    /// Types that a record must all have.
    pub(crate) types: Vec<String>,
    /// Tags that a record must all have.
    pub(crate) tags: Vec<(String, String)>,
    /// Scopes of which a record must have one.
    pub(crate) scopes: Vec<String>,
    /// Owners of which a record must have one.
    pub(crate) owners: Vec<String>,
    /// Statuses of which a record must have one.
    pub(crate) statuses: Vec<KnowledgeStatus>,
}

/// The condition of a filter; each parameter is a JSON list.
const WHERE: &str = "
    WHERE (:statuses = '[]' OR status IN (SELECT value FROM json_each(:statuses)))
      AND (:owners = '[]' OR owner IN (SELECT value FROM json_each(:owners)))
      AND (:scopes = '[]' OR EXISTS (
          SELECT 1 FROM json_each(scopes) WHERE value IN (SELECT value FROM json_each(:scopes))))
      AND NOT EXISTS (
          SELECT 1 FROM json_each(:types) WHERE value NOT IN (SELECT value FROM json_each(types)))
      AND NOT EXISTS (
          SELECT 1 FROM json_each(:tags) AS wanted WHERE NOT EXISTS (
              SELECT 1 FROM json_each(tags) AS tag
              WHERE tag.key = wanted.value ->> 0 AND tag.value = wanted.value ->> 1))";

impl Store {
    /// Lists the records that pass the filter, newest first, `limit` of them behind the first `offset`, and counts all.
    pub(crate) async fn list_filtered_knowledge(
        &self,
        filter: KnowledgeFilter,
        offset: u32,
        limit: u32,
    ) -> Result<(Vec<Knowledge>, u64), Error> {
        let left_out = Arc::clone(&self.left_out);
        self.read(move |db| {
            // One transaction, so that the count is that of the list.
            let tx = db.unchecked_transaction()?;
            let listed = (list(&tx, &filter, offset, limit, &left_out)?, count(&tx, &filter)?);
            tx.commit()?;
            Ok(listed)
        })
        .await
    }
}

impl Store {
    /// Lists approved records behind a row, oldest first, those of these scopes alone where any are named; at most `limit`.
    pub(crate) async fn list_approved_after(
        &self,
        row: i64,
        scopes: Vec<String>,
        limit: u32,
    ) -> Result<Vec<KnowledgeRow>, Error> {
        let left_out = Arc::clone(&self.left_out);
        self.read(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT * FROM knowledge WHERE status = 'approved' AND row > ?1
                   AND (?2 = '[]' OR EXISTS (SELECT 1 FROM json_each(scopes)
                                             WHERE value IN (SELECT value FROM json_each(?2))))
                 ORDER BY row LIMIT ?3",
            )?;
            let rows = statement.query((row, json(&scopes), limit))?;
            Ok(left_out.list(&left_out::KNOWLEDGE, rows, read)?)
        })
        .await
    }
}

fn list(
    db: &Connection,
    filter: &KnowledgeFilter,
    offset: u32,
    limit: u32,
    left_out: &LeftOut,
) -> rusqlite::Result<Vec<Knowledge>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT * FROM knowledge {WHERE} ORDER BY row DESC LIMIT :limit OFFSET :offset"
    ))?;
    let rows = statement.query(named_params! {
            ":statuses": json(&filter.statuses),
            ":owners": json(&filter.owners),
            ":scopes": json(&filter.scopes),
            ":types": json(&filter.types),
            ":tags": json(&filter.tags),
            ":limit": limit,
            ":offset": offset,
    })?;
    left_out.list(&left_out::KNOWLEDGE, rows, |row| Ok(read(row)?.record))
}

fn count(db: &Connection, filter: &KnowledgeFilter) -> rusqlite::Result<u64> {
    db.prepare_cached(&format!("SELECT count(*) FROM knowledge {WHERE}"))?.query_row(
        named_params! {
            ":statuses": json(&filter.statuses),
            ":owners": json(&filter.owners),
            ":scopes": json(&filter.scopes),
            ":types": json(&filter.types),
            ":tags": json(&filter.tags),
        },
        |row| row.get::<_, u32>(0).map(u64::from),
    )
}
