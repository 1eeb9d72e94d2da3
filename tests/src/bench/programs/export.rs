//! Measures an export of many rows: how fast it streams, and how much memory the hub holds meanwhile.

#![expect(clippy::print_stdout, reason = "prints a table for a person")]

use std::{path::PathBuf, sync::Arc};

use anyhow::{Result, ensure};
use clap::Parser;
use futures_util::StreamExt;
use tests::bench::{corpus::Corpus, figures::memory_mb, load::start_filled_hub};
use tokio::time::Instant;

#[derive(Parser)]
#[command(about = "Measures an export: its speed, and the hub's memory")]
struct Options {
    /// How many experiences to export.
    #[arg(long, default_value_t = 1_000_000)]
    rows: u64,

    /// Where the store is made, and kept for the next run; a scratch folder when absent.
    #[arg(long)]
    folder: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    let scratch = tempfile::Builder::new().prefix("knowhub-bench-").tempdir()?;
    let folder = options.folder.unwrap_or_else(|| scratch.path().to_owned());
    let hub = start_filled_hub(&folder, &Arc::new(Corpus::default()), options.rows).await?;
    let before = memory_mb(hub.id()?, "RssAnon")?;
    let started = Instant::now();
    let answer = reqwest::get(format!("http://{}/api/export", hub.addr())).await?;
    ensure!(answer.status().is_success(), "{}", answer.status());
    let (mut bytes, mut lines, mut most) = (0, 0, before);
    let mut chunks = answer.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        bytes += chunk.len();
        lines += chunk.split(|byte| *byte == b'\n').count() - 1;
        most = memory_mb(hub.id()?, "RssAnon")?.max(most);
    }
    let seconds = started.elapsed().as_secs_f64();
    let with_files = memory_mb(hub.id()?, "VmHWM")?;
    println!(
        "| lines | size | time | hub's own memory before | most | with the files it maps, most |"
    );
    println!("|---|---|---|---|---|---|");
    println!(
        "| {lines} | {:.0} MB | {seconds:.1} s | {before:.0} MB | {most:.0} MB | {with_files:.0} MB |",
        bytes as f64 / 1e6
    );
    Ok(())
}
