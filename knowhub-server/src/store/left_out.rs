//! Rows that do not say what a row of their table should: left out and told, so that one of them stops nothing else.

use std::{
    collections::HashSet,
    sync::{Mutex, MutexGuard},
};

use protocol::export::Kind;
use rusqlite::{Row, Rows, types::ValueRef};

/// How many such rows are told and counted; further ones are left out all the same, and an export names them.
const MAX_TOLD: usize = 10_000;

/// What the rows of a table are.
#[derive(Debug)]
pub(super) struct Table {
    kind: Kind,
    /// The columns that name a row.
    key: &'static [&'static str],
}

pub(super) const EXPERIENCES: Table = Table { kind: Kind::Experience, key: &["id"] };
pub(super) const RESOURCES: Table = Table { kind: Kind::Resource, key: &["id"] };
pub(super) const KNOWLEDGE: Table = Table { kind: Kind::Knowledge, key: &["id"] };
pub(super) const VERSIONS: Table = Table { kind: Kind::Version, key: &["kind", "id", "version"] };
pub(super) const TOMBSTONES: Table = Table { kind: Kind::Tombstone, key: &["kind", "id"] };
pub(super) const EVALUATIONS: Table =
    Table { kind: Kind::Evaluation, key: &["knowledge_id", "trace_id", "injected_at_sequence"] };
pub(super) const FEEDBACK: Table = Table { kind: Kind::Feedback, key: &["id"] };
// What was wanted is text of its own, which no log should hold.
pub(super) const DEMAND: Table = Table { kind: Kind::Demand, key: &["kind"] };

/// A row that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LeftOutRow {
    /// What it should be.
    pub(crate) kind: Kind,
    /// What names it.
    pub(crate) id: String,
}

/// The rows that were left out since the start.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    told: Mutex<HashSet<LeftOutRow>>,
}

impl LeftOut {
    /// Reads a row; one that cannot be read is told once, and named instead.
    ///
    /// # Errors
    ///
    /// When the engine fails.
    pub(super) fn read<T>(
        &self,
        table: &Table,
        row: &Row<'_>,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Result<T, LeftOutRow>> {
        match read(row) {
            Err(err) if is_unreadable(&err) => {
                let row = table.name(row);
                self.tell(&row);
                Ok(Err(row))
            }
            read => read.map(Ok),
        }
    }

    /// Reads rows, and leaves out those that cannot be read.
    ///
    /// # Errors
    ///
    /// When the engine fails.
    pub(super) fn list<T>(
        &self,
        table: &Table,
        mut rows: Rows<'_>,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        let mut list = Vec::new();
        while let Some(row) = rows.next()? {
            list.extend(self.read(table, row, &read)?.ok());
        }
        Ok(list)
    }

    /// Returns how many were told.
    pub(super) fn count(&self) -> usize {
        self.told().len()
    }

    fn tell(&self, row: &LeftOutRow) {
        let mut told = self.told();
        if told.len() < MAX_TOLD && told.insert(row.clone()) {
            drop(told);
            // The cause may quote what the row says.
            tracing::error!(
                kind = row.kind.as_str(),
                id = row.id,
                "a stored row cannot be read: lists, searches and exports go on without it"
            );
        }
    }

    fn told(&self) -> MutexGuard<'_, HashSet<LeftOutRow>> {
        self.told.lock().expect("nobody panics while holding it")
    }
}

impl Table {
    fn name(&self, row: &Row<'_>) -> LeftOutRow {
        let values = self.key.iter().map(|column| match row.get_ref(*column) {
            Ok(ValueRef::Integer(number)) => number.to_string(),
            Ok(ValueRef::Text(text)) => String::from_utf8_lossy(text).into_owned(),
            _ => "?".to_owned(),
        });
        LeftOutRow { kind: self.kind, id: values.collect::<Vec<_>>().join(" ") }
    }
}

/// Tells whether what stands in a row is at fault, rather than the engine.
pub(super) fn is_unreadable(err: &rusqlite::Error) -> bool {
    matches!(
        err,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..)
    )
}
