//! Read-only connections, opened when they are first needed.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use rusqlite::Connection;
use tokio::{sync::Semaphore, time::timeout};

use super::{Error, file};
use crate::blocking::{self, Waiting};

/// How many reads run at once for each processor; further ones wait for a connection, in the order they came.
const READERS_PER_CPU: usize = 4;

/// How many long reads run at once besides; further ones wait until one ends.
const MAX_LONG_READS: u32 = 2;

/// How long a store that closes waits for the reads that run.
const CLOSE_PATIENCE: Duration = Duration::from_secs(5);

/// The pool of connections that cannot write.
pub(super) struct Readers {
    path: PathBuf,
    count: usize,
    /// One for each read; held by the read itself, since its caller may leave before it ends.
    permits: Arc<Semaphore>,
    /// How many reads wait for a permit.
    waiting: AtomicUsize,
    /// One for each long read, which keeps the others waiting for nothing.
    long_reads: Arc<Semaphore>,
    /// Connections that nobody uses right now.
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    /// Makes a pool for the store at `path`; opens nothing yet.
    pub(super) fn new(path: PathBuf) -> Self {
        let count = READERS_PER_CPU * thread::available_parallelism().map_or(1, Into::into);
        let permits = Arc::new(Semaphore::new(count));
        let long_reads = Arc::new(Semaphore::new(MAX_LONG_READS as usize));
        let (waiting, idle) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        Self { path, count, permits, waiting, long_reads, idle }
    }

    /// Runs long `work` on a connection of its own, which should end it when [`Readers::is_closed`].
    pub(super) async fn run_apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let permits = Arc::clone(&self.long_reads);
        let permit = permits.acquire_owned().await.map_err(|_| Error::Closed)?;
        let path = self.path.clone();
        let reading = blocking::run(move || {
            let _permit = permit;
            work(&file::open_reader(&path)?)
        });
        reading.await.unwrap_or(Err(Error::Closed))
    }

    /// Tells whether reads are refused.
    pub(super) fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }

    /// Returns the store's file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` on one of the connections, off the async threads.
    pub(super) async fn run<T: Send + 'static>(
        self: Arc<Self>,
        work: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let waiting = Waiting::new(&self.waiting);
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| Error::Closed)?;
        drop(waiting);
        let reading = blocking::run(move || {
            let _permit = permit;
            let db = match self.idle().pop() {
                Some(db) => db,
                None => file::open_reader(&self.path)?,
            };
            let result = work(&db);
            let mut idle = self.idle();
            // Otherwise the store has been closed meanwhile, and nobody would close this one.
            if !self.is_closed() {
                idle.push(db);
            }
            result
        });
        reading.await.unwrap_or(Err(Error::Closed))
    }

    /// Returns how many reads run and how many wait.
    pub(super) fn load(&self) -> (usize, usize) {
        let running = self.count - self.permits.available_permits();
        (running, self.waiting.load(Ordering::Relaxed))
    }

    /// Refuses further reads and closes all connections, those of running reads when these end.
    ///
    /// Running reads are waited for, up to [`CLOSE_PATIENCE`]: the writer's connection should be the last one, since
    /// with the last one the engine tidies its files up.
    pub(super) async fn close(&self) {
        let reads = u32::try_from(self.count).unwrap_or(u32::MAX);
        let _ = timeout(CLOSE_PATIENCE, self.permits.acquire_many(reads)).await;
        self.permits.close();
        let _ = timeout(CLOSE_PATIENCE, self.long_reads.acquire_many(MAX_LONG_READS)).await;
        self.long_reads.close();
        self.idle().clear();
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().expect("nobody panics while holding it")
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, sync::mpsc};

    use futures_util::FutureExt;

    use crate::{metrics::CommitMetrics, store::Store};

    #[tokio::test]
    async fn a_read_whose_caller_left_leaves_no_file_behind() {
        let folder = tempfile::tempdir().unwrap();
        let store =
            Store::open(&folder.path().join("hub.db"), CommitMetrics::default(), |_| {}).unwrap();
        let (started, has_started) = tokio::sync::oneshot::channel();
        let (end, ended) = mpsc::channel();
        let reading = tokio::spawn({
            let store = store.clone();
            async move {
                store
                    .read(move |_| {
                        started.send(()).unwrap();
                        ended.recv().unwrap();
                        Ok(())
                    })
                    .await
            }
        });
        has_started.await.unwrap();
        reading.abort();
        reading.await.unwrap_err();
        let mut closing = pin!(store.close());
        assert!(closing.as_mut().now_or_never().is_none(), "it waits for the read");
        end.send(()).unwrap();
        closing.await;
        let left: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with("-wal") || name.ends_with("-shm"))
            .collect();
        assert_eq!(left, Vec::<String>::new());
    }
}
