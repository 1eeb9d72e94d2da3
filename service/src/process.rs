//! From `main` to exit code, and the signals in between.

use std::{future::Future, io::Write, process::ExitCode};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The exit code of a process that a second interrupt ended at once.
const EXIT_INTERRUPTED: i32 = 130;

/// After how many steps of tasks a busy thread looks for new requests.
///
/// A commit wakes dozens of tasks at once; at the runtime's own 61, a request that comes meanwhile waits for milliseconds.
const EVENT_INTERVAL: u32 = 16;

/// Runs a daemon to its end; an error is printed with its whole chain, and the exit code is 1.
pub fn run(main: impl Future<Output = anyhow::Result<()>>) -> ExitCode {
    let result = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .event_interval(EVENT_INTERVAL)
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

/// Returns a token that the first SIGINT, SIGTERM or SIGHUP cancels; a second SIGINT ends the process at once.
///
/// A later SIGTERM changes nothing: at a Ctrl-C the terminal interrupts every process itself,
/// and whoever runs them sends each a SIGTERM on top.
///
/// # Errors
///
/// When the operating system gives no signal handler.
pub fn stop_signal() -> std::io::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let token = stop.clone();
    tokio::spawn(async move {
        let mut is_interrupted = false;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {
                    if is_interrupted {
                        tracing::warn!("interrupted again: leaving at once");
                        std::process::exit(EXIT_INTERRUPTED);
                    }
                    is_interrupted = true;
                }
                _ = terminate.recv() => {}
                _ = hang_up.recv() => {}
            }
            if !token.is_cancelled() {
                tracing::info!("asked to stop: finishing what runs");
                token.cancel();
            }
        }
    });
    Ok(stop)
}
