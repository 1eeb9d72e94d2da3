//! Everything the store holds, from one snapshot, as the records of an export.

use std::sync::Arc;

use protocol::{
    ExperienceId, Timestamp,
    export::{
        Evaluation, Experience, Feedback, KnowledgeRecord, Line, RecordKind, Resource, Tombstone,
        Version,
    },
    hub,
};
use rusqlite::{Connection, Row};

use super::{
    Error, Identity, LeftOutRow, Store, change,
    columns::{unreadable, value},
    demand, experiences, knowledge,
    left_out::{self, LeftOut, Table},
    readers::Readers,
    resources,
};

/// Reads a row as the record that it is.
type ReadRecord = fn(&Row<'_>) -> rusqlite::Result<Line>;

/// Every table that is truth, in the order of an export; each is read in an order that its rows alone decide.
///
/// A record comes before its tombstone, and both before what was said of it: an import judges by them.
const TABLES: [(Table, &str, ReadRecord); 8] = [
    (left_out::EXPERIENCES, "SELECT * FROM experiences ORDER BY id", |row| {
        Ok(Line::Experience(experience(row)?))
    }),
    (left_out::RESOURCES, "SELECT * FROM resources ORDER BY id", |row| {
        Ok(Line::Resource(resource(row)?))
    }),
    (left_out::KNOWLEDGE, "SELECT * FROM knowledge ORDER BY id", |row| {
        Ok(Line::Knowledge(knowledge_record(row)?))
    }),
    (left_out::TOMBSTONES, "SELECT * FROM tombstones ORDER BY kind, id", |row| {
        Ok(Line::Tombstone(tombstone(row)?))
    }),
    (left_out::VERSIONS, "SELECT * FROM versions ORDER BY kind, id, version", |row| {
        Ok(Line::Version(version(row)?))
    }),
    (
        left_out::EVALUATIONS,
        "SELECT * FROM evaluations
         ORDER BY principal, trace_id, knowledge_id, injected_at_sequence",
        |row| Ok(Line::Evaluation(evaluation(row)?)),
    ),
    (
        left_out::FEEDBACK,
        "SELECT * FROM feedback ORDER BY knowledge_id, created_at, principal, text",
        |row| Ok(Line::Feedback(feedback(row)?)),
    ),
    (left_out::DEMAND, "SELECT * FROM demand ORDER BY kind, wanted", |row| {
        Ok(Line::Demand(demand::from_row(row)?))
    }),
];

/// The store as it was at one moment, while writers go on.
pub(crate) struct Snapshot<'a> {
    db: &'a Connection,
    readers: &'a Readers,
    left_out: &'a LeftOut,
    /// Which store, and how far its change sequence was.
    pub(crate) identity: Identity,
    /// The highest number that an experience has had.
    pub(crate) last_experience: ExperienceId,
}

impl Store {
    /// Runs `work` over a snapshot, on a connection and a thread of its own.
    ///
    /// While it runs, the engine's log cannot be cut back, so it must come to an end.
    pub(crate) async fn read_snapshot<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Snapshot<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let readers = Arc::clone(&self.readers);
        let left_out = Arc::clone(&self.left_out);
        self.readers
            .run_apart(move |db| {
                let db = db.unchecked_transaction()?;
                let identity = change::identity(&db)?;
                let last_experience = ExperienceId(last_experience(&db)?);
                work(&Snapshot {
                    db: &db,
                    readers: &readers,
                    left_out: &left_out,
                    identity,
                    last_experience,
                })
            })
            .await
    }
}

impl Snapshot<'_> {
    /// Hands every record to `take`, in the order of an export, until it wants no more; one that cannot be read by its name.
    pub(crate) fn each_record(
        &self,
        mut take: impl FnMut(Result<Line, LeftOutRow>) -> bool,
    ) -> Result<(), Error> {
        for (table, query, read) in TABLES {
            let mut statement = self.db.prepare(query)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                if self.readers.is_closed() {
                    return Err(Error::Closed);
                }
                if !take(self.left_out.read(&table, row, read)?) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Returns the highest number that an experience has had, deleted ones too; 0 when there was none.
pub(super) fn last_experience(db: &Connection) -> rusqlite::Result<i64> {
    db.query_row(
        "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'experiences'",
        [],
        |row| row.get(0),
    )
}

pub(super) fn experience(row: &Row<'_>) -> rusqlite::Result<Experience> {
    Ok(hub::Experience::from(experiences::read(row)?).into())
}

pub(super) fn resource(row: &Row<'_>) -> rusqlite::Result<Resource> {
    Ok(resources::read(row)?.record().into())
}

pub(super) fn knowledge_record(row: &Row<'_>) -> rusqlite::Result<KnowledgeRecord> {
    let row = knowledge::read(row)?;
    Ok(KnowledgeRecord { version: row.version, record: row.record })
}

pub(super) fn version(row: &Row<'_>) -> rusqlite::Result<Version> {
    Ok(Version {
        kind: kind(row)?,
        id: row.get("id")?,
        version: row.get("version")?,
        record: value(row, "record")?,
        replaced_at: time(row, "replaced_at")?,
        replaced_by: row.get("replaced_by")?,
    })
}

pub(super) fn tombstone(row: &Row<'_>) -> rusqlite::Result<Tombstone> {
    Ok(Tombstone {
        kind: kind(row)?,
        id: row.get("id")?,
        version: row.get("version")?,
        deleted_at: time(row, "deleted_at")?,
        deleted_by: row.get("deleted_by")?,
        reason: row.get("reason")?,
        erased_to: row.get("erased_to")?,
        fingerprint: row.get("fingerprint")?,
    })
}

pub(super) fn evaluation(row: &Row<'_>) -> rusqlite::Result<Evaluation> {
    Ok(Evaluation {
        principal: row.get("principal")?,
        trace_id: row.get("trace_id")?,
        knowledge_id: row.get("knowledge_id")?,
        injected_at_sequence: row.get("injected_at_sequence")?,
        goal_id: row.get("goal_id")?,
        eval_status: row.get("eval_status")?,
        reason: row.get("reason")?,
        evaluated_at: row.get("evaluated_at")?,
        evaluated_at_trigger: row.get("evaluated_at_trigger")?,
        created_at: time(row, "created_at")?,
    })
}

pub(super) fn feedback(row: &Row<'_>) -> rusqlite::Result<Feedback> {
    Ok(Feedback {
        knowledge_id: row.get::<_, String>("knowledge_id")?.try_into().map_err(unreadable)?,
        text: row.get("text")?,
        principal: row.get("principal")?,
        created_at: time(row, "created_at")?,
        applied_at: row.get::<_, Option<i64>>("applied_at")?.map(Timestamp::from_millis),
    })
}

fn kind(row: &Row<'_>) -> rusqlite::Result<RecordKind> {
    serde_json::from_value(row.get::<_, String>("kind")?.into()).map_err(unreadable)
}

fn time(row: &Row<'_>, column: &str) -> rusqlite::Result<Timestamp> {
    Ok(Timestamp::from_millis(row.get(column)?))
}

#[cfg(test)]
mod tests {
    use super::super::file;

    /// Every table and its columns; what an export leaves out is marked with `-`.
    ///
    /// Whoever adds a column decides here whether it is truth, and exports it where it is.
    const COLUMNS: [(&str, &str); 15] = [
        ("demand", "kind wanted count first_at last_at"),
        ("embedding_spaces", "-space -name -dimension -mark -is_complete"),
        (
            "evaluations",
            "principal trace_id knowledge_id injected_at_sequence goal_id eval_status reason \
             evaluated_at evaluated_at_trigger created_at",
        ),
        (
            "experiences",
            "id -seq name url category task score outcome tips content_id submitted_by created_at \
             authenticated_as on_behalf_of",
        ),
        ("feedback", "-id knowledge_id text principal created_at applied_at"),
        ("idempotent_answers", "-number -scope -key -body_hash -answer -expires_at"),
        (
            "knowledge",
            "-row -seq id task content types tags scopes owner resource_ids source eval status \
             relationships message_id created_at updated_at version verified_by -text_hash",
        ),
        (
            "merges",
            "-id -kind -record -target -reason -actor -submitter -counted_helpful -at -undone_at \
             -undone_by -undone_reason",
        ),
        (
            "pipeline",
            "-row -attempts -not_before -lease_owner -lease_until -last_error -last_reply -judged \
             -queued_at -updated_at",
        ),
        ("resource_names", "-name -experience_count -score_sum -score_count -url"),
        (
            "resources",
            "-row -seq id -root title body secure_body content_type metadata sort_order \
             submitted_by authenticated_as on_behalf_of -content_hash version created_at updated_at",
        ),
        ("store", "-only_row id last_seq"),
        (
            "tombstones",
            "kind id -seq -row version deleted_at deleted_by reason erased_to fingerprint",
        ),
        ("vectors", "-id -row -space -vector -is_cut"),
        ("versions", "kind id version record replaced_at replaced_by"),
    ];

    #[test]
    fn no_column_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let db = file::open(&folder.path().join("hub.db")).unwrap().db;
        let mut statement = db
            .prepare(
                "SELECT tables.name, columns.name
                 FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
                 WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite%'
                 ORDER BY tables.name, columns.cid",
            )
            .unwrap();
        let there: Vec<(String, String)> = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        let known = COLUMNS.iter().flat_map(|(table, columns)| {
            let columns = columns.split_whitespace();
            columns.map(|column| (table.to_string(), column.trim_start_matches('-').to_owned()))
        });
        assert_eq!(there, known.collect::<Vec<_>>());
    }
}
