//! Several reads on one connection, by whoever runs where it may block.

use rusqlite::Connection;

use super::{Error, Store};

/// A connection for reading, held by one caller.
pub(crate) struct Reader<'a>(pub(super) &'a Connection);

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
        self.read(move |db| Ok(work(&Reader(db)))).await?
    }
}
