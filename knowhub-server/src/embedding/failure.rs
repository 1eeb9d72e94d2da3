//! Why embedding does not go on, and how long until it is tried again.

use std::time::Duration;

use llm::embedding::EmbeddingError;

use crate::{blocking, store, vectors};

/// The pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause after a failure, unless the model wishes to be left alone for longer.
const LAST_PAUSE: Duration = Duration::from_mins(1);

/// How long the model is left alone at most; a longer wish counts as this one.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(10);

/// Why a step failed; it is done again after a pause.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Index(#[from] vectors::Error),
    #[error(transparent)]
    Model(#[from] EmbeddingError),
    #[error("the embedding model has no vector for a word")]
    NoVector,
    #[error(
        "queries get vectors of {query} numbers and passages of {passage}, so that searches go by words alone; \
         EMBEDDING_QUERY_MODEL must be of one kind with EMBEDDING_MODEL"
    )]
    QueryDimension { query: usize, passage: usize },
    #[error("the hub is shutting down")]
    Closed,
}

impl From<blocking::Closed> for Failure {
    fn from(_: blocking::Closed) -> Self {
        Self::Closed
    }
}

impl Failure {
    /// Returns how long the model wishes to be left alone, if it says so.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Model(EmbeddingError::Call(err)) => err.retry_after(),
            _ => None,
        }
    }
}

/// Returns how long to wait after so many failures in a row; `spread`, 0 to 1, takes off up to half of it.
///
/// What the model wishes in `retry_after` is the least.
pub(super) fn pause(failures: u32, retry_after: Option<Duration>, spread: f64) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1)));
    let pause = doubled.min(LAST_PAUSE).mul_f64(1.0 - spread / 2.0);
    retry_after.map_or(pause, |least| least.min(MAX_RETRY_AFTER).max(pause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_are_no_shorter_than_the_model_wishes() {
        let secs = Duration::from_secs;
        for (failures, wish, spread, expected) in [
            (1, None, 0.0, secs(1)),
            (3, None, 0.0, secs(4)),
            (3, None, 1.0, secs(2)),
            (u32::MAX, None, 0.0, LAST_PAUSE),
            (1, Some(secs(40)), 0.5, secs(40)),
            (5, Some(secs(2)), 0.0, secs(16)),
            (1, Some(secs(86_400)), 0.0, MAX_RETRY_AFTER),
        ] {
            assert_eq!(pause(failures, wish, spread), expected, "{failures} {wish:?} {spread}");
        }
    }
}
