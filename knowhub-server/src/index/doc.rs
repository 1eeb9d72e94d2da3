//! What the index knows of a row, and what it hears of.

/// A change of a row, as the index hears of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Update {
    /// The row's new state.
    Put(Doc),
    /// The row is gone.
    Drop {
        /// The row.
        row: i64,
        /// The change that deleted it.
        seq: i64,
    },
}

impl Update {
    /// Returns the row that changed.
    pub(crate) fn row(&self) -> i64 {
        match self {
            Self::Put(doc) => doc.row,
            Self::Drop { row, .. } => *row,
        }
    }

    /// Returns the change's number.
    pub(crate) fn seq(&self) -> i64 {
        match self {
            Self::Put(doc) => doc.seq,
            Self::Drop { seq, .. } => *seq,
        }
    }
}

/// A row as it is indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Doc {
    /// The row; indexing it again replaces it.
    pub(crate) row: i64,
    /// The change that this is the row's state of.
    pub(crate) seq: i64,
    /// What is searched, field by field.
    pub(crate) texts: Vec<String>,
    /// What it belongs to, for [`search_groups`](super::View::search_groups).
    pub(crate) group: Option<u64>,
    /// What is filtered by, as `kind:value`.
    pub(crate) labels: Vec<String>,
}
