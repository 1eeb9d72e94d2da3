//! Experiences in the store; the per-name aggregates change in the same transaction.

mod delete;

use std::rc::Rc;

use protocol::{
    ExperienceId, Timestamp,
    hub::{self, ExperienceCreated, NewExperience},
};
use rusqlite::{Connection, OptionalExtension, Row, types::Value};

use crate::access::Stamp;

use super::{
    Change, Error, IdempotentRequest, Reader, RecordKind, Store, Written,
    change::{list_changed, next_seq},
    idempotency,
    left_out::{self, LeftOut},
    resource_names,
};

/// All columns in the table's order, so that `*` is the same: to look each up by its name costs as much as to read it.
const COLUMNS: &str = "id, seq, name, url, category, task, score, outcome, tips, content_id, \
                       submitted_by, created_at, authenticated_as, on_behalf_of";

/// The one version of an experience, which never changes.
pub(crate) const ONLY_VERSION: i64 = 1;

/// A stored experience.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Experience {
    /// Its number.
    pub(crate) id: ExperienceId,
    /// The change that stored it.
    pub(crate) seq: i64,
    /// What was reported.
    pub(crate) report: NewExperience,
    /// Who reported it, as the hub knows it.
    pub(crate) stamp: Stamp,
    /// When it was stored.
    pub(crate) created_at: Timestamp,
}

impl From<Experience> for hub::Experience {
    fn from(stored: Experience) -> Self {
        let Experience { id, report, stamp, created_at, .. } = stored;
        Self {
            id,
            name: report.name,
            url: report.url,
            category: report.category,
            task: report.task,
            score: report.score,
            outcome: report.outcome,
            tips: report.tips,
            content_id: report.content_id,
            submitted_by: report.submitted_by,
            authenticated_as: stamp.authenticated_as,
            on_behalf_of: stamp.on_behalf_of,
            created_at,
        }
    }
}

impl Store {
    /// Stores an experience, unless the same request was answered before.
    pub(crate) async fn insert_experience(
        &self,
        report: NewExperience,
        stamp: Stamp,
        now: Timestamp,
        request: Option<IdempotentRequest>,
    ) -> Result<Written<ExperienceCreated>, Error> {
        self.write(move |db, changes| {
            idempotency::once(db, request.as_ref(), now, || {
                let seq = next_seq(db)?;
                let id = insert(db, None, seq, &report, &stamp, now)?;
                resource_names::count_experience(db, &report)?;
                let row = Experience { id, seq, report, stamp, created_at: now };
                changes.push(Change::Experience(Box::new(row)));
                Ok(ExperienceCreated { id })
            })
        })
        .await
    }

    /// Finds the experience with this number.
    pub(crate) async fn find_experience(
        &self,
        id: ExperienceId,
    ) -> Result<Option<Experience>, Error> {
        self.read(move |db| Ok(find(db, id)?)).await
    }
}

impl Reader<'_> {
    /// Lists the experiences with these numbers, in no particular order.
    pub(crate) fn list_experiences(&self, ids: Vec<i64>) -> Result<Vec<Experience>, Error> {
        let ids: Rc<Vec<Value>> = Rc::new(ids.into_iter().map(Value::from).collect());
        let mut statement = self
            .db
            .prepare_cached(&format!("SELECT {COLUMNS} FROM experiences WHERE id IN rarray(?1)"))?;
        Ok(self.left_out.list(&left_out::EXPERIENCES, statement.query([ids])?, read)?)
    }
}

/// Lists the experiences that changed after `seq`, in that order, at most `limit`.
pub(super) fn list_after(
    db: &Connection,
    seq: i64,
    limit: u32,
    left_out: &LeftOut,
) -> rusqlite::Result<Vec<Change>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS}, id AS row FROM experiences WHERE seq > ?1 ORDER BY seq LIMIT ?2"
    ))?;
    let rows = statement.query((seq, limit))?;
    list_changed(rows, RecordKind::Experience, &left_out::EXPERIENCES, left_out, |row| {
        Ok(Change::Experience(Box::new(read(row)?)))
    })
}

/// Lists a page of the experiences of exactly this name, newest first.
pub(super) fn list_of(
    db: &Connection,
    name: &str,
    offset: u32,
    limit: u32,
    left_out: &LeftOut,
) -> rusqlite::Result<Vec<Experience>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM experiences WHERE name = ?1 ORDER BY id DESC LIMIT ?2 OFFSET ?3"
    ))?;
    left_out.list(&left_out::EXPERIENCES, statement.query((name, limit, offset))?, read)
}

fn find(db: &Connection, id: ExperienceId) -> rusqlite::Result<Option<Experience>> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM experiences WHERE id = ?1"))?
        .query_row([id.0], read)
        .optional()
}

/// Writes a row, under this number or the next free one; the aggregate of its name is the caller's.
pub(super) fn insert(
    db: &Connection,
    id: Option<ExperienceId>,
    seq: i64,
    report: &NewExperience,
    stamp: &Stamp,
    created_at: Timestamp,
) -> rusqlite::Result<ExperienceId> {
    db.prepare_cached(
        "INSERT INTO experiences (id, seq, name, url, category, task, score, outcome, tips,
             content_id, submitted_by, authenticated_as, on_behalf_of, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?
    .execute((
        id.map(|id| id.0),
        seq,
        &report.name,
        &report.url,
        &report.category,
        &report.task,
        report.score,
        &report.outcome,
        &report.tips,
        &report.content_id,
        &report.submitted_by,
        &stamp.authenticated_as,
        &stamp.on_behalf_of,
        created_at.as_millis(),
    ))?;
    Ok(ExperienceId(db.last_insert_rowid()))
}

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Experience> {
    Ok(Experience {
        id: ExperienceId(row.get(0)?),
        seq: row.get(1)?,
        report: NewExperience {
            name: row.get(2)?,
            url: row.get(3)?,
            category: row.get(4)?,
            task: row.get(5)?,
            score: row.get(6)?,
            outcome: row.get(7)?,
            tips: row.get(8)?,
            content_id: row.get(9)?,
            submitted_by: row.get(10)?,
            on_behalf_of: None,
        },
        created_at: Timestamp::from_millis(row.get(11)?),
        stamp: Stamp { authenticated_as: row.get(12)?, on_behalf_of: row.get(13)? },
    })
}
