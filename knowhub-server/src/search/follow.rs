//! Bringing an index after the store: one task for each kind of row.

use std::time::Duration;

use service::logging::chain;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::Error;
use crate::{
    index::{Index, Update},
    store::{RecordKind, Store},
};

/// How long new rows gather before they are committed to the index.
const COMMIT_INTERVAL: Duration = Duration::from_millis(250);

/// How soon after a commit to look whether the engine has merged segments; each further look waits twice as long.
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
        match commit_next(kind, &store, &index).await {
            Ok(true) => {}
            Ok(false) => {
                index.caught_up();
                let _ = stop.run_until_cancelled(new_rows(kind, &index)).await;
            }
            Err(err) => {
                tracing::error!(?kind, error = %chain(&err), "the search index does not follow; trying again");
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
        if let Err(err) = index.show_merged().await {
            tracing::warn!(?kind, error = %chain(&err), "searches do not see what the search index merged");
        }
        pause = LAST_LOOK.min(2 * pause);
    }
    let _ = timeout(COMMIT_INTERVAL, index.recent().due()).await;
}

/// Commits the changes beyond the index's mark, as many as go into one commit; tells whether there were any.
async fn commit_next(kind: RecordKind, store: &Store, index: &Index) -> Result<bool, Error> {
    let mut mark = index.mark();
    let mut rows = 0;
    while rows < MAX_COMMIT_ROWS {
        let changes = store.list_changes_after(kind, mark, PAGE_ROWS).await?;
        let Some(last) = changes.last() else { break };
        mark = last.seq();
        let updates: Vec<Update> = changes.iter().map(super::update).collect();
        rows += updates.len();
        index.add(updates).await?;
    }
    if rows > 0 {
        index.commit(mark).await?;
    }
    Ok(rows > 0)
}
