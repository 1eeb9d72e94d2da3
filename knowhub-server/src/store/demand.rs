//! What was asked for and not found.

use std::sync::Arc;

use protocol::{
    Timestamp,
    hub::{Demand, DemandKind},
};
use rusqlite::{Connection, Row};

use super::{Error, Store, columns::unreadable, left_out};

/// How many entries are kept; beyond that the least wanted ones lose, among equals those longest not asked for.
pub(crate) const MAX_DEMAND: u32 = 10_000;

/// Who can be found by now, so that nobody lacks it any more.
const IS_FOUND: &str = "
    kind IN ('content', 'resource') AND EXISTS (SELECT 1 FROM resources WHERE id = wanted)
    OR kind = 'resource' AND EXISTS (SELECT 1 FROM resource_names WHERE name = wanted)";

/// What was noticed of one thing that somebody asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Noticed {
    /// What was asked for.
    pub(crate) kind: DemandKind,
    /// The query or id.
    pub(crate) wanted: String,
    /// It was found, so that earlier misses no longer count.
    pub(crate) was_found: bool,
    /// The misses since then.
    pub(crate) missed: Option<Missed>,
}

/// Some misses of one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missed {
    /// How many.
    pub(crate) count: u64,
    /// The first.
    pub(crate) first_at: Timestamp,
    /// The last.
    pub(crate) last_at: Timestamp,
}

impl Store {
    /// Adds what was noticed to what is known.
    pub(crate) async fn update_demand(&self, noticed: Vec<Noticed>) -> Result<(), Error> {
        self.write(move |db, _| {
            for one in &noticed {
                update(db, one)?;
            }
            trim(db)
        })
        .await
    }

    /// Lists what is known to be wanted.
    pub(crate) async fn list_wanted(&self) -> Result<Vec<(DemandKind, String)>, Error> {
        let left_out = Arc::clone(&self.left_out);
        self.read(move |db| {
            let mut listing = db.prepare_cached("SELECT * FROM demand")?;
            let key = |row: &Row<'_>| from_row(row).map(|row| (row.kind, row.wanted));
            Ok(left_out.list(&left_out::DEMAND, listing.query([])?, key)?)
        })
        .await
    }

    /// Lists a part of the demand, most wanted first, of one kind or all, and tells how long the whole is.
    pub(crate) async fn list_demand(
        &self,
        kind: Option<DemandKind>,
        offset: u32,
        limit: u32,
    ) -> Result<(Vec<Demand>, u64), Error> {
        let kind = kind.map(DemandKind::as_str);
        let left_out = Arc::clone(&self.left_out);
        self.read(move |db| {
            let wanted =
                format!("FROM demand WHERE (?1 IS NULL OR kind = ?1) AND NOT ({IS_FOUND})");
            let total: i64 =
                db.query_row(&format!("SELECT count(*) {wanted}"), [kind], |row| row.get(0))?;
            let mut listing = db.prepare_cached(&format!(
                "SELECT * {wanted} ORDER BY count DESC, last_at DESC, wanted LIMIT ?2 OFFSET ?3"
            ))?;
            let rows = listing.query((kind, limit, offset))?;
            Ok((left_out.list(&left_out::DEMAND, rows, from_row)?, total as u64))
        })
        .await
    }
}

fn update(db: &Connection, noticed: &Noticed) -> Result<(), Error> {
    let key = (noticed.kind.as_str(), &noticed.wanted);
    if noticed.was_found {
        db.prepare_cached("DELETE FROM demand WHERE kind = ? AND wanted = ?")?.execute(key)?;
    }
    let Some(missed) = &noticed.missed else { return Ok(()) };
    let count = i64::try_from(missed.count).unwrap_or(i64::MAX);
    db.prepare_cached(
        "INSERT INTO demand (kind, wanted, count, first_at, last_at) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET count = count + excluded.count, last_at = excluded.last_at",
    )?
    .execute((
        key.0,
        key.1,
        count,
        missed.first_at.as_millis(),
        missed.last_at.as_millis(),
    ))?;
    Ok(())
}

/// Writes an entry of which nothing is known yet.
pub(super) fn insert(db: &Connection, one: &Demand) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO demand (kind, wanted, count, first_at, last_at) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((
        one.kind.as_str(),
        &one.wanted,
        one.count.cast_signed(),
        one.first_at.as_millis(),
        one.last_at.as_millis(),
    ))?;
    Ok(())
}

/// Makes room: first what was found meanwhile goes, then the least wanted.
fn trim(db: &Connection) -> Result<(), Error> {
    let surplus = || -> rusqlite::Result<i64> {
        let count: i64 =
            db.prepare_cached("SELECT count(*) FROM demand")?.query_row([], |row| row.get(0))?;
        Ok(count - i64::from(MAX_DEMAND))
    };
    if surplus()? <= 0 {
        return Ok(());
    }
    db.execute(&format!("DELETE FROM demand WHERE {IS_FOUND}"), [])?;
    db.execute(
        "DELETE FROM demand WHERE (kind, wanted) IN
             (SELECT kind, wanted FROM demand ORDER BY count, last_at LIMIT max(0, ?))",
        [surplus()?],
    )?;
    Ok(())
}

pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Demand> {
    Ok(Demand {
        kind: row.get::<_, String>("kind")?.parse().map_err(unreadable)?,
        wanted: row.get("wanted")?,
        count: row.get::<_, i64>("count")? as u64,
        first_at: Timestamp::from_millis(row.get("first_at")?),
        last_at: Timestamp::from_millis(row.get("last_at")?),
    })
}
