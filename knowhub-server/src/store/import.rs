//! Records of an export on their way into the store: each is stored, found to be here, or stands against what is here.

mod history;
mod records;

use std::collections::{HashMap, HashSet};

use protocol::{
    ExperienceId, KnowledgeId,
    export::{Line, RecordKind, Subject},
};
use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::{Change, Error, Store, change, export, left_out::is_unreadable};

/// The highest number that an imported experience keeps, of which numbers for new ones are then counted on.
///
/// Whoever has a higher one gets another, so that no import uses all numbers up.
const MAX_KEPT_NUMBER: i64 = 1 << 52;

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
const UNREADABLE: &str = "what is here under its key cannot be read";

/// One import, and what it remembers from one transaction to the next.
#[derive(Debug, Default)]
pub(crate) struct Importing {
    /// The last change before it began: what came later belongs to the import itself.
    since: i64,
    /// Nothing is kept; the fates are those that the records would have.
    dry_run: bool,
    /// The records that were not taken: what was said of them elsewhere stays out as well.
    left_out: HashSet<(RecordKind, String)>,
    /// The tombstones that were not taken, each with its version: what they hide stays out as well.
    unburied: HashMap<(RecordKind, String), i64>,
    /// The knowledge records that are here as the import has them, and tell of others.
    related: Vec<KnowledgeId>,
}

impl Importing {
    /// Leaves out what the import may bring of a history whose record or tombstone stays out.
    pub(crate) fn leave_out(&mut self, subject: Subject) {
        let Subject { kind, id, deleted_to } = subject;
        if let Some(version) = deleted_to {
            self.unburied.insert((kind, id), version);
        } else {
            self.left_out.insert((kind, id));
        }
    }

    /// Returns the records whose relations the other side may not tell of.
    pub(crate) fn into_related(self) -> Vec<KnowledgeId> {
        self.related
    }

    fn has_left_out(&self, kind: RecordKind, id: &str) -> bool {
        !self.left_out.is_empty() && self.left_out.contains(&(kind, id.to_owned()))
    }

    /// Tells whether a version was deleted elsewhere, and the tombstone that says so stayed out.
    fn lacks_tombstone(&self, kind: RecordKind, id: &str, version: i64) -> bool {
        !self.unburied.is_empty()
            && self.unburied.get(&(kind, id.to_owned())).is_some_and(|last| version <= *last)
    }
}

impl Store {
    /// Begins an import of experiences numbered up to `last`, whose numbers new ones do not take from now on.
    pub(crate) async fn begin_import(
        &self,
        last: ExperienceId,
        dry_run: bool,
    ) -> Result<Importing, Error> {
        // In the queue of writes: a batch of an earlier import may still stand there.
        self.write(move |db, _| {
            if !dry_run {
                reserve_experiences(db, last)?;
            }
            let since = change::identity(db)?.last_seq;
            Ok(Importing { since, dry_run, ..Importing::default() })
        })
        .await
    }

    /// Imports records in one transaction and returns the fate of each, in order.
    ///
    /// Done again with the same records it changes nothing.
    pub(crate) async fn import_records(
        &self,
        mut importing: Importing,
        records: Vec<Line>,
    ) -> Result<(Importing, Vec<Fate>), Error> {
        self.write(move |db, changes| {
            let fates = if importing.dry_run {
                try_all(db, &mut importing, records)
            } else {
                import_all(db, changes, &mut importing, records)
            };
            Ok((importing, fates?))
        })
        .await
    }
}

fn reserve_experiences(db: &Connection, last: ExperienceId) -> rusqlite::Result<()> {
    let last = last.0.min(MAX_KEPT_NUMBER);
    if last > export::last_experience(db)? {
        db.execute("DELETE FROM sqlite_sequence WHERE name = 'experiences'", [])?;
        db.execute("INSERT INTO sqlite_sequence VALUES ('experiences', ?1)", [last])?;
    }
    Ok(())
}

/// Imports records and undoes that; the enclosing transaction belongs to other writers too.
fn try_all(
    db: &Connection,
    importing: &mut Importing,
    records: Vec<Line>,
) -> Result<Vec<Fate>, Error> {
    db.execute_batch("SAVEPOINT dry_run")?;
    let fates = import_all(db, &mut Vec::new(), importing, records);
    // A full or failing disk makes the engine undo the whole transaction, and nothing is left to go back to.
    if !db.is_autocommit() {
        db.execute_batch("ROLLBACK TO dry_run; RELEASE dry_run")?;
    }
    fates
}

fn import_all(
    db: &Connection,
    changes: &mut Vec<Change>,
    importing: &mut Importing,
    records: Vec<Line>,
) -> Result<Vec<Fate>, Error> {
    records.into_iter().map(|record| import(db, changes, importing, record)).collect()
}

fn import(
    db: &Connection,
    changes: &mut Vec<Change>,
    importing: &mut Importing,
    record: Line,
) -> Result<Fate, Error> {
    let subject = record.subject();
    let related = match &record {
        Line::Knowledge(one) if !one.record.relationships.is_empty() => Some(one.record.id.clone()),
        _ => None,
    };
    let imported = match record {
        Line::Experience(one) => records::import_experience(db, changes, one, importing.since),
        Line::Resource(one) => records::import_resource(db, changes, one),
        Line::Knowledge(one) => records::import_knowledge(db, changes, one),
        Line::Tombstone(one) => history::import_tombstone(db, &one),
        Line::Version(one) => history::import_version(db, importing, &one),
        Line::Evaluation(one) => history::import_evaluation(db, importing, &one),
        Line::Feedback(one) => history::import_feedback(db, importing, &one),
        Line::Demand(one) => history::import_demand(db, &one),
        Line::Manifest(_) => unreachable!("the importer reads the manifest itself"),
    };
    let fate = match imported {
        // Whatever is here is read before the first write.
        Err(Error::Database(err)) if is_unreadable(&err) => Fate::Refused(UNREADABLE),
        imported => imported?,
    };
    match (&fate, subject) {
        (Fate::Refused(_), Some(subject)) => importing.leave_out(subject),
        (Fate::Refused(_), None) => {}
        (Fate::Imported(_) | Fate::Here(_), _) => importing.related.extend(related),
    }
    Ok(fate)
}

/// Returns the fate of a record beside the one that is here under its key.
fn beside<T: PartialEq>(here: &T, record: &T) -> Fate {
    if here == record { Fate::Here(None) } else { Fate::Refused(OTHER) }
}

fn find<T>(
    db: &Connection,
    query: &str,
    key: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    db.prepare_cached(query)?.query_row(key, read).optional()
}

#[cfg(test)]
mod tests {
    use protocol::{
        Timestamp,
        hub::{Demand, DemandKind},
    };

    use super::*;
    use crate::store::file;

    #[test]
    fn a_dry_run_on_a_full_disk_says_that_it_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let db = file::open(&folder.path().join("hub.db")).unwrap().db;
        let pages: i64 = db.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
        db.pragma_update(None, "max_page_count", pages + 2).unwrap();
        let at = Timestamp::from_millis(0);
        let (kind, wanted) = (DemandKind::Content, "长".repeat(100_000));
        let demand = Demand { kind, wanted, count: 1, first_at: at, last_at: at };
        db.execute_batch("BEGIN IMMEDIATE").unwrap();
        let mut importing = Importing { dry_run: true, ..Importing::default() };
        let tried = try_all(&db, &mut importing, vec![Line::Demand(demand)]);
        assert!(matches!(tried, Err(Error::DiskFull(_))), "{tried:?}");
    }
}
