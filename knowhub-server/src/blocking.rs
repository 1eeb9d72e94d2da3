//! Work that would hold up an async thread, on threads made for it, and who waits for a turn.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The runtime is shutting down, so the work was not done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closed;

/// Runs `work` on a thread that may block; its panic goes on in the caller.
pub(crate) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Closed> {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => Ok(value),
        Err(err) if err.is_panic() => std::panic::resume_unwind(err.into_panic()),
        Err(_) => Err(Closed),
    }
}

/// One that waits for its turn, counted as long as this lives; its caller may leave at any time.
pub(crate) struct Waiting<'a> {
    count: &'a AtomicUsize,
    /// Its number among those that wait, from 1.
    pub(crate) number: usize,
}

impl<'a> Waiting<'a> {
    /// Counts one more.
    pub(crate) fn new(count: &'a AtomicUsize) -> Self {
        Self { count, number: count.fetch_add(1, Ordering::Relaxed) + 1 }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}
