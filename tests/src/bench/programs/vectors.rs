//! Measures the hub's vector index, filter by filter, against a look at every row and against a peer over the same vectors.

#![expect(clippy::print_stdout, reason = "prints a table for a person")]

use std::{collections::HashSet, fs, path::Path, process, time::Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use knowhub_server::bench::Vectors as Index;
use serde_json::Value;
use tests::bench::{
    chroma,
    figures::{Latencies, Progress, memory_mb},
    vectors::Vectors,
};

/// How many rows are put at once.
const BATCH: u64 = 1_000;

/// Added to the number of a row for the vector that replaces its own.
const REPLACEMENT: u64 = 1 << 40;

/// Added to the number of a query for its vector.
const QUERY: u64 = 1 << 41;

/// Of every so many rows one is kept by a filter; all by the first.
const SHARES: [u64; 8] = [1, 2, 4, 10, 20, 100, 1_000, 100_000];

#[derive(Parser)]
#[command(
    about = "Measures the vector index, against exact search and chromadb over the same vectors"
)]
struct Options {
    /// How many rows there are.
    #[arg(long, default_value_t = 50_000)]
    rows: u64,

    /// How many components a vector has.
    #[arg(long, default_value_t = 384)]
    dimension: usize,

    /// How many rows a search wants.
    #[arg(long, default_value_t = 15)]
    limit: usize,

    /// How many queries each filter is measured with.
    #[arg(long, default_value_t = 500)]
    queries: u64,

    /// How often each query is asked; the peer is asked once.
    #[arg(long, default_value_t = 3)]
    repeats: usize,

    /// Draws other vectors.
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Measure the index alone.
    #[arg(long)]
    no_peer: bool,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let scratch = tempfile::Builder::new().prefix("knowhub-bench-").tempdir()?;
    let vectors = Vectors::new(options.rows, options.dimension, options.seed);
    let queries: Vec<_> = (0..options.queries).map(|query| vectors.vector(QUERY + query)).collect();
    let index = fill(scratch.path(), &vectors, &options)?;

    let truth = truth(&vectors, &queries, &options, |row| row);
    let peer = if options.no_peer {
        None
    } else {
        let rows = (0..options.rows).map(|row| vectors.vector(row));
        chroma::measure(scratch.path(), rows, &queries, options.limit, &SHARES)?
    };
    println!("\n| rows kept | p50 | p99 | recall | peer p50 | p99 | recall | p50 ratio |");
    println!("|---|---|---|---|---|---|---|---|");
    for (at, (share, truth)) in SHARES.into_iter().zip(&truth).enumerate() {
        let ours = ask(&index, &queries, &filter(share), truth, &options)?;
        let theirs =
            peer.as_ref().map(|peer| peer_measured(&peer["classes"][at], truth)).transpose()?;
        show(&format!("1 in {share}"), &ours, theirs.as_ref());
    }
    let none = vec![Vec::new(); queries.len()];
    show("none", &ask(&index, &queries, &[vec!["nothing".into()]], &none, &options)?, None);
    if let Some(peer) = peer {
        let [rate, memory] =
            ["rate", "memory_mb"].map(|name| peer[name].as_f64().unwrap_or(f64::NAN));
        println!("\nThe peer took {rate:.0} rows a second in and holds {memory:.0} MB.");
    }
    replace(&index, &vectors, &queries, &options)
}

/// Fills an index, saves and opens it, and tells what each took.
fn fill(folder: &Path, vectors: &Vectors, options: &Options) -> Result<Index> {
    let before = memory_mb(process::id(), "RssAnon")?;
    let index = Index::open(folder, options.dimension)?;
    let rate = put(&index, vectors, options, 1, |row| row)?;
    let filled = memory_mb(process::id(), "RssAnon")? - before;
    let started = Instant::now();
    index.save()?;
    let saved = started.elapsed();
    drop(index);
    let files = fs::read_dir(folder)?.map(|entry| Ok(entry?.metadata()?.len()));
    let bytes: u64 = files.sum::<Result<u64>>()?;
    let started = Instant::now();
    let index = Index::open(folder, options.dimension)?;
    let opened = started.elapsed();
    ensure!(index.count() as u64 == options.rows, "the saved index has all rows");
    println!("| rows | dimension | put a second | memory | saved in | files | opened in |");
    println!("|---|---|---|---|---|---|---|");
    println!(
        "| {} | {} | {rate:.0} | {filled:.0} MB | {:.1} s | {} MB | {:.1} s |",
        options.rows,
        options.dimension,
        saved.as_secs_f64(),
        bytes / 1_000_000,
        opened.as_secs_f64(),
    );
    Ok(index)
}

/// Puts every so manieth row, and returns how many a second that were, without the time to make them.
fn put(
    index: &Index,
    vectors: &Vectors,
    options: &Options,
    step: u64,
    vector_of: impl Fn(u64) -> u64,
) -> Result<f64> {
    let progress = Progress::new("rows put", options.rows);
    let rows: Vec<u64> = (0..options.rows).step_by(step as usize).collect();
    let mut seconds = 0.0;
    for batch in rows.chunks(BATCH as usize) {
        let row = |row: &u64| {
            let kept = SHARES.into_iter().filter(|share| row.is_multiple_of(*share));
            let labels = kept.map(label).collect();
            (row.cast_signed(), labels, vectors.vector(vector_of(*row)))
        };
        let made = batch.iter().map(row).collect();
        let started = Instant::now();
        index.put(made)?;
        seconds += started.elapsed().as_secs_f64();
        progress.show(batch[batch.len() - 1]);
    }
    Ok(rows.len() as f64 / seconds)
}

/// Replaces half of the rows, and tells what is found then.
fn replace(
    index: &Index,
    vectors: &Vectors,
    queries: &[Vec<f32>],
    options: &Options,
) -> Result<()> {
    let rate = put(index, vectors, options, 2, |row| row + REPLACEMENT)?;
    let now = |row: u64| if row.is_multiple_of(2) { row + REPLACEMENT } else { row };
    let truth = truth(vectors, queries, options, now);
    let asked = ask(index, queries, &[], &truth[0], options)?;
    println!(
        "\nHalf of the rows replaced, {rate:.0} a second: p50 {:.2} ms, p99 {:.2} ms, recall {:.4}.",
        asked.latencies.percentile_ms(50.0),
        asked.latencies.percentile_ms(99.0),
        asked.recall,
    );
    Ok(())
}

type Rows = Vec<Vec<u64>>;

fn truth(
    vectors: &Vectors,
    queries: &[Vec<f32>],
    options: &Options,
    vector_of: impl Fn(u64) -> u64 + Sync,
) -> Vec<Rows> {
    vectors.nearest(queries, options.rows, vector_of, &SHARES, options.limit)
}

fn label(share: u64) -> String {
    format!("in:{share}")
}

fn filter(share: u64) -> Vec<Vec<String>> {
    if share == 1 { Vec::new() } else { vec![vec![label(share)]] }
}

/// How long queries took, and what share of the truly nearest rows they found.
struct Measured {
    latencies: Latencies,
    recall: f64,
}

fn ask(
    index: &Index,
    queries: &[Vec<f32>],
    filters: &[Vec<String>],
    truth: &Rows,
    options: &Options,
) -> Result<Measured> {
    let mut latencies = Latencies::default();
    let mut found = Rows::new();
    for _ in 0..options.repeats {
        found.clear();
        for query in queries {
            let started = Instant::now();
            let rows = index.search(query, filters, options.limit)?;
            latencies.push(started.elapsed());
            found.push(rows.into_iter().map(i64::cast_unsigned).collect());
        }
    }
    Ok(Measured { latencies, recall: recall(&found, truth) })
}

fn peer_measured(class: &Value, truth: &Rows) -> Result<Measured> {
    let found: Rows = serde_json::from_value(class["found"].clone())?;
    let mut latencies = Latencies::default();
    for time in class["times_ms"].as_array().context("the peer tells its times")? {
        let ms = time.as_f64().context("a time is a number")?;
        latencies.push(std::time::Duration::from_secs_f64(ms / 1e3));
    }
    Ok(Measured { latencies, recall: recall(&found, truth) })
}

fn recall(found: &Rows, truth: &Rows) -> f64 {
    let (mut hits, mut all) = (0, 0);
    for (found, truth) in found.iter().zip(truth) {
        let found: HashSet<_> = found.iter().collect();
        hits += truth.iter().filter(|row| found.contains(row)).count();
        all += truth.len();
    }
    if all == 0 { 1.0 } else { hits as f64 / all as f64 }
}

fn show(name: &str, ours: &Measured, theirs: Option<&Measured>) {
    let cells = |measured: &Measured| {
        let [p50, p99] = [50.0, 99.0].map(|percent| measured.latencies.percentile_ms(percent));
        format!("{p50:.3} ms | {p99:.3} ms | {:.4}", measured.recall)
    };
    let ratio = |theirs: &Measured| {
        theirs.latencies.percentile_ms(50.0) / ours.latencies.percentile_ms(50.0)
    };
    match theirs {
        Some(theirs) => {
            println!("| {name} | {} | {} | {:.1} |", cells(ours), cells(theirs), ratio(theirs));
        }
        None => println!("| {name} | {} | | | | |", cells(ours)),
    }
}
