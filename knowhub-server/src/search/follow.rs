//! Bringing an index after the store: one task for each kind of row.

use std::{future::Future, panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt;
use service::logging::chain;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::Error;
use crate::{
    index::{Index, Update},
    store::{RecordKind, Store},
};

/// How long new rows gather before they are committed to the index.
const COMMIT_INTERVAL: Duration = Duration::from_secs(1);

/// How soon after a commit to look whether segments can be merged; each further look waits twice as long.
const FIRST_LOOK: Duration = Duration::from_millis(250);

/// The longest pause between two such looks.
const LAST_LOOK: Duration = Duration::from_mins(1);

/// How many rows are read at once; bounds the memory of catching up.
const PAGE_ROWS: u32 = 256;

/// How many rows go into one commit at most; only catching up meets it.
const MAX_COMMIT_ROWS: usize = 20_000;

/// How long to wait after a failure before trying again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Follows the store until `stop`; a failure is logged and tried again, since the rows are safe.
pub(super) async fn follow(kind: RecordKind, store: Store, index: Index, stop: CancellationToken) {
    while !stop.is_cancelled() {
        // Before the store is read, so that a change is either in what is read or stays in memory.
        index.recent().keep();
        match outcome(commit_next(kind, &store, &index)).await {
            Ok(true) if index.caught_up() => {
                let _ = stop.run_until_cancelled(new_rows(kind, &index)).await;
            }
            Ok(_) => {}
            Err(failure) => {
                tracing::error!(
                    ?kind,
                    error = failure,
                    "the search index does not follow; trying again"
                );
                if let Err(err) = index.undo().await {
                    tracing::error!(?kind, error = %chain(&err), "the search index cannot be read");
                }
                let _ = stop.run_until_cancelled(sleep(RETRY_PAUSE)).await;
            }
        }
    }
    // What is not committed now is read from the store at the next start.
    if let Err(err) = commit_next(kind, &store, &index).await {
        tracing::warn!(?kind, error = %chain(&err), "the search index was left behind");
    }
    index.close().await;
}

/// Waits for a row, and then for more: a commit costs milliseconds however few rows are in it.
async fn new_rows(kind: RecordKind, index: &Index) {
    let mut pause = FIRST_LOOK;
    while timeout(pause, index.recent().arrived()).await.is_err() {
        if let Err(err) = index.settle().await {
            tracing::warn!(?kind, error = %chain(&err), "the search index does not merge; searches take longer");
        }
        pause = LAST_LOOK.min(2 * pause);
    }
    let _ = timeout(COMMIT_INTERVAL, index.recent().due()).await;
}

/// Says what a commit came to; a panic is a failure like any other, or the index would stand still without a word.
async fn outcome(commit: impl Future<Output = Result<bool, Error>>) -> Result<bool, String> {
    match AssertUnwindSafe(commit).catch_unwind().await {
        Ok(done) => done.map_err(|err| chain(&err)),
        Err(_) => Err("it panicked".to_owned()),
    }
}

/// Commits the changes beyond the index's mark, as many as go into one commit; tells whether there are no more.
async fn commit_next(kind: RecordKind, store: &Store, index: &Index) -> Result<bool, Error> {
    let mut mark = index.mark();
    let (mut rows, mut is_last) = (0, false);
    while rows < MAX_COMMIT_ROWS {
        let changes = store.list_changes_after(kind, mark, PAGE_ROWS).await?;
        let Some(last) = changes.last() else {
            is_last = true;
            break;
        };
        mark = last.seq();
        let updates: Vec<Update> = changes.iter().map(super::update).collect();
        rows += updates.len();
        index.add(updates).await?;
    }
    if rows > 0 {
        index.commit(mark).await?;
    }
    Ok(is_last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_told_as_a_failure() {
        assert_eq!(outcome(async { Ok(true) }).await, Ok(true));
        let closed = outcome(async { Err(crate::index::Error::Closed.into()) }).await;
        assert_eq!(closed, Err("the search index is closed".to_owned()));
        assert_eq!(outcome(async { panic!("a row") }).await, Err("it panicked".to_owned()));
    }
}
