//! Records of an export on their way into the store: each is stored, found to be here, or stands against what is here.

mod rows;

use protocol::{
    ExperienceId, Timestamp,
    export::{Experience, KnowledgeRecord, Line, Resource, Tombstone, Version},
};
use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::{Change, Error, RecordKind, Store, demand, export};

/// What became of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It was stored, an experience under this number.
    Imported(Option<ExperienceId>),
    /// The same is here already, an experience under this number.
    Here(Option<ExperienceId>),
    /// Something else is here, and stays; says what.
    Refused(&'static str),
}

const OTHER: &str = "another state of it is here";
const DELETED: &str = "it was deleted here";

/// How one import is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// The last change before it began: what came later belongs to the import itself.
    pub(crate) since: i64,
    /// Nothing is kept; the fates are those that the records would have.
    pub(crate) dry_run: bool,
}

impl Store {
    /// Returns how far the change sequence is.
    pub(crate) async fn find_last_seq(&self) -> Result<i64, Error> {
        self.read(|db| Ok(super::change::identity(db)?.last_seq)).await
    }

    /// Keeps the numbers of experiences up to `last` for an import, so that new ones do not take them.
    pub(crate) async fn reserve_experiences(&self, last: ExperienceId) -> Result<(), Error> {
        self.write(move |db, _| {
            let free = export::last_experience(db)?;
            if last.0 > free {
                db.execute("DELETE FROM sqlite_sequence WHERE name = 'experiences'", [])?;
                db.execute("INSERT INTO sqlite_sequence VALUES ('experiences', ?1)", [last.0])?;
            }
            Ok(())
        })
        .await
    }

    /// Imports records in one transaction and returns the fate of each, in order.
    ///
    /// Done again with the same records it changes nothing.
    pub(crate) async fn import_records(
        &self,
        records: Vec<Line>,
        terms: Terms,
    ) -> Result<Vec<Fate>, Error> {
        self.write(move |db, changes| {
            if terms.dry_run {
                // The enclosing transaction belongs to other writers too.
                db.execute_batch("SAVEPOINT dry_run")?;
                let fates = import_all(db, &mut Vec::new(), records, terms);
                db.execute_batch("ROLLBACK TO dry_run; RELEASE dry_run")?;
                return fates;
            }
            import_all(db, changes, records, terms)
        })
        .await
    }
}

fn import_all(
    db: &Connection,
    changes: &mut Vec<Change>,
    records: Vec<Line>,
    terms: Terms,
) -> Result<Vec<Fate>, Error> {
    records.into_iter().map(|record| import(db, changes, record, terms.since)).collect()
}

fn import(
    db: &Connection,
    changes: &mut Vec<Change>,
    record: Line,
    since: i64,
) -> Result<Fate, Error> {
    match record {
        Line::Experience(experience) => import_experience(db, changes, experience, since),
        Line::Resource(resource) => import_resource(db, changes, &resource),
        Line::Knowledge(knowledge) => import_knowledge(db, changes, &knowledge),
        Line::Version(version) => import_version(db, &version),
        Line::Tombstone(tombstone) => import_tombstone(db, &tombstone),
        Line::Evaluation(one) => {
            let key = (&one.principal, &one.trace_id, &one.knowledge_id, one.injected_at_sequence);
            let here = find(
                db,
                "SELECT * FROM evaluations WHERE principal = ?1 AND trace_id = ?2
                 AND knowledge_id = ?3 AND injected_at_sequence = ?4",
                key,
                export::evaluation,
            )?;
            unless_here(here.as_ref(), &one, || rows::insert_evaluation(db, &one))
        }
        Line::Feedback(one) => {
            let key =
                (one.knowledge_id.as_str(), &one.text, &one.principal, one.created_at.as_millis());
            let here = find(
                db,
                "SELECT * FROM feedback WHERE knowledge_id = ?1 AND text = ?2
                 AND principal = ?3 AND created_at = ?4 LIMIT 1",
                key,
                export::feedback,
            )?;
            unless_here(here.as_ref(), &one, || rows::insert_feedback(db, &one))
        }
        Line::Demand(one) => {
            let key = (one.kind.as_str(), &one.wanted);
            let here = find(
                db,
                "SELECT * FROM demand WHERE kind = ?1 AND wanted = ?2",
                key,
                demand::from_row,
            )?;
            unless_here(here.as_ref(), &one, || rows::insert_demand(db, &one))
        }
        Line::Manifest(_) => unreachable!("the importer reads the manifest itself"),
    }
}

/// Stores a record whose key nobody else uses.
fn unless_here<T: PartialEq>(
    here: Option<&T>,
    record: &T,
    insert: impl FnOnce() -> rusqlite::Result<()>,
) -> Result<Fate, Error> {
    match here {
        Some(here) if here == record => Ok(Fate::Here(None)),
        Some(_) => Ok(Fate::Refused(OTHER)),
        None => {
            insert()?;
            Ok(Fate::Imported(None))
        }
    }
}

/// An experience keeps its number where that is free, and gets a new one otherwise.
fn import_experience(
    db: &Connection,
    changes: &mut Vec<Change>,
    experience: Experience,
    since: i64,
) -> Result<Fate, Error> {
    let number = experience.id.0;
    let here = find(db, "SELECT * FROM experiences WHERE id = ?1", [number], export::experience)?;
    if here.as_ref() == Some(&experience) {
        return Ok(Fate::Here(Some(experience.id)));
    }
    if let Some(other) = rows::find_same_experience(db, &experience, since)? {
        return Ok(Fate::Here(Some(other)));
    }
    let deleted_at = deleted_at(db, RecordKind::Experience, &number.to_string())?;
    if deleted_at.is_some_and(|at| at > experience.created_at) {
        return Ok(Fate::Refused(DELETED));
    }
    let is_free = here.is_none() && deleted_at.is_none();
    let row = rows::insert_experience(db, experience, is_free)?;
    let id = row.id;
    changes.push(Change::Experience(Box::new(row)));
    Ok(Fate::Imported(Some(id)))
}

fn import_resource(
    db: &Connection,
    changes: &mut Vec<Change>,
    resource: &Resource,
) -> Result<Fate, Error> {
    let id = resource.id.as_str();
    let here = find(db, "SELECT * FROM resources WHERE id = ?1", [id], export::resource)?;
    if here.is_none() && is_deleted(db, RecordKind::Resource, id, resource.created_at)? {
        return Ok(Fate::Refused(DELETED));
    }
    unless_here(here.as_ref(), resource, || {
        changes.push(Change::Resource(Box::new(rows::insert_resource(db, resource)?)));
        Ok(())
    })
}

fn import_knowledge(
    db: &Connection,
    changes: &mut Vec<Change>,
    knowledge: &KnowledgeRecord,
) -> Result<Fate, Error> {
    let id = knowledge.record.id.as_str();
    let here = find(db, "SELECT * FROM knowledge WHERE id = ?1", [id], export::knowledge_record)?;
    if here.is_none() && is_deleted(db, RecordKind::Knowledge, id, knowledge.record.created_at)? {
        return Ok(Fate::Refused(DELETED));
    }
    unless_here(here.as_ref(), knowledge, || {
        changes.push(Change::Knowledge(Box::new(rows::insert_knowledge(db, knowledge)?)));
        Ok(())
    })
}

/// A version goes below the record that is here: its number must stay free for what is written next.
fn import_version(db: &Connection, version: &Version) -> Result<Fate, Error> {
    let key = (&version.kind, &version.id, version.version);
    let here = find(
        db,
        "SELECT * FROM versions WHERE kind = ?1 AND id = ?2 AND version = ?3",
        key,
        export::version,
    )?;
    let alive = find_alive(db, &version.kind, &version.id)?;
    if here.is_none() && alive.is_some_and(|alive| version.version >= alive.version) {
        return Ok(Fate::Refused("the record that is here is not newer"));
    }
    unless_here(here.as_ref(), version, || rows::insert_version(db, version))
}

/// A tombstone deletes nothing here; it only keeps what was deleted from coming back.
fn import_tombstone(db: &Connection, tombstone: &Tombstone) -> Result<Fate, Error> {
    let key = (&tombstone.kind, &tombstone.id);
    let here =
        find(db, "SELECT * FROM tombstones WHERE kind = ?1 AND id = ?2", key, export::tombstone)?;
    let alive = find_alive(db, &tombstone.kind, &tombstone.id)?;
    // One that was made after the deletion is another life under the same id.
    if here.is_none() && alive.is_some_and(|alive| alive.created_at < tombstone.deleted_at) {
        return Ok(Fate::Refused("deleted there, and still here"));
    }
    unless_here(here.as_ref(), tombstone, || rows::insert_tombstone(db, tombstone))
}

/// A record under an id, as versions and tombstones have to know it.
#[derive(Clone, Copy)]
struct Alive {
    version: i64,
    created_at: Timestamp,
}

fn find_alive(db: &Connection, kind: &str, id: &str) -> rusqlite::Result<Option<Alive>> {
    let query = match kind {
        "experience" => "SELECT 1, created_at FROM experiences WHERE id = ?1",
        "resource" => "SELECT version, created_at FROM resources WHERE id = ?1",
        _ => "SELECT version, created_at FROM knowledge WHERE id = ?1",
    };
    find(db, query, [id], |row| {
        Ok(Alive { version: row.get(0)?, created_at: Timestamp::from_millis(row.get(1)?) })
    })
}

fn is_deleted(
    db: &Connection,
    kind: RecordKind,
    id: &str,
    created_at: Timestamp,
) -> rusqlite::Result<bool> {
    Ok(deleted_at(db, kind, id)?.is_some_and(|at| at > created_at))
}

fn deleted_at(db: &Connection, kind: RecordKind, id: &str) -> rusqlite::Result<Option<Timestamp>> {
    let query = "SELECT deleted_at FROM tombstones WHERE kind = ?1 AND id = ?2";
    find(db, query, (kind.as_str(), id), |row| Ok(Timestamp::from_millis(row.get(0)?)))
}

fn find<T>(
    db: &Connection,
    query: &str,
    key: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    db.prepare_cached(query)?.query_row(key, read).optional()
}
