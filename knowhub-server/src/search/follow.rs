//! Bringing an index after the store: one task for each kind of row.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Error, experiences, knowledge};
use crate::{
    index::{Doc, Index},
    store::Store,
};

/// How long new rows gather before they are committed to the index.
const COMMIT_INTERVAL: Duration = Duration::from_millis(250);

/// How many rows are read at once; bounds the memory of catching up.
const PAGE_ROWS: u32 = 256;

/// How many rows go into one commit at most; only catching up meets it.
const MAX_COMMIT_ROWS: usize = 20_000;

/// How long to wait after a failure before trying again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Which rows an index follows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Experiences,
    Knowledge,
}

/// Follows the store until `stop`; a failure is logged and tried again, since the rows are safe.
pub(super) async fn follow(kind: Kind, store: Store, index: Index, stop: CancellationToken) {
    let following = async {
        loop {
            match catch_up(kind, &store, &index).await {
                Ok(()) => {
                    index.caught_up();
                    index.recent().arrived().await;
                    // A commit costs milliseconds however few rows are in it, so let some gather.
                    let _ = tokio::time::timeout(COMMIT_INTERVAL, index.recent().due()).await;
                }
                Err(err) => {
                    tracing::error!(?kind, error = ?err, "the search index does not follow; trying again");
                    tokio::time::sleep(RETRY_PAUSE).await;
                }
            }
        }
    };
    let _: Option<()> = stop.run_until_cancelled(following).await;
}

/// Commits everything beyond the index's mark.
async fn catch_up(kind: Kind, store: &Store, index: &Index) -> Result<(), Error> {
    loop {
        let mut mark = index.mark();
        let (mut rows, mut top_row) = (0, 0);
        while rows < MAX_COMMIT_ROWS {
            let page = page_after(kind, store, mark).await?;
            let Some(last) = page.last() else { break };
            mark = last.seq;
            top_row = page.iter().map(|doc| doc.row).fold(top_row, i64::max);
            rows += page.len();
            index.add(page).await?;
        }
        if rows == 0 {
            return Ok(());
        }
        index.commit(mark, top_row).await?;
    }
}

async fn page_after(kind: Kind, store: &Store, seq: i64) -> Result<Vec<Doc>, Error> {
    Ok(match kind {
        Kind::Experiences => {
            let rows = store.list_experiences_after(seq, PAGE_ROWS).await?;
            rows.iter().map(experiences::doc).collect()
        }
        Kind::Knowledge => {
            let rows = store.list_knowledge_after(seq, PAGE_ROWS).await?;
            rows.iter().map(knowledge::doc).collect()
        }
    })
}
