//! Several reads on one connection, by whoever runs where it may block.

use std::sync::Arc;

use rusqlite::Connection;

use super::{Error, Store, left_out::LeftOut};

/// A connection for reading, held by one caller.
pub(crate) struct Reader<'a> {
    pub(super) db: &'a Connection,
    pub(super) left_out: &'a LeftOut,
}

impl Store {
    /// Runs `work` off the async threads, with one connection for all that it reads.
    pub(crate) async fn reading<T, E>(
        &self,
        work: impl FnOnce(&Reader<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let left_out = Arc::clone(&self.left_out);
        self.read(move |db| Ok(work(&Reader { db, left_out: &left_out }))).await?
    }
}
