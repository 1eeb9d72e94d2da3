//! How far a long command is, for a person who waits; nothing where nobody watches.

use std::{
    io::{self, IsTerminal, Write},
    time::Duration,
};

use tokio::time::Instant;

/// How often the line changes at most.
const INTERVAL: Duration = Duration::from_millis(100);

/// One line on a terminal that tells how far a command is.
#[derive(Debug)]
pub(super) struct Progress {
    is_watched: bool,
    shown_at: Option<Instant>,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { is_watched: io::stderr().is_terminal(), shown_at: None }
    }

    /// Shows a line in the place of the last, unless that stands there only since a moment.
    pub(super) fn show(&mut self, line: impl FnOnce() -> String) {
        let is_due = self.shown_at.is_none_or(|shown_at| shown_at.elapsed() >= INTERVAL);
        if self.is_watched && is_due {
            self.shown_at = Some(Instant::now());
            // Whether it can be seen changes nothing about the command.
            let _ = write!(io::stderr(), "\r\u{1b}[K{}", line());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown_at.is_some() {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}

/// How many characters a bar has.
const BAR_CHARS: usize = 24;

/// Returns a line with a bar; of what nobody knows the end of, `done` alone is told.
pub(super) fn bar(doing: &str, done: usize, of: usize) -> String {
    let filled = (BAR_CHARS * done).checked_div(of).unwrap_or_default().min(BAR_CHARS);
    let (full, rest) = ("#".repeat(filled), "-".repeat(BAR_CHARS - filled));
    format!("{doing} [{full}{rest}] {done}/{of}")
}

/// Returns a number of bytes as people read it.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.2} GB", bytes as f64 / 1e9),
    }
}
