//! Measures how many reports a second become durable under 32 writers, and how long searches take meanwhile.

#![expect(clippy::print_stdout, reason = "prints a table for a person")]

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Result, ensure};
use clap::Parser;
use serde_json::json;
use tests::bench::{
    client::Client,
    corpus::{Corpus, Language},
    figures::{Latencies, processor_seconds},
    first_design::FirstDesign,
    load::{Rows, start_filled_hub},
};
use tokio::{
    task::JoinSet,
    time::{Instant, Interval, interval_at},
};

#[derive(Parser)]
#[command(about = "Measures durable reports a second, and searches meanwhile")]
struct Options {
    /// How many experiences are there before.
    #[arg(long, default_value_t = 20_000)]
    rows: u64,

    /// How many connections report at once.
    #[arg(long, default_value_t = 32)]
    writers: usize,

    /// How many connections search at once, each 20 times a second.
    #[arg(long, default_value_t = 4)]
    readers: usize,

    /// How many reports a second all connections offer together; as many as they can when absent.
    #[arg(long)]
    rate: Option<u32>,

    /// How many seconds to measure.
    #[arg(long, default_value_t = 15)]
    seconds: u64,

    /// Measure the hub alone.
    #[arg(long)]
    no_peer: bool,
}

/// Single experiences are read among the first so many, which were there before.
const READ_NUMBERS: usize = 10_000;

/// How often each reader searches, and reads.
const READ_PERIOD: Duration = Duration::from_millis(50);

/// What one server did.
struct Measured {
    writes_per_second: f64,
    /// The server's processor time, searches included.
    processor_ms_per_write: f64,
    writes: Latencies,
    searches: Latencies,
    /// Of single experiences.
    reads: Latencies,
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    let corpus = Arc::new(Corpus::default());
    let folder = tempfile::Builder::new().prefix("knowhub-bench-").tempdir()?;
    println!(
        "| server | durable reports a second | report p50 | p99 | read p50 | p99 | search p50 | p99 | processor per report |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let hub = start_filled_hub(folder.path(), &corpus, options.rows).await?;
    show("hub", &measure(hub.addr(), hub.id()?, &corpus, &options).await?);
    drop(hub);
    if !options.no_peer
        && let Some(peer) = FirstDesign::start(folder.path(), &corpus, options.rows).await?
    {
        show("first design", &measure(peer.addr(), peer.id()?, &corpus, &options).await?);
    }
    Ok(())
}

fn show(server: &str, measured: &Measured) {
    let Measured { writes_per_second, processor_ms_per_write, writes, searches, reads } = measured;
    let [write_p50, write_p99] = [50.0, 99.0].map(|percent| writes.percentile_ms(percent));
    let [search_p50, search_p99] = [50.0, 99.0].map(|percent| searches.percentile_ms(percent));
    let [read_p50, read_p99] = [50.0, 99.0].map(|percent| reads.percentile_ms(percent));
    println!(
        "| {server} | {writes_per_second:.0} | {write_p50:.1} ms | {write_p99:.1} ms | {read_p50:.1} ms | {read_p99:.1} ms | {search_p50:.1} ms | {search_p99:.1} ms | {processor_ms_per_write:.2} ms |"
    );
    println!(
        "{}",
        json!({
            "server": server, "writes_per_second": writes_per_second, "write_p50_ms": write_p50,
            "write_p99_ms": write_p99, "reads": reads.count(), "read_p50_ms": read_p50,
            "read_p99_ms": read_p99, "searches": searches.count(), "search_p50_ms": search_p50,
            "search_p99_ms": search_p99, "processor_ms_per_write": processor_ms_per_write,
        })
    );
}

async fn measure(
    addr: SocketAddr,
    process: u32,
    corpus: &Arc<Corpus>,
    options: &Options,
) -> Result<Measured> {
    let processor_before = processor_seconds(process)?;
    let next = Arc::new(AtomicU64::new(options.rows));
    let started = Instant::now();
    let end = started + Duration::from_secs(options.seconds);
    let reading = thread::spawn({
        let (corpus, readers) = (Arc::clone(corpus), options.readers);
        move || read_until(end, addr, &corpus, readers)
    });
    let mut writers = JoinSet::new();
    for number in 0..options.writers {
        let ticks = options.rate.map(|rate| {
            let period = Duration::from_secs(1) * options.writers as u32 / rate;
            // One after the other, as writers who know nothing of each other.
            interval_at(started + period * number as u32 / options.writers as u32, period)
        });
        writers.spawn(write_until(end, addr, Arc::clone(corpus), Arc::clone(&next), ticks));
    }
    let mut reported = Latencies::default();
    while let Some(ended) = writers.join_next().await {
        reported.extend(ended??);
    }
    let writes_per_second = reported.count() as f64 / started.elapsed().as_secs_f64();
    let read = tokio::task::spawn_blocking(|| reading.join().expect("readers do not panic"));
    let (searches, reads) = read.await??;
    let processor_ms = (processor_seconds(process)? - processor_before) * 1e3;
    Ok(Measured {
        writes_per_second,
        processor_ms_per_write: processor_ms / reported.count() as f64,
        writes: reported,
        searches,
        reads,
    })
}

async fn write_until(
    end: Instant,
    addr: SocketAddr,
    corpus: Arc<Corpus>,
    next: Arc<AtomicU64>,
    mut ticks: Option<Interval>,
) -> Result<Latencies> {
    let mut client = Client::connect(addr).await?;
    let mut latencies = Latencies::default();
    while Instant::now() < end {
        if let Some(ticks) = &mut ticks {
            // A late one is made up for, so that the rate holds.
            ticks.tick().await;
        }
        let index = next.fetch_add(1, Ordering::Relaxed);
        let started = Instant::now();
        Rows::Experiences.report(&mut client, &corpus, index).await?;
        latencies.push(started.elapsed());
    }
    Ok(latencies)
}

/// Searches and reads on a thread of its own, so that what is waited for is the server and not the writers in this program.
#[tokio::main(flavor = "current_thread")]
async fn read_until(
    end: Instant,
    addr: SocketAddr,
    corpus: &Arc<Corpus>,
    readers: usize,
) -> Result<(Latencies, Latencies)> {
    let mut tasks = JoinSet::new();
    for number in 0..readers {
        // One after the other, as readers who know nothing of each other.
        let first = Instant::now() + READ_PERIOD * number as u32 / readers as u32;
        tasks.spawn(read_from(first, end, addr, Arc::clone(corpus), number));
    }
    let (mut searches, mut reads) = (Latencies::default(), Latencies::default());
    while let Some(ended) = tasks.join_next().await {
        let of_one = ended??;
        searches.extend(of_one.0);
        reads.extend(of_one.1);
    }
    Ok((searches, reads))
}

async fn read_from(
    first: Instant,
    end: Instant,
    addr: SocketAddr,
    corpus: Arc<Corpus>,
    number: usize,
) -> Result<(Latencies, Latencies)> {
    let mut client = Client::connect(addr).await?;
    let (mut searches, mut reads) = (Latencies::default(), Latencies::default());
    let mut ticks = interval_at(first, READ_PERIOD);
    let mut rank = 4 + 29 * number;
    while Instant::now() < end {
        ticks.tick().await;
        let language = if rank.is_multiple_of(2) { Language::English } else { Language::Chinese };
        let q = corpus.word(language, rank % 2_000);
        rank += 127;
        let started = Instant::now();
        let answer = client.get("/api/search", &[("q", q)]).await?;
        searches.push(started.elapsed());
        ensure!(answer.status == 200, "{q}: {}", answer.status);
        let path = format!("/api/experience/{}", 1 + rank % READ_NUMBERS);
        let started = Instant::now();
        let answer = client.get(&path, &[]).await?;
        reads.push(started.elapsed());
        ensure!(answer.status == 200, "{path}: {}", answer.status);
    }
    Ok((searches, reads))
}
