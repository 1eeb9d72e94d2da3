//! Measures how long each process takes from its start to readiness on an empty store, and how much memory it holds idle.

#![expect(clippy::print_stdout, reason = "prints a table for a person")]

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tests::{bench::figures::memory_mb, process::Process, system::System, wait};
use tokio::time::Instant;

/// How often each process is started; the table shows the median and the slowest.
const RUNS: usize = 11;

#[tokio::main]
async fn main() -> Result<()> {
    let mut measured = [("im-server", vec![]), ("knowhub-server", vec![]), ("librarian", vec![])];
    for _ in 0..RUNS {
        let mut system = System::stopped(vec![])?;
        // The librarian is ready only with the other two, so it comes last.
        for (name, figures) in &mut measured {
            let started = Instant::now();
            match *name {
                "im-server" => system.start_relay().await?,
                "knowhub-server" => system.start_hub().await?,
                _ => system.start_librarian_unready().await?,
            }
            let process = match *name {
                "im-server" => &system.relay,
                "knowhub-server" => &system.hub,
                _ => &system.librarian,
            };
            let process = process.as_ref().context("it was just started")?;
            await_readiness(process).await?;
            figures.push((started.elapsed(), memory_mb(process.id()?, "VmRSS")?));
        }
        system.stop().await?;
    }
    println!(
        "| process | start to ready, median (slowest of {RUNS}) | memory idle, median (largest) |"
    );
    println!("|---|---|---|");
    for (name, figures) in measured {
        let (start, slowest) = middle_and_last(figures.iter().map(|(start, _)| *start));
        let (memory, largest) = middle_and_last(figures.iter().map(|(_, memory)| *memory));
        println!(
            "| `{name}` | {} ms ({} ms) | {memory:.1} MB ({largest:.1} MB) |",
            start.as_millis(),
            slowest.as_millis(),
        );
    }
    Ok(())
}

async fn await_readiness(process: &Process) -> Result<()> {
    let url = format!("http://{}/readyz", process.addr());
    let deadline = Instant::now() + wait::PATIENCE;
    // Asks again at once: a longer pause would be part of what is measured.
    while !reqwest::get(&url).await.is_ok_and(|answer| answer.status().is_success()) {
        ensure!(Instant::now() < deadline, "{url} never said ready");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

fn middle_and_last<T: PartialOrd + Copy>(figures: impl Iterator<Item = T>) -> (T, T) {
    let mut figures: Vec<_> = figures.collect();
    figures.sort_unstable_by(|a, b| a.partial_cmp(b).expect("a figure is a number"));
    (figures[figures.len() / 2], figures[figures.len() - 1])
}
