//! The change sequence: one number for each change of a searchable row, in commit order, without gaps to trip over.

use std::sync::Arc;

use rusqlite::{Connection, Row, Rows};

use super::{
    DeletedRow, Error, Experience, KnowledgeRow, RecordKind, Resource, Store, experiences,
    knowledge,
    left_out::{LeftOut, Table},
    resources, tombstones,
};

/// A searchable row as a commit left it.
pub(crate) enum Change {
    /// A new experience.
    Experience(Box<Experience>),
    /// A new or changed knowledge record.
    Knowledge(Box<KnowledgeRow>),
    /// A new or changed resource.
    Resource(Box<Resource>),
    /// A row that is gone.
    Deleted(DeletedRow),
}

impl Change {
    /// Returns what kind of row changed.
    pub(crate) fn kind(&self) -> RecordKind {
        match self {
            Self::Experience(_) => RecordKind::Experience,
            Self::Knowledge(_) => RecordKind::Knowledge,
            Self::Resource(_) => RecordKind::Resource,
            Self::Deleted(row) => row.kind,
        }
    }

    /// Returns the knowledge record that is new or changed, if it is one.
    pub(crate) fn knowledge(&self) -> Option<&KnowledgeRow> {
        match self {
            Self::Knowledge(row) => Some(row),
            _ => None,
        }
    }

    /// Returns the change's number.
    pub(crate) fn seq(&self) -> i64 {
        match self {
            Self::Experience(row) => row.seq,
            Self::Knowledge(row) => row.seq,
            Self::Resource(row) => row.seq,
            Self::Deleted(row) => row.seq,
        }
    }
}

/// Which store this is, so that an index of another one is not taken for its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Drawn when the store was created, or copied.
    pub(crate) id: String,
    /// The last number of the change sequence when the store was opened; 0 when there is none.
    pub(crate) last_seq: i64,
}

impl Store {
    /// Lists the changes of rows of this kind after `seq`, deletions included, in their order, at most `limit`.
    ///
    /// Of a row that changed several times only the last change is there;
    /// one that cannot be read counts as deleted, so that an index neither waits for it nor finds what it was.
    pub(crate) async fn list_changes_after(
        &self,
        kind: RecordKind,
        seq: i64,
        limit: u32,
    ) -> Result<Vec<Change>, Error> {
        let left_out = Arc::clone(&self.left_out);
        self.read(move |db| {
            // One snapshot, or a deletion could slip in between two lists.
            let db = db.unchecked_transaction()?;
            let mut changes = match kind {
                RecordKind::Experience => experiences::list_after(&db, seq, limit, &left_out)?,
                RecordKind::Knowledge => knowledge::list_after(&db, seq, limit, &left_out)?,
                RecordKind::Resource => resources::list_after(&db, seq, limit, &left_out)?,
            };
            changes.extend(
                tombstones::list_after(&db, kind, seq, limit)?.into_iter().map(Change::Deleted),
            );
            changes.sort_by_key(Change::seq);
            changes.truncate(limit as usize);
            Ok(changes)
        })
        .await
    }
}

/// Reads changed rows as changes, for [`Store::list_changes_after`].
pub(super) fn list_changed(
    mut rows: Rows<'_>,
    kind: RecordKind,
    table: &Table,
    left_out: &LeftOut,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<Change>,
) -> rusqlite::Result<Vec<Change>> {
    let mut changes = Vec::new();
    while let Some(row) = rows.next()? {
        changes.push(match left_out.read(table, row, &read)? {
            Ok(change) => change,
            Err(_) => {
                Change::Deleted(DeletedRow { kind, row: row.get("row")?, seq: row.get("seq")? })
            }
        });
    }
    Ok(changes)
}

pub(super) fn identity(db: &Connection) -> rusqlite::Result<Identity> {
    db.query_row("SELECT id, last_seq FROM store", [], |row| {
        Ok(Identity { id: row.get(0)?, last_seq: row.get(1)? })
    })
}

/// Makes a copy of a store a store of its own.
pub(super) fn renew_identity(db: &Connection) -> rusqlite::Result<()> {
    db.execute("UPDATE store SET id = lower(hex(randomblob(16)))", [])?;
    Ok(())
}

/// Takes the next number, within the caller's transaction.
pub(super) fn next_seq(db: &Connection) -> rusqlite::Result<i64> {
    db.prepare_cached("UPDATE store SET last_seq = last_seq + 1 RETURNING last_seq")?
        .query_row([], |row| row.get(0))
}
