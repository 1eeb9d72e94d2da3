//! Reading the database file of the original system, row by row, as records of an export.
//!
//! Columns that are missing or `NULL` are empty text; whatever else had to become something else is told.

mod cells;

use std::path::Path;

use protocol::{
    ExperienceId, KnowledgeId, ResourceId, Timestamp,
    export::{Experience, Finding, KnowledgeRecord, Line, Resource},
    hub::{ContentType, Eval, Knowledge, KnowledgeStatus, Origin},
};
use rusqlite::{Connection, OpenFlags};

use super::{export::last_experience, integrity};
use crate::secrets;
use cells::Cells;

/// The time of a row that tells none: a fixed one, so that the same file gives the same records again.
const NO_TIME: i64 = 0;

/// Opens a secret of the original system and seals it for this hub; the error says why that cannot be.
pub(crate) type Reseal<'a> = &'a dyn Fn(&ResourceId, &str) -> Result<String, String>;

/// What came of a row, or of a part of it.
pub(crate) enum Found {
    /// A record, and where it stands.
    Record { line: Box<Line>, place: String },
    /// A row that cannot be stored.
    Rejected(Finding),
    /// A value that was read as something else, or not at all.
    Adjusted(Finding),
}

/// Why a file is not read at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OriginalFault {
    /// It is damaged, or no database.
    #[error("the file is no whole SQLite database: {0}")]
    Unreadable(String),
    /// It has none of the tables.
    #[error("the file has none of the tables experiences, contents, resources and knowledge")]
    Foreign,
}

impl From<rusqlite::Error> for OriginalFault {
    fn from(err: rusqlite::Error) -> Self {
        Self::Unreadable(err.to_string())
    }
}

type ReadRow = fn(&mut Cells, Reseal<'_>) -> Result<Line, Finding>;

/// The tables that are read, in the order of their import, with the columns that are understood.
const TABLES: [(&str, &[&str], ReadRow); 4] = [
    (
        "experiences",
        &[
            "id",
            "name",
            "url",
            "category",
            "task",
            "score",
            "outcome",
            "tips",
            "content_id",
            "submitted_by",
            "created_at",
        ],
        |cells, _| experience(cells),
    ),
    ("resources", &RESOURCE_COLUMNS, resource),
    ("contents", &RESOURCE_COLUMNS, resource),
    (
        "knowledge",
        &[
            "id",
            "message_id",
            "task",
            "content",
            "types",
            "tags",
            "scopes",
            "owner",
            "resource_ids",
            "source",
            "eval",
            "status",
            "created_at",
            "updated_at",
        ],
        |cells, _| knowledge(cells),
    ),
];

const RESOURCE_COLUMNS: [&str; 10] = [
    "id",
    "title",
    "body",
    "secure_body",
    "content_type",
    "metadata",
    "sort_order",
    "submitted_by",
    "created_at",
    "updated_at",
];

/// Reads everything in the file that this hub has a place for, and tells of the rest.
///
/// Returns the highest number that an experience has had, as far as the file tells; 0 where it does not.
pub(crate) fn read(
    path: &Path,
    reseal: Reseal<'_>,
    mut take: impl FnMut(Found),
) -> Result<ExperienceId, OriginalFault> {
    let db = open(path)?;
    let tables = tables(&db)?;
    let is_known = |table: &&String| TABLES.iter().any(|(name, ..)| name == table);
    if !tables.iter().any(|table| is_known(&table)) {
        return Err(OriginalFault::Foreign);
    }
    for table in tables.iter().filter(|table| !is_known(table)) {
        take(Found::Adjusted(finding(
            &format!("table {table}"),
            "",
            "not read: there is no place for it",
        )));
    }
    for (table, columns, read_row) in TABLES {
        if tables.iter().any(|name| name == table) {
            read_table(&db, table, columns, |cells| read_row(cells, reseal), &mut take)?;
        }
    }
    // Without a column `AUTOINCREMENT` there is no table that tells.
    Ok(ExperienceId(last_experience(&db).unwrap_or(0)))
}

/// Opens the file so that nothing in it can make the engine write or call anything.
fn open(path: &Path) -> Result<Connection, OriginalFault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    // Nobody else has the file open; without this the engine wants a log beside it.
    let path = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let db = Connection::open_with_flags(format!("file:{path}?immutable=1"), flags)?;
    db.pragma_update(None, "query_only", true)?;
    db.pragma_update(None, "trusted_schema", false)?;
    match integrity::findings(&db, "quick_check")? {
        findings if findings == ["ok"] => Ok(db),
        findings => Err(OriginalFault::Unreadable(findings.join("; ").replace('\n', " "))),
    }
}

fn tables(db: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = db.prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
         ORDER BY name",
    )?;
    statement.query_map([], |row| row.get(0))?.collect()
}

fn read_table(
    db: &Connection,
    table: &str,
    columns: &[&str],
    read_row: impl Fn(&mut Cells) -> Result<Line, Finding>,
    take: &mut impl FnMut(Found),
) -> rusqlite::Result<()> {
    let mut statement = db.prepare(&format!("SELECT * FROM {table}"))?;
    let names: Vec<String> = statement.column_names().map(str::to_ascii_lowercase).collect();
    for name in names.iter().filter(|name| !columns.contains(&name.as_str())) {
        take(Found::Adjusted(finding(table, name, "not read: there is no place for this column")));
    }
    let mut rows = statement.query([])?;
    let mut number = 0;
    while let Some(row) = rows.next()? {
        number += 1;
        let mut cells = Cells::read(table, number, &names, row)?;
        // What could not be reported to this hub is refused.
        let read = read_row(&mut cells).and_then(|line| match line.check() {
            Ok(()) => Ok(Box::new(line)),
            Err(fault) => {
                let fault = secrets::shown(&fault);
                Err(cells.wrong(column(&fault.field), fault.reason))
            }
        });
        cells.take_adjusted().into_iter().map(Found::Adjusted).for_each(&mut *take);
        let place = cells.into_place();
        take(read.map_or_else(Found::Rejected, |line| Found::Record { line, place }));
    }
    Ok(())
}

/// Returns the column that a field of a record comes from.
pub(crate) fn column(field: &str) -> &str {
    field.strip_prefix("record.").unwrap_or(field)
}

fn experience(cells: &mut Cells) -> Result<Line, Finding> {
    Ok(Line::Experience(Experience {
        id: ExperienceId(cells.id_number()?),
        name: cells.text("name")?,
        url: cells.text("url")?,
        category: cells.text("category")?,
        task: cells.text("task")?,
        score: cells.score("score"),
        outcome: cells.text("outcome")?,
        tips: cells.text("tips")?,
        content_id: cells.text("content_id")?,
        submitted_by: cells.text("submitted_by")?,
        authenticated_as: String::new(),
        on_behalf_of: String::new(),
        created_at: time(cells, "created_at"),
    }))
}

fn resource(cells: &mut Cells, reseal: Reseal<'_>) -> Result<Line, Finding> {
    let id = cells.text("id")?;
    let id: ResourceId =
        id.parse().map_err(|err: protocol::ids::IdFault| cells.wrong("id", err.to_string()))?;
    let secret = cells.text("secure_body")?;
    let secure_body = if secret.is_empty() {
        String::new()
    } else {
        reseal(&id, &secret).map_err(|reason| cells.wrong("secure_body", reason))?
    };
    let created_at = time(cells, "created_at");
    Ok(Line::Resource(Resource {
        id,
        title: cells.text("title")?,
        body: cells.text("body")?,
        secure_body,
        content_type: cells.word("content_type", ContentType::Text, "text"),
        metadata: cells.metadata("metadata")?,
        sort_order: cells.whole_number("sort_order"),
        submitted_by: cells.text("submitted_by")?,
        authenticated_as: String::new(),
        on_behalf_of: String::new(),
        version: 1,
        created_at,
        updated_at: cells.time("updated_at").unwrap_or(created_at),
    }))
}

fn knowledge(cells: &mut Cells) -> Result<Line, Finding> {
    let id = cells.text("id")?;
    let id: KnowledgeId =
        id.parse().map_err(|err: protocol::ids::IdFault| cells.wrong("id", err.to_string()))?;
    let created_at = time(cells, "created_at");
    Ok(Line::Knowledge(KnowledgeRecord {
        version: 1,
        record: Knowledge {
            id,
            task: cells.text("task")?,
            content: cells.text("content")?,
            types: cells.list("types")?,
            tags: cells.json("tags")?.unwrap_or_default(),
            scopes: cells.list("scopes")?,
            owner: cells.text("owner")?,
            resource_ids: cells.list("resource_ids")?,
            source: cells.json("source")?.unwrap_or_else(Origin::default),
            eval: cells.json("eval")?.unwrap_or_else(Eval::default),
            status: cells.word("status", KnowledgeStatus::Approved, "approved"),
            verified_by: String::new(),
            flags: Vec::new(),
            relationships: Vec::new(),
            message_id: cells.text("message_id")?,
            created_at,
            updated_at: cells.time("updated_at").unwrap_or(created_at),
        },
    }))
}

/// Returns when a row was made.
fn time(cells: &mut Cells, column: &str) -> Timestamp {
    cells.time(column).unwrap_or_else(|| {
        cells.adjust(column, "missing; stored as 1970-01-01T00:00:00.000Z".to_owned());
        Timestamp::from_millis(NO_TIME)
    })
}

fn finding(place: &str, field: &str, reason: &str) -> Finding {
    Finding { place: place.into(), field: field.into(), reason: reason.into() }
}
