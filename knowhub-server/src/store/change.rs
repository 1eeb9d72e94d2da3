//! The change sequence: one number for each change of a searchable row, in commit order, without gaps to trip over.

use rusqlite::Connection;

use super::{DeletedRow, Experience, KnowledgeRow, Resource};

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

/// Which store this is, so that an index of another one is not taken for its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Drawn when the store was created.
    pub(crate) id: String,
    /// The last number of the change sequence when the store was opened; 0 when there is none.
    pub(crate) last_seq: i64,
}

pub(super) fn identity(db: &Connection) -> rusqlite::Result<Identity> {
    db.query_row("SELECT id, last_seq FROM store", [], |row| {
        Ok(Identity { id: row.get(0)?, last_seq: row.get(1)? })
    })
}

/// Takes the next number, within the caller's transaction.
pub(super) fn next_seq(db: &Connection) -> rusqlite::Result<i64> {
    db.prepare_cached("UPDATE store SET last_seq = last_seq + 1 RETURNING last_seq")?
        .query_row([], |row| row.get(0))
}
