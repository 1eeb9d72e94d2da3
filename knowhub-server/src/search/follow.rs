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

/// Follows the store until `stop`.
pub(super) async fn follow(kind: RecordKind, store: Store, index: Index, stop: CancellationToken) {
    let _leaving = Leaving(&index);
    keep_on(kind, &index, &stop, || turn(kind, &store, &index, &stop)).await;
    // What is not committed now is read from the store at the next start.
    if let Err(failure) = outcome(commit_next(kind, &store, &index)).await {
        tracing::warn!(?kind, error = failure, "the search index was left behind");
    }
    if let Err(failure) = outcome(index.close()).await {
        tracing::warn!(?kind, error = failure, "the search index's writer did not end well");
    }
}

/// Takes turns until `stop`; a failure is logged and tried again, since the rows are safe.
async fn keep_on<T: Future<Output = Result<(), Error>>>(
    kind: RecordKind,
    index: &Index,
    stop: &CancellationToken,
    turn: impl Fn() -> T,
) {
    while !stop.is_cancelled() {
        let Err(failure) = outcome(turn()).await else { continue };
        tracing::error!(?kind, error = failure, "the search index does not follow; trying again");
        if let Err(failure) = outcome(index.undo()).await {
            tracing::error!(?kind, error = failure, "the search index cannot be read");
        }
        let _ = stop.run_until_cancelled(sleep(RETRY_PAUSE)).await;
    }
}

/// Whoever leaves, for whatever cause, leaves nobody waiting.
struct Leaving<'a>(&'a Index);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// Commits what there is, and once that is all, waits for more.
async fn turn(
    kind: RecordKind,
    store: &Store,
    index: &Index,
    stop: &CancellationToken,
) -> Result<(), Error> {
    // Before the store is read, so that a change is either in what is read or stays in memory.
    index.recent().keep();
    if commit_next(kind, store, index).await? && index.caught_up() {
        let _ = stop.run_until_cancelled(new_rows(kind, index)).await;
    }
    Ok(())
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

/// Says what work came to; a panic is a failure like any other, or the index would stand still without a word.
async fn outcome<T, E: std::error::Error + 'static>(
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, String> {
    match AssertUnwindSafe(work).catch_unwind().await {
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
    use std::{
        sync::{
            Arc,
            atomic::{AtomicBool, Ordering},
        },
        thread,
    };

    use super::*;
    use crate::{
        index::{self, Following, Grams, Recent},
        metrics::CommitMetrics,
    };

    const KIND: RecordKind = RecordKind::Experience;

    struct Fixture {
        _folder: tempfile::TempDir,
        store: Store,
        index: Index,
        recent: Arc<Recent>,
    }

    fn fixture() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub.db");
        let store = Store::open(&path, CommitMetrics::default(), |_| {}).unwrap();
        let recent = Arc::new(Recent::new(Grams::Substrings));
        let index =
            Index::open(&folder.path().join("index"), Arc::clone(&recent), store.identity())
                .unwrap();
        Fixture { _folder: folder, store, index, recent }
    }

    #[tokio::test]
    async fn a_panic_is_told_as_a_failure() {
        async fn check(work: impl Future<Output = Result<u8, Error>>, expected: Result<u8, &str>) {
            assert_eq!(outcome(work).await, expected.map_err(str::to_owned));
        }
        check(async { Ok(1) }, Ok(1)).await;
        let closed = async { Err(index::Error::Closed.into()) };
        check(closed, Err("the search index is closed")).await;
        check(async { panic!("a row") }, Err("it panicked")).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_panics_is_followed_by_another() {
        let Fixture { index, _folder, .. } = fixture();
        index.recent().keep();
        assert!(index.caught_up());
        let (is_second, stop) = (&AtomicBool::new(false), &CancellationToken::new());
        keep_on(KIND, &index, stop, || async move {
            assert!(is_second.swap(true, Ordering::Relaxed), "the first turn panics");
            stop.cancel();
            Ok(())
        })
        .await;
        assert_eq!(*index.following().borrow(), Following::Behind);
    }

    #[tokio::test]
    async fn nobody_waits_for_a_follower_that_is_gone() {
        let Fixture { store, index, recent, _folder } = fixture();
        let following = follow(KIND, store, index.clone(), CancellationToken::new());
        let following = tokio::spawn(following);
        let mut state = index.following();
        state.wait_for(|state| *state == Following::Current).await.unwrap();
        following.abort();
        assert!(following.await.unwrap_err().is_cancelled());
        assert_eq!(*state.borrow(), Following::Behind);

        let rows = (1..=10_000).map(|row| Update::Drop { row, seq: row }).collect();
        thread::spawn(move || recent.remember(rows)).join().unwrap();
    }
}
