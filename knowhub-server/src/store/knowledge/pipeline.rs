//! The queue of records that are processed: claimed with a lease, settled together with their status.
//!
//! A record waits because of its status alone, so that none is forgotten; the table `pipeline` tells the rest.

use protocol::{
    KnowledgeId, ResourceId, Timestamp,
    hub::{Knowledge, KnowledgeStatus, Processing},
};
use rusqlite::{Connection, OptionalExtension, Row};

use super::{
    KnowledgeRow,
    change::{advance, find_row, refusable, write},
    merge::{find_as_seen, merge_into},
};
use crate::{
    knowledge::{self, Author, Merging, is_searchable, says_the_same},
    store::{Change, Error, Store, columns::unreadable, merges, tools},
};

/// The statuses of records that wait for a step or are in one.
const IN_PROCESS: &str = "('pending', 'processing', 'dedup_passed', 'analyzing')";

/// How long one that cannot be read is passed over, in milliseconds.
const UNREADABLE_MILLIS: i64 = 3_600_000;

/// A record that one worker works on until its lease ends.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    /// The record, as it was claimed.
    pub(crate) row: KnowledgeRow,
    /// How often the model was asked in vain in this stage.
    pub(crate) attempts: u32,
    /// Since when it waits: since its report, however late it is claimed.
    pub(crate) queued_at: Timestamp,
    owner: String,
}

/// What a step found out.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// The record says no more than this one, as it is.
    Merged(Box<Knowledge>, Merging),
    /// It stays, with these relations to others.
    Distinct(Vec<(&'static str, KnowledgeId)>),
    /// It speaks of these tools; whatever the rules find is linked as well.
    Linked(Vec<ResourceId>),
}

/// What is told of a step beside its outcome.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepNote {
    /// What went wrong or was passed over; empty when nothing did.
    pub(crate) error: String,
    /// What the model said where it could not be used.
    pub(crate) reply: String,
    /// Whether the step came to its end as it should.
    pub(crate) judged: bool,
}

/// How many records wait in each status, and since when the first does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueLoad {
    /// By status.
    pub(crate) waiting: Vec<(KnowledgeStatus, i64)>,
    /// Since when the oldest waits; absent where none does.
    pub(crate) oldest: Option<Timestamp>,
}

impl Store {
    /// Lists the rows of records that can be claimed now, oldest first.
    pub(crate) async fn list_waiting(&self, now: Timestamp, limit: u32) -> Result<Vec<i64>, Error> {
        self.read(move |db| {
            let mut statement = db.prepare_cached(&format!(
                "SELECT knowledge.row FROM knowledge LEFT JOIN pipeline USING (row)
                 WHERE status IN {IN_PROCESS} AND coalesce(not_before, 0) <= ?1
                   AND coalesce(lease_until, 0) <= ?1
                 ORDER BY knowledge.row LIMIT ?2"
            ))?;
            let rows = statement.query_map((now.as_millis(), limit), |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Claims those of these rows that nobody else has; what cannot be read is passed over for an hour.
    pub(crate) async fn claim(
        &self,
        rows: Vec<i64>,
        owner: String,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<Claim>, Error> {
        self.write(move |db, changes| {
            let mut claims = Vec::new();
            for row in rows {
                claims.extend(claim(db, changes, row, &owner, now, until)?);
            }
            Ok(claims)
        })
        .await
    }

    /// Writes what a step found out together with the next status; tells whether it was written.
    ///
    /// It is not where the record's text, the other record's or the lease is another by now: the step is done anew.
    pub(crate) async fn settle(
        &self,
        claim: Claim,
        step: Step,
        note: StepNote,
        author: Author,
    ) -> Result<bool, Error> {
        self.write(move |db, changes| {
            let Some(before) = find_claimed(db, &claim)? else { return Ok(false) };
            let settled = settle(db, changes, &before, &step, &author)?;
            match &settled {
                Some(row) => note_settled(db, row, &note, author.now)?,
                None => release(db, claim.row.row)?,
            }
            Ok(settled.is_some())
        })
        .await
    }

    /// Gives a claim back, to be taken up again not before a time, with so many attempts in vain by now.
    pub(crate) async fn put_off(
        &self,
        claim: Claim,
        attempts: u32,
        note: StepNote,
        not_before: Timestamp,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.write(move |db, _| {
            db.prepare_cached(
                "UPDATE pipeline SET attempts = ?7, not_before = ?3, lease_owner = '',
                     lease_until = 0, last_error = ?4, last_reply = ?5, updated_at = ?6
                 WHERE row = ?1 AND lease_owner = ?2",
            )?
            .execute((
                claim.row.row,
                &claim.owner,
                not_before.as_millis(),
                &note.error,
                &note.reply,
                now.as_millis(),
                attempts,
            ))?;
            Ok(())
        })
        .await
    }

    /// Ends all leases: nobody can hold one while this hub has the store's lock and does not work yet.
    pub(crate) async fn end_leases(&self) -> Result<(), Error> {
        let sql = "SELECT EXISTS (SELECT 1 FROM pipeline WHERE lease_owner <> '')";
        if !self.read(|db| Ok(db.query_row(sql, [], |row| row.get::<_, bool>(0))?)).await? {
            return Ok(());
        }
        self.write(|db, _| {
            db.execute("UPDATE pipeline SET lease_owner = '', lease_until = 0", [])?;
            Ok(())
        })
        .await
    }

    /// Counts the records that wait.
    pub(crate) async fn count_waiting(&self) -> Result<QueueLoad, Error> {
        self.read(|db| {
            let mut statement = db.prepare_cached(&format!(
                "SELECT status, count(*), min(coalesce(queued_at, created_at))
                 FROM knowledge LEFT JOIN pipeline USING (row)
                 WHERE status IN {IN_PROCESS} GROUP BY status"
            ))?;
            let mut load = QueueLoad::default();
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let status = row.get::<_, String>(0)?.parse().map_err(unreadable)?;
                load.waiting.push((status, row.get(1)?));
                let since = Timestamp::from_millis(row.get(2)?);
                load.oldest = Some(load.oldest.map_or(since, |oldest| oldest.min(since)));
            }
            Ok(load)
        })
        .await
    }

    /// Finds how far the processing of a record is, and its merges.
    pub(crate) async fn find_processing(
        &self,
        id: KnowledgeId,
    ) -> Result<Option<Processing>, Error> {
        self.read(move |db| {
            let db = db.unchecked_transaction()?;
            let found = db
                .prepare_cached(
                    "SELECT status, attempts, not_before, last_error, last_reply, judged
                     FROM knowledge LEFT JOIN pipeline USING (row) WHERE id = ?1",
                )?
                .query_row([id.as_str()], |row| read_processing(&id, row))
                .optional()?;
            let Some(mut found) = found else { return Ok(None) };
            found.merges = merges::list_merges(&db, &id)?;
            let standing = found.merges.iter().rfind(|merge| merge.undone_at.is_none());
            found.merged_into = standing.map(|merge| merge.target.clone());
            Ok(Some(found))
        })
        .await
    }
}

fn claim(
    db: &Connection,
    changes: &mut Vec<Change>,
    row: i64,
    owner: &str,
    now: Timestamp,
    until: Timestamp,
) -> Result<Option<Claim>, Error> {
    let is_free = "SELECT id FROM knowledge LEFT JOIN pipeline USING (row)
                   WHERE row = ?1 AND coalesce(lease_until, 0) <= ?2";
    let mut statement = db.prepare_cached(&format!("{is_free} AND status IN {IN_PROCESS}"))?;
    let id: Option<String> =
        statement.query_row((row, now.as_millis()), |row| row.get(0)).optional()?;
    let Some(id) = id else { return Ok(None) };
    let found = refusable(find_row(db, &id))?;
    let not_before = if found.is_ok() { 0 } else { now.as_millis() + UNREADABLE_MILLIS };
    let owner = if found.is_ok() { owner } else { "" };
    let (attempts, queued_at) = db
        .prepare_cached(
            "INSERT INTO pipeline (row, attempts, not_before, lease_owner, lease_until, last_error,
                 last_reply, judged, queued_at, updated_at)
             SELECT row, 0, ?2, ?3, ?4, '', '', 1, created_at, ?5 FROM knowledge WHERE row = ?1
             ON CONFLICT (row) DO UPDATE SET not_before = excluded.not_before,
                 lease_owner = excluded.lease_owner, lease_until = excluded.lease_until,
                 updated_at = excluded.updated_at
             RETURNING attempts, queued_at",
        )?
        .query_row((row, not_before, owner, until.as_millis(), now.as_millis()), |row| {
            Ok((row.get(0)?, Timestamp::from_millis(row.get(1)?)))
        })?;
    let Ok(before) = found else { return Ok(None) };
    let mut record = before.record.clone();
    record.status = match record.status {
        KnowledgeStatus::Pending => KnowledgeStatus::Processing,
        KnowledgeStatus::DedupPassed => KnowledgeStatus::Analyzing,
        status => status,
    };
    let row = advance(db, changes, before, record, now)?;
    Ok(Some(Claim { row, attempts, queued_at, owner: owner.to_owned() }))
}

/// Finds a claimed record, if it says what it said then and the claim still holds.
fn find_claimed(db: &Connection, claim: &Claim) -> Result<Option<KnowledgeRow>, Error> {
    let owner: Option<String> = db
        .prepare_cached("SELECT lease_owner FROM pipeline WHERE row = ?1")?
        .query_row([claim.row.row], |row| row.get(0))
        .optional()?;
    if owner.as_deref() != Some(&claim.owner) {
        return Ok(None);
    }
    let Ok(row) = refusable(find_row(db, claim.row.record.id.as_str()))? else { return Ok(None) };
    let (now, then) = (&row.record, &claim.row.record);
    if says_the_same(now, then) && now.status == then.status {
        return Ok(Some(row));
    }
    release(db, claim.row.row)?;
    Ok(None)
}

fn settle(
    db: &Connection,
    changes: &mut Vec<Change>,
    before: &KnowledgeRow,
    step: &Step,
    author: &Author,
) -> Result<Option<KnowledgeRow>, Error> {
    let mut record = before.record.clone();
    match step {
        Step::Merged(seen, merging) => {
            let Some(target) = find_as_seen(db, seen)? else { return Ok(None) };
            if merges::were_merged(db, &record.id, &seen.id)? {
                record.status = KnowledgeStatus::DedupPassed;
            } else {
                merge_into(db, changes, &mut record, target, merging, author)?;
            }
        }
        Step::Distinct(related) => {
            for (kind, other) in related {
                relate(db, changes, &mut record, kind, other, author)?;
            }
            record.status = KnowledgeStatus::DedupPassed;
        }
        Step::Linked(named) => {
            record.status = KnowledgeStatus::Approved;
            tools::name_tools(db, &mut record, named)?;
        }
    }
    let row = advance(db, changes, before.clone(), record, author.now)?;
    tools::follow_record(db, changes, Some(&before.record), Some(&row.record), author)?;
    Ok(Some(row))
}

/// Relates a record to another where both have room for it and the other is still found.
fn relate(
    db: &Connection,
    changes: &mut Vec<Change>,
    record: &mut Knowledge,
    kind: &str,
    other: &KnowledgeId,
    author: &Author,
) -> Result<(), Error> {
    let Ok(row) = refusable(find_row(db, other.as_str()))? else { return Ok(()) };
    let (mut related, mut target) = (record.clone(), row.record.clone());
    if is_searchable(&target) && knowledge::relate(&mut related, &mut target, kind).is_ok() {
        *record = related;
        write(db, changes, row, target, author)?;
    }
    Ok(())
}

fn note_settled(
    db: &Connection,
    row: &KnowledgeRow,
    note: &StepNote,
    now: Timestamp,
) -> rusqlite::Result<()> {
    db.prepare_cached(
        "UPDATE pipeline SET attempts = 0, not_before = 0, lease_owner = '', lease_until = 0,
             last_error = CASE WHEN ?2 <> '' THEN ?2 WHEN attempts > 0 THEN '' ELSE last_error END,
             last_reply = CASE WHEN ?2 <> '' THEN ?3 WHEN attempts > 0 THEN '' ELSE last_reply END,
             judged = judged AND ?4, updated_at = ?5
         WHERE row = ?1",
    )?
    .execute((row.row, &note.error, &note.reply, note.judged, now.as_millis()))?;
    Ok(())
}

fn release(db: &Connection, row: i64) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE pipeline SET lease_owner = '', lease_until = 0 WHERE row = ?1")?
        .execute([row])?;
    Ok(())
}

/// Removes what is known of the processing of a deleted record.
pub(super) fn forget(db: &Connection, row: i64) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM pipeline WHERE row = ?1")?.execute([row])?;
    Ok(())
}

/// Removes what models said of an erased record in judging others.
pub(super) fn erase(db: &Connection, id: &KnowledgeId) -> rusqlite::Result<()> {
    db.prepare_cached("UPDATE pipeline SET last_reply = '' WHERE instr(last_reply, ?1)")?
        .execute([id.as_str()])?;
    Ok(())
}

fn read_processing(id: &KnowledgeId, row: &Row<'_>) -> rusqlite::Result<Processing> {
    let status: KnowledgeStatus = row.get::<_, String>(0)?.parse().map_err(unreadable)?;
    let stage = stage(status);
    let not_before: Option<i64> = row.get(2)?;
    let judged = row.get::<_, Option<bool>>(5)?.unwrap_or_default();
    Ok(Processing {
        id: id.clone(),
        status,
        stage: stage.to_owned(),
        attempts: row.get::<_, Option<u32>>(1)?.unwrap_or_default(),
        next_attempt_at: not_before
            .filter(|at| *at > 0 && stage != DONE)
            .map(Timestamp::from_millis),
        last_error: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
        reply: row.get::<_, Option<String>>(4)?.unwrap_or_default(),
        judged: judged && stage == DONE,
        merged_into: None,
        merges: Vec::new(),
    })
}

const DONE: &str = "done";

/// Returns what comes next for a record of this status.
fn stage(status: KnowledgeStatus) -> &'static str {
    match status {
        KnowledgeStatus::Pending | KnowledgeStatus::Processing => "dedup",
        KnowledgeStatus::DedupPassed | KnowledgeStatus::Analyzing => "link",
        KnowledgeStatus::Approved | KnowledgeStatus::Rejected | KnowledgeStatus::Checked => DONE,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use protocol::hub::NewKnowledge;

    use super::*;
    use crate::{access::Stamp, knowledge::new_record, metrics::CommitMetrics};

    const LEASE: Duration = Duration::from_mins(5);

    async fn claim_all(store: &Store, owner: &str, now: Timestamp) -> Vec<Claim> {
        let rows = store.list_waiting(now, 10).await.unwrap();
        store.claim(rows, owner.to_owned(), now, now.after(LEASE)).await.unwrap()
    }

    #[tokio::test]
    async fn an_ended_lease_is_taken_over_and_the_record_settled_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub.db");
        let store = Store::open(&path, CommitMetrics::default(), |_| {}).unwrap();
        let reported = Timestamp::from_millis(0);
        let id = KnowledgeId::new(reported, 1);
        let pending = KnowledgeStatus::Pending;
        let record = new_record(NewKnowledge::default(), Stamp::default(), id, pending, reported);
        store.insert_knowledge(record, Vec::new(), || unreachable!("free"), None).await.unwrap();

        let late = reported.after(Duration::from_hours(1));
        let first = claim_all(&store, "first", late).await.pop().unwrap();
        assert_eq!(first.queued_at, reported, "it waits since its report");
        assert!(claim_all(&store, "second", late).await.is_empty(), "the lease holds");
        let ended = late.after(LEASE);
        let second = claim_all(&store, "second", ended).await.pop().unwrap();

        let author = Author { name: "hub".into(), now: ended };
        let settle = |claim: Claim| {
            let (step, note) = (Step::Distinct(Vec::new()), StepNote::default());
            store.settle(claim, step, note, author.clone())
        };
        assert!(!settle(first.clone()).await.unwrap(), "it is not the first one's any more");
        assert!(settle(second.clone()).await.unwrap());
        assert!(!settle(second).await.unwrap(), "once is enough");
        assert!(!settle(first).await.unwrap());
        store.close().await;
    }

    #[tokio::test]
    async fn only_attempts_in_vain_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub.db");
        let store = Store::open(&path, CommitMetrics::default(), |_| {}).unwrap();
        let now = Timestamp::from_millis(0);
        let id = KnowledgeId::new(now, 1);
        let pending = KnowledgeStatus::Pending;
        let record = new_record(NewKnowledge::default(), Stamp::default(), id, pending, now);
        store.insert_knowledge(record, Vec::new(), || unreachable!("free"), None).await.unwrap();
        for (in_vain, counted) in [(1, 1), (0, 1), (1, 2)] {
            let claim = claim_all(&store, "me", now).await.pop().unwrap();
            let attempts = claim.attempts + in_vain;
            store.put_off(claim, attempts, StepNote::default(), now, now).await.unwrap();
            let id = KnowledgeId::new(now, 1);
            let state = store.find_processing(id).await.unwrap().unwrap();
            assert_eq!(state.attempts, counted);
        }
        store.close().await;
    }
}
