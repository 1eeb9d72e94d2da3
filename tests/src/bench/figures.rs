//! Percentiles, memory, and progress on a terminal.

use std::{
    fs,
    io::{IsTerminal, stderr},
    time::Duration,
};

use anyhow::{Context, Result};
use tokio::time::Instant;

/// How long each of many requests took.
#[derive(Clone, Debug, Default)]
pub struct Latencies(Vec<Duration>);

impl Latencies {
    /// Adds one.
    pub fn push(&mut self, latency: Duration) {
        self.0.push(latency);
    }

    /// Adds all of another list.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the milliseconds that this percentage of the requests stayed within.
    pub fn percentile_ms(&self, percent: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).map_or(f64::NAN, |latency| latency.as_secs_f64() * 1e3)
    }
}

/// Returns the megabytes that the kernel notes of a process under this name, such as `VmHWM`.
pub fn memory_mb(process: u32, name: &str) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let number = line.and_then(|line| line.split_whitespace().next());
    let kib: u32 = number.with_context(|| format!("the kernel names {name}"))?.parse()?;
    Ok(f64::from(kib) * 1024.0 / 1e6)
}

/// Returns the seconds of processor time that a process has used, as the kernel counts them in hundredths.
pub fn processor_seconds(process: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The program's name, in parentheses, may have spaces; user and system time are the 12th and 13th field after it.
    let (_, fields) = stat.rsplit_once(')').context("the kernel puts the name in parentheses")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u32>);
    Ok(f64::from(ticks.sum::<Result<u32, _>>()?) / 100.0)
}

/// Tells a person how far a long step is; silent where nobody looks.
pub struct Progress {
    what: &'static str,
    total: u64,
    started: Instant,
    is_watched: bool,
}

impl Progress {
    /// Begins a step of so many parts.
    pub fn new(what: &'static str, total: u64) -> Self {
        Self { what, total, started: Instant::now(), is_watched: stderr().is_terminal() }
    }

    /// Shows that so many parts are done.
    #[expect(clippy::print_stderr, reason = "progress is for a person at a terminal")]
    pub fn show(&self, done: u64) {
        if self.is_watched {
            let seconds = self.started.elapsed().as_secs();
            let end = if done == self.total { "\n" } else { "" };
            eprint!("\r{}: {done} of {}, {seconds} s{end}", self.what, self.total);
        }
    }
}
