//! Read-only connections, opened when they are first needed.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::{Error, file};
use crate::blocking::{self, Waiting};

/// How many reads run at once; further ones wait for a connection, in the order they came.
const MAX_READERS: usize = 4;

/// The pool of connections that cannot write.
pub(super) struct Readers {
    path: PathBuf,
    /// One for each read; held by the read itself, since its caller may leave before it ends.
    permits: Arc<Semaphore>,
    /// How many reads wait for a permit.
    waiting: AtomicUsize,
    /// Connections that nobody uses right now.
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    /// Makes a pool for the store at `path`; opens nothing yet.
    pub(super) fn new(path: PathBuf) -> Self {
        let permits = Arc::new(Semaphore::new(MAX_READERS));
        Self { path, permits, waiting: AtomicUsize::new(0), idle: Mutex::new(Vec::new()) }
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
            self.idle().push(db);
            result
        });
        reading.await.unwrap_or(Err(Error::Closed))
    }

    /// Returns how many reads run and how many wait.
    pub(super) fn load(&self) -> (usize, usize) {
        let running = MAX_READERS - self.permits.available_permits();
        (running, self.waiting.load(Ordering::Relaxed))
    }

    /// Refuses further reads and closes the idle connections.
    pub(super) fn close(&self) {
        self.permits.close();
        self.idle().clear();
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().expect("nobody panics while holding it")
    }
}
