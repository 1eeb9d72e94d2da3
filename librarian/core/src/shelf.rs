//! The seam behind which knowledge is kept: the daemon reaches it over HTTP, a test in process.

use std::error::Error;

use async_trait::async_trait;
use protocol::Source;

use crate::upload::{Part, PartOutcome};

/// Where the librarian looks things up and puts things away.
#[async_trait]
pub trait Shelf: Send + Sync {
    /// Returns at most `limit` records that are relevant to `query`, best first.
    async fn retrieve(&self, query: &str, limit: usize) -> Result<Vec<Source>, ShelfError>;

    /// Stores the items of one uploaded message.
    ///
    /// The part is known by its sender and message id: submitted again, it stores nothing twice
    /// and has the same outcome. An item that is refused for itself is part of the outcome and
    /// costs the others nothing.
    async fn submit(&self, part: &Part) -> Result<PartOutcome, ShelfError>;
}

/// Why the shelf did not do it.
#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
    /// Nobody is there, or it cannot be done right now: the same call may succeed later.
    #[error("the hub does not answer")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
    /// The call itself is refused: the same call will fail again.
    #[error("the hub refuses: {0}")]
    Refused(String),
}
