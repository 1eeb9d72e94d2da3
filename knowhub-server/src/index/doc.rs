//! What the index knows of a row.

/// A row as it is indexed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Doc {
    /// The row; indexing it again replaces it.
    pub(crate) row: i64,
    /// The change that this is the row's state of.
    pub(crate) seq: i64,
    /// What is searched, field by field.
    pub(crate) texts: Vec<String>,
    /// What is filtered by, as `kind:value`.
    pub(crate) labels: Vec<String>,
}
