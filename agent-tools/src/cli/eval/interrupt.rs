//! Hearing that a measuring run shall end, so that its hub ends with it.

use futures_util::future;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::Outcome;

/// The exit code of a command that was interrupted.
const INTERRUPTED: u8 = 130;

/// Ends when somebody asks the program to end.
pub(super) async fn interrupted() {
    let kinds = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::quit(),
    ];
    // One that cannot be heard ends the program as if nobody listened.
    let mut signals: Vec<_> = kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect();
    let heard = signals.iter_mut().map(|signal| Box::pin(signal.recv()));
    future::select_all(heard).await;
}

/// Returns the outcome of a run that was interrupted.
pub(super) fn given_up() -> Outcome {
    let note = Some("interrupted; the scratch hub is gone".to_owned());
    Outcome { note, exit_code: INTERRUPTED, ..Outcome::nothing() }
}
