//! What an import brings of records beside their present state: tombstones, earlier versions, verdicts, demand.

use protocol::{
    Timestamp,
    export::{Evaluation, Feedback, RecordKind, Tombstone, Version},
    hub::Demand,
};
use rusqlite::Connection;

use super::{DELETED, Fate, Importing, OTHER, beside, find, reserve_experiences};
use crate::store::{
    Deletion, Error, demand, export,
    knowledge::{evaluations, feedback},
    tombstones::{Dead, insert_tombstone, update_erased_to},
    versions::keep_version,
};

const ERASED: &str = "it was erased here";
const STILL_HERE: &str = "deleted there, and still here";
const OTHER_LIFE: &str = "deleted there, and another record is here under its id";
const NOT_NEWER: &str = "the record that is here is not newer";
const LEFT_OUT: &str = "its record was not imported";
const UNBURIED: &str = "the tombstone that hides it was not imported";
const ORPHAN: &str = "there is neither its record nor a tombstone here";

/// A tombstone deletes nothing here; it only keeps what was deleted from coming back.
pub(super) fn import_tombstone(db: &Connection, tombstone: &Tombstone) -> Result<Fate, Error> {
    let here = find_tombstone(db, tombstone.kind, &tombstone.id)?;
    if here.as_ref() == Some(tombstone) {
        return Ok(Fate::Here(None));
    }
    let alive = find_alive(db, tombstone.kind, &tombstone.id)?;
    if let Some(alive) = alive
        && let Some(reason) = stands_against(db, tombstone, alive)?
    {
        return Ok(Fate::Refused(reason));
    }
    // What lives here may have ended more than once before: then the last of its earlier ends counts.
    let is_last = |here: Tombstone| {
        alive.is_some()
            && here.version < tombstone.version
            && here.deleted_at <= tombstone.deleted_at
    };
    if !here.is_none_or(is_last) {
        return Ok(Fate::Refused(OTHER));
    }
    let Tombstone { kind, id, version, fingerprint, .. } = tombstone;
    if let (RecordKind::Experience, Ok(number)) = (kind, id.parse()) {
        // What is kept under this number must stay the only one.
        reserve_experiences(db, number)?;
    }
    let dead = Dead { kind: *kind, id, row: 0, version: *version, fingerprint };
    let deletion = Deletion {
        by: tombstone.deleted_by.clone(),
        reason: tombstone.reason.clone(),
        at: tombstone.deleted_at,
    };
    insert_tombstone(db, dead, &deletion)?;
    update_erased_to(db, *kind, id, tombstone.erased_to)?;
    Ok(Fate::Imported(None))
}

/// Returns why a record that is here cannot have been made after this end of its id.
fn stands_against(
    db: &Connection,
    tombstone: &Tombstone,
    alive: Alive,
) -> rusqlite::Result<Option<&'static str>> {
    let Tombstone { kind, id, version, deleted_at, .. } = tombstone;
    if *kind == RecordKind::Experience {
        let query = "SELECT * FROM experiences WHERE id = ?1";
        let same = find(db, query, [id], export::experience)?
            .is_some_and(|here| here.fingerprint() == tombstone.fingerprint);
        return Ok(Some(if same { STILL_HERE } else { OTHER_LIFE }));
    }
    // No knowledge id is given twice, whatever the clocks say.
    if *kind == RecordKind::Knowledge || alive.created_at < *deleted_at {
        return Ok(Some(STILL_HERE));
    }
    let has_younger: bool = db
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM versions WHERE kind = ?1 AND id = ?2
                            AND version <= ?3 AND replaced_at > ?4)",
        )?
        .query_row((kind.as_str(), id, version, deleted_at.as_millis()), |row| row.get(0))?;
    // Its own versions would pass for those of the deleted one.
    Ok((alive.version <= *version || has_younger).then_some(OTHER_LIFE))
}

/// A version goes below the record that is here, whose number must stay free, and not above what was deleted here.
pub(super) fn import_version(
    db: &Connection,
    importing: &Importing,
    version: &Version,
) -> Result<Fate, Error> {
    let Version { kind, id, version: number, .. } = version;
    let query = "SELECT * FROM versions WHERE kind = ?1 AND id = ?2 AND version = ?3";
    if let Some(here) = find(db, query, (kind.as_str(), id, number), export::version)? {
        return Ok(beside(&here, version));
    }
    if importing.has_left_out(*kind, id) {
        return Ok(Fate::Refused(LEFT_OUT));
    }
    let alive = find_alive(db, *kind, id)?;
    let dead = find_tombstone(db, *kind, id)?;
    // What a dry run would have brought is gone again.
    if alive.is_none() && dead.is_none() && !importing.dry_run {
        return Ok(Fate::Refused(ORPHAN));
    }
    if let Some(dead) = dead {
        if *number <= dead.erased_to {
            return Ok(Fate::Refused(ERASED));
        }
        let is_of_next_life = alive.is_some() && version.replaced_at >= dead.deleted_at;
        if *number > dead.version && !is_of_next_life {
            return Ok(Fate::Refused(DELETED));
        }
    }
    if alive.is_some_and(|alive| *number >= alive.version) {
        return Ok(Fate::Refused(NOT_NEWER));
    }
    if importing.lacks_tombstone(*kind, id, *number) {
        return Ok(Fate::Refused(UNBURIED));
    }
    let (record, by) = (version.record.to_string(), &version.replaced_by);
    keep_version(db, *kind, id, *number, &record, version.replaced_at, by)?;
    Ok(Fate::Imported(None))
}

pub(super) fn import_evaluation(
    db: &Connection,
    importing: &Importing,
    one: &Evaluation,
) -> Result<Fate, Error> {
    let key = (&one.principal, &one.trace_id, &one.knowledge_id, one.injected_at_sequence);
    let here = find(
        db,
        "SELECT * FROM evaluations WHERE principal = ?1 AND trace_id = ?2
         AND knowledge_id = ?3 AND injected_at_sequence = ?4",
        key,
        export::evaluation,
    )?;
    if let Some(here) = here {
        return Ok(beside(&here, one));
    }
    if let Some(reason) = stays_unsaid(db, importing, &one.knowledge_id)? {
        return Ok(Fate::Refused(reason));
    }
    evaluations::insert(db, one)?;
    Ok(Fate::Imported(None))
}

pub(super) fn import_feedback(
    db: &Connection,
    importing: &Importing,
    one: &Feedback,
) -> Result<Fate, Error> {
    let id = one.knowledge_id.as_str();
    let here = find(
        db,
        "SELECT * FROM feedback WHERE knowledge_id = ?1 AND text = ?2
         AND principal = ?3 AND created_at = ?4",
        (id, &one.text, &one.principal, one.created_at.as_millis()),
        export::feedback,
    )?;
    if let Some(here) = here {
        return Ok(beside(&here, one));
    }
    if let Some(reason) = stays_unsaid(db, importing, id)? {
        return Ok(Fate::Refused(reason));
    }
    feedback::insert(db, one)?;
    Ok(Fate::Imported(None))
}

/// Returns why nothing that was said of this knowledge record is stored.
///
/// A verdict counts in its record; beside another state of it, it would neither count nor be taken again.
fn stays_unsaid(
    db: &Connection,
    importing: &Importing,
    id: &str,
) -> rusqlite::Result<Option<&'static str>> {
    let kind = RecordKind::Knowledge;
    if importing.has_left_out(kind, id) {
        return Ok(Some(LEFT_OUT));
    }
    if find_alive(db, kind, id)?.is_some() {
        return Ok(None);
    }
    Ok(match find_tombstone(db, kind, id)? {
        Some(dead) => (dead.erased_to > 0).then_some(ERASED),
        None => (!importing.dry_run).then_some(ORPHAN),
    })
}

pub(super) fn import_demand(db: &Connection, one: &Demand) -> Result<Fate, Error> {
    let key = (one.kind.as_str(), &one.wanted);
    let query = "SELECT * FROM demand WHERE kind = ?1 AND wanted = ?2";
    if let Some(here) = find(db, query, key, demand::from_row)? {
        return Ok(beside(&here, one));
    }
    demand::insert(db, one)?;
    Ok(Fate::Imported(None))
}

/// A record under an id, as versions and tombstones have to know it.
#[derive(Clone, Copy)]
struct Alive {
    version: i64,
    created_at: Timestamp,
}

fn find_alive(db: &Connection, kind: RecordKind, id: &str) -> rusqlite::Result<Option<Alive>> {
    let query = match kind {
        RecordKind::Experience => "SELECT 1, created_at FROM experiences WHERE id = ?1",
        RecordKind::Resource => "SELECT version, created_at FROM resources WHERE id = ?1",
        RecordKind::Knowledge => "SELECT version, created_at FROM knowledge WHERE id = ?1",
    };
    find(db, query, [id], |row| {
        Ok(Alive { version: row.get(0)?, created_at: Timestamp::from_millis(row.get(1)?) })
    })
}

fn find_tombstone(
    db: &Connection,
    kind: RecordKind,
    id: &str,
) -> rusqlite::Result<Option<Tombstone>> {
    let query = "SELECT * FROM tombstones WHERE kind = ?1 AND id = ?2";
    find(db, query, (kind.as_str(), id), export::tombstone)
}
