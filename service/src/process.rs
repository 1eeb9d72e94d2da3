//! From `main` to exit code, and the signals in between.

use std::{future::Future, io::Write, process::ExitCode};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The exit code of a process that a second signal ended at once.
const EXIT_INTERRUPTED: i32 = 130;

/// Runs a daemon to its end; an error is printed with its whole chain, and the exit code is 1.
pub fn run(main: impl Future<Output = anyhow::Result<()>>) -> ExitCode {
    let result = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| runtime.block_on(main));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            // Nothing is left to tell when standard error is gone as well.
            let _ = writeln!(std::io::stderr(), "error: {err:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns a token that the first SIGINT or SIGTERM cancels; the second ends the process at once.
///
/// # Errors
///
/// When the operating system gives no signal handler.
pub fn stop_signal() -> std::io::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let token = stop.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if token.is_cancelled() {
                tracing::warn!("second signal: leaving at once");
                std::process::exit(EXIT_INTERRUPTED);
            }
            tracing::info!("signal: shutting down; a second one ends at once");
            token.cancel();
        }
    });
    Ok(stop)
}
