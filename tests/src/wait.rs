//! Waiting for something to become true.

use std::time::Duration;

use anyhow::{Result, bail};

/// How long anything may take to become true before a test gives up on it.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// How often it is looked at.
const PERIOD: Duration = Duration::from_millis(10);

/// Waits until `probe` gives a value; `what` says in the error what was waited for.
///
/// # Errors
///
/// When it gave none within [`PATIENCE`]; carries the last reason.
pub async fn until<T>(what: &str, mut probe: impl AsyncFnMut() -> Result<T>) -> Result<T> {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let mut ticks = tokio::time::interval(PERIOD);
    loop {
        ticks.tick().await;
        match probe().await {
            Ok(value) => return Ok(value),
            Err(err) if tokio::time::Instant::now() > deadline => {
                bail!("{what} did not come true within {PATIENCE:?}: {err:#}")
            }
            Err(_) => {}
        }
    }
}
