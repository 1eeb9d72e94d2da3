//! Hubs with many rows, filled over their API or kept from an earlier run.

use std::{
    fs,
    net::SocketAddr,
    ops::Range,
    path::{Path, PathBuf},
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
const BUILD_PATIENCE: Duration = Duration::from_hours(1);

/// How long a hub must have done next to nothing to be at rest.
const REST_PERIOD: Duration = Duration::from_secs(1);

/// How much processor time next to nothing is.
const REST_SECONDS: f64 = 0.02;

/// What a hub is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Experiences.
    Experiences,
    /// Knowledge records.
    Knowledge,
}

/// A hub, before it is started.
pub struct Hub {
    /// Where its store is, or will be made.
    pub folder: PathBuf,
    /// What it is filled with.
    pub rows: Rows,
    /// Settings besides its address and its store.
    pub settings: Vec<(&'static str, String)>,
}

impl Hub {
    /// Starts it over the first `count` rows of the corpus, as they were kept in its folder or else reported now.
    ///
    /// The process has reported none of them, and is at rest.
    pub async fn start_filled(&self, corpus: &Arc<Corpus>, count: u64) -> Result<Process> {
        fs::create_dir_all(&self.folder)?;
        let mark = self.folder.join("filled");
        if mark.exists() {
            let kept: u64 = fs::read_to_string(&mark)?.parse().context("the mark is a number")?;
            ensure!(
                kept == count,
                "{} holds {kept} rows; give --rows {kept}, or another --folder",
                self.folder.display()
            );
        } else {
            let hub = self.start().await?;
            self.rows.fill(hub.addr(), corpus, 0..count).await?;
            await_rest(&hub).await?;
            hub.terminate(BUILD_PATIENCE).await?;
            fs::write(mark, count.to_string())?;
        }
        let hub = self.start().await?;
        await_rest(&hub).await?;
        Ok(hub)
    }

    /// Starts it over the store in its folder, a new one or the one that is there.
    async fn start(&self) -> Result<Process> {
        let store = self.folder.join("knowhub.db").display().to_string();
        let mut settings = vec![
            ("KNOWHUB_ADDR", "127.0.0.1:0".to_owned()),
            ("KNOWHUB_DB", store),
            ("KNOWHUB_RATE_LIMIT", "0".to_owned()),
        ];
        settings.extend(self.settings.iter().cloned());
        let hub = Process::start_within(BUILD_PATIENCE, "knowhub-server", &self.folder, &settings);
        let hub = hub.await?;
        await_readiness(hub.addr()).await?;
        Ok(hub)
    }
}

/// Starts a hub over the first `rows` experiences of the corpus, as [`Hub::start_filled`] does.
pub async fn start_filled_hub(folder: &Path, corpus: &Arc<Corpus>, rows: u64) -> Result<Process> {
    let hub = Hub { folder: folder.to_owned(), rows: Rows::Experiences, settings: Vec::new() };
    hub.start_filled(corpus, rows).await
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

impl Rows {
    /// Reports these rows of the corpus to the hub, over its API as anybody would.
    pub async fn fill(
        self,
        addr: SocketAddr,
        corpus: &Arc<Corpus>,
        rows: Range<u64>,
    ) -> Result<()> {
        let next = Arc::new(AtomicU64::new(rows.start));
        let mut writers = JoinSet::<Result<()>>::new();
        for _ in 0..WRITERS {
            let (corpus, next, end) = (Arc::clone(corpus), Arc::clone(&next), rows.end);
            writers.spawn(async move {
                let mut client = Client::connect(addr).await?;
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= end {
                        return Ok(());
                    }
                    self.report(&mut client, &corpus, index).await?;
                }
            });
        }
        let count = rows.end - rows.start;
        let progress = Progress::new("rows reported", count);
        let mut ticks = tokio::time::interval(LOOK_PERIOD);
        loop {
            tokio::select! {
                ended = writers.join_next() => match ended {
                    Some(ended) => ended??,
                    None => break,
                },
                _ = ticks.tick() => {
                    progress.show(next.load(Ordering::Relaxed).min(rows.end) - rows.start);
                }
            }
        }
        progress.show(count);
        Ok(())
    }

    /// Reports one row; anything but 201 is an error.
    pub async fn report(self, client: &mut Client, corpus: &Corpus, index: u64) -> Result<()> {
        let (path, body) = match self {
            Self::Experiences => {
                ("/api/experience", serde_json::to_vec(&corpus.experience(index))?)
            }
            Self::Knowledge => ("/api/knowledge", serde_json::to_vec(&corpus.knowledge(index))?),
        };
        let answer = client.post(path, &body).await?;
        let said = String::from_utf8_lossy(&answer.body);
        ensure!(answer.status == 201, "{}: {said}", answer.status);
        Ok(())
    }
}
