//! Work that would hold up an async thread, on threads made for it.

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
