//! Hubs with many rows, filled over their API or kept from an earlier run.

use std::{
    fs,
    net::SocketAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use tokio::{task::JoinSet, time::Instant};

use super::{
    client::Client,
    corpus::Corpus,
    figures::{Progress, processor_seconds},
};
use crate::process::Process;

/// How many connections write at once.
const WRITERS: usize = 32;

/// How often progress and readiness are looked at.
const LOOK_PERIOD: Duration = Duration::from_millis(200);

/// How long a kept store may take to be checked, migrated and indexed anew, and merging after many reports.
const BUILD_PATIENCE: Duration = Duration::from_mins(10);

/// How long a hub must have done next to nothing to be at rest.
const REST_PERIOD: Duration = Duration::from_secs(1);

/// How much processor time next to nothing is.
const REST_SECONDS: f64 = 0.02;

/// Starts a hub over the first `rows` rows of the corpus, as they were kept in `folder` or else reported now.
///
/// The process has reported none of them, and is at rest.
pub async fn start_filled_hub(folder: &Path, corpus: &Arc<Corpus>, rows: u64) -> Result<Process> {
    fs::create_dir_all(folder)?;
    let mark = folder.join("filled");
    if mark.exists() {
        let kept: u64 = fs::read_to_string(&mark)?.parse().context("the mark is a number")?;
        ensure!(
            kept == rows,
            "{} holds {kept} rows; give --rows {kept}, or another --folder",
            folder.display()
        );
    } else {
        let hub = start_hub(folder).await?;
        fill_hub(hub.addr(), corpus, rows).await?;
        await_rest(&hub).await?;
        hub.terminate(BUILD_PATIENCE).await?;
        fs::write(mark, rows.to_string())?;
    }
    let hub = start_hub(folder).await?;
    await_rest(&hub).await?;
    Ok(hub)
}

/// Starts a hub over a store in `folder`, a new one or the one that is there.
pub async fn start_hub(folder: &Path) -> Result<Process> {
    let store = folder.join("knowhub.db").display().to_string();
    let settings = [
        ("KNOWHUB_ADDR", "127.0.0.1:0".to_owned()),
        ("KNOWHUB_DB", store),
        ("KNOWHUB_RATE_LIMIT", "0".to_owned()),
    ];
    let hub = Process::start_within(BUILD_PATIENCE, "knowhub-server", folder, &settings).await?;
    await_readiness(hub.addr()).await?;
    Ok(hub)
}

/// Waits until the hub does nothing more for the reports it took, such as merging parts of its index.
async fn await_rest(hub: &Process) -> Result<()> {
    let started = Instant::now();
    let mut ticks = tokio::time::interval(REST_PERIOD);
    ticks.tick().await;
    let mut used = processor_seconds(hub.id()?)?;
    loop {
        ticks.tick().await;
        let before = std::mem::replace(&mut used, processor_seconds(hub.id()?)?);
        if used - before <= REST_SECONDS {
            return Ok(());
        }
        ensure!(started.elapsed() < BUILD_PATIENCE, "the hub is not at rest in {BUILD_PATIENCE:?}");
    }
}

/// Waits until every row of the hub can be found, which takes long when the index of many rows is built anew.
async fn await_readiness(addr: SocketAddr) -> Result<()> {
    let mut client = Client::connect(addr).await?;
    let mut ticks = tokio::time::interval(LOOK_PERIOD);
    let started = Instant::now();
    while client.get("/readyz", &[]).await?.status != 200 {
        ensure!(started.elapsed() < BUILD_PATIENCE, "the hub was not ready in {BUILD_PATIENCE:?}");
        ticks.tick().await;
    }
    Ok(())
}

/// Reports the first `rows` rows of the corpus to the hub, over its API as anybody would.
pub async fn fill_hub(addr: SocketAddr, corpus: &Arc<Corpus>, rows: u64) -> Result<()> {
    let next = Arc::new(AtomicU64::new(0));
    let mut writers = JoinSet::<Result<()>>::new();
    for _ in 0..WRITERS {
        let (corpus, next) = (Arc::clone(corpus), Arc::clone(&next));
        writers.spawn(async move {
            let mut client = Client::connect(addr).await?;
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= rows {
                    return Ok(());
                }
                report(&mut client, &corpus, index).await?;
            }
        });
    }
    let progress = Progress::new("rows reported", rows);
    let mut ticks = tokio::time::interval(LOOK_PERIOD);
    loop {
        tokio::select! {
            ended = writers.join_next() => match ended {
                Some(ended) => ended??,
                None => break,
            },
            _ = ticks.tick() => progress.show(next.load(Ordering::Relaxed).min(rows)),
        }
    }
    progress.show(rows);
    Ok(())
}

/// Reports one row; anything but 201 is an error.
pub async fn report(client: &mut Client, corpus: &Corpus, index: u64) -> Result<()> {
    let body = serde_json::to_vec(&corpus.experience(index))?;
    let answer = client.post("/api/experience", &body).await?;
    ensure!(answer.status == 201, "{}: {}", answer.status, String::from_utf8_lossy(&answer.body));
    Ok(())
}
