//! Measures searches for knowledge, class by class, and how they fare while many records are reported at once.

#![expect(clippy::print_stdout, reason = "prints a table for a person")]

use std::{
    net::SocketAddr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use serde_json::{Value, json};
use tests::bench::{
    client::Client,
    corpus::{Corpus, Language},
    figures::{Latencies, memory_mb, processor_seconds},
    load::{Hub, Rows},
    models::Models,
};
use tokio::time::Instant;

#[derive(Parser)]
#[command(about = "Measures searches for knowledge, at rest and in a burst of reports")]
struct Options {
    /// How many records to search in.
    #[arg(long, default_value_t = 100_000)]
    rows: u64,

    /// Search by words alone; else an endpoint in this program gives each text a vector at once.
    #[arg(long)]
    no_vectors: bool,

    /// Have a language model judge each report, which finds no relation, at once.
    #[arg(long)]
    model: bool,

    /// How many different questions each class asks.
    #[arg(long, default_value_t = 100)]
    questions: usize,

    /// How often each question is asked.
    #[arg(long, default_value_t = 5)]
    repeats: usize,

    /// How many records are then reported at once; 0 for none.
    #[arg(long, default_value_t = 10_000)]
    burst: u64,

    /// Where the store is made, and kept for the next run; a scratch folder when absent.
    #[arg(long)]
    folder: Option<PathBuf>,
}

/// Questions of one kind.
struct Class {
    name: &'static str,
    /// A filter that all of them have.
    filter: Option<(&'static str, &'static str)>,
    questions: Vec<String>,
}

/// How often is asked in a burst.
const BURST_PERIOD: Duration = Duration::from_millis(20);

/// How long a burst may take to be worked off.
const DRAIN_PATIENCE: Duration = Duration::from_mins(20);

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    let corpus = Arc::new(Corpus::default());
    let scratch = tempfile::Builder::new().prefix("knowhub-bench-").tempdir()?;
    let folder = options.folder.clone().unwrap_or_else(|| scratch.path().to_owned());
    let models = Models::start().await?;
    let mut settings = Vec::new();
    settings
        .extend((!options.no_vectors).then(|| models.embedding_settings()).into_iter().flatten());
    settings.extend(options.model.then(|| models.chat_settings()).into_iter().flatten());
    let hub = Hub { folder, rows: Rows::Knowledge, settings };
    let hub = hub.start_filled(&corpus, options.rows).await?;

    println!("| class | p50 | p99 | processor | found |\n|---|---|---|---|---|");
    let mut report = Vec::new();
    let classes = classes(&corpus, options.questions);
    for class in &classes {
        let before = processor_seconds(hub.id()?)?;
        let (latencies, found) = ask(hub.addr(), class, options.repeats).await?;
        let processor = (processor_seconds(hub.id()?)? - before) * 1e3 / latencies.count() as f64;
        let [p50, p99] = [50.0, 99.0].map(|percent| latencies.percentile_ms(percent));
        let per_question = found as f64 / latencies.count() as f64;
        println!(
            "| {} | {p50:.2} ms | {p99:.2} ms | {processor:.2} ms | {per_question:.1} |",
            class.name
        );
        report.push(json!({ "class": class.name, "p50_ms": p50, "p99_ms": p99 }));
    }
    println!("\nThe hub holds {:.0} MB.", memory_mb(hub.id()?, "VmRSS")?);
    if options.burst > 0 {
        report.push(burst(hub.addr(), &corpus, &classes, &options).await?);
    }
    println!("{}", json!({ "rows": options.rows, "measured": report }));
    Ok(())
}

fn classes(corpus: &Corpus, count: usize) -> Vec<Class> {
    use Language::{Chinese, English};
    let broad = |language, index: usize| corpus.word(language, 4 + index % 25);
    let question = |language, i: usize| {
        let [a, b] = [broad(language, i), broad(language, i + 9)];
        let c = corpus.word(language, 40 + i);
        match language {
            English => format!("How do I {a} a {b} with {c}?"),
            Chinese => format!("怎么从{a}里{b}{c}？"),
        }
    };
    let class = |name, filter, question: &dyn Fn(usize) -> String| Class {
        name,
        filter,
        questions: (0..count).map(question).collect(),
    };
    vec![
        class("selective, English", None, &|i| corpus.word(English, 4_000 + 37 * i).to_owned()),
        class("selective, Chinese", None, &|i| corpus.word(Chinese, 4_000 + 37 * i).to_owned()),
        class("broad, English", None, &|i| broad(English, i).to_owned()),
        class("question, English", None, &|i| question(English, i)),
        class("question, Chinese", None, &|i| question(Chinese, i)),
        class("question, one type in five", Some(("types", "tool")), &|i| question(English, i)),
        class("question, one scope in a thousand", Some(("scopes", "project:7")), &|i| {
            question(Chinese, i)
        }),
        class("misspelt word", None, &|i| {
            let word = corpus.word(English, 2_000 + 31 * i);
            format!("{}x{}", &word[..3], &word[3..])
        }),
        class("nothing", None, &|i| format!("qqq{i}zzz")),
    ]
}

/// Asks each question of a class so often, and returns how many records were found in all.
async fn ask(addr: SocketAddr, class: &Class, repeats: usize) -> Result<(Latencies, usize)> {
    let mut client = Client::connect(addr).await?;
    let (mut latencies, mut found) = (Latencies::default(), 0);
    for question in class.questions.iter().cycle().take(repeats * class.questions.len()) {
        let started = Instant::now();
        let results = search(&mut client, question, class.filter).await?;
        latencies.push(started.elapsed());
        found += results;
    }
    Ok((latencies, found))
}

async fn search(
    client: &mut Client,
    question: &str,
    filter: Option<(&str, &str)>,
) -> Result<usize> {
    let params: Vec<_> = [("q", question), ("top_k", "10")].into_iter().chain(filter).collect();
    let answer = client.get("/api/knowledge/search", &params).await?;
    ensure!(answer.status == 200, "{question}: {}", answer.status);
    let body: Value = serde_json::from_slice(&answer.body)?;
    Ok(body["results"].as_array().with_context(|| format!("{question}: {body}"))?.len())
}

/// Reports many records at once, and asks until they are all worked off.
async fn burst(
    addr: SocketAddr,
    corpus: &Arc<Corpus>,
    classes: &[Class],
    options: &Options,
) -> Result<Value> {
    let is_over = Arc::new(AtomicBool::new(false));
    let asking = thread::spawn({
        let is_over = Arc::clone(&is_over);
        let named = |class: &&Class| class.name.starts_with("question");
        let questions: Vec<_> =
            classes.iter().filter(named).flat_map(|class| class.questions.clone()).collect();
        move || ask_until(&is_over, addr, &questions)
    });
    let started = Instant::now();
    let before = options.rows;
    Rows::Knowledge.fill(addr, corpus, before..before + options.burst).await?;
    let reported = started.elapsed().as_secs_f64();
    await_drained(addr).await?;
    let drained = started.elapsed().as_secs_f64();
    is_over.store(true, Ordering::Relaxed);
    let asked = tokio::task::spawn_blocking(|| asking.join().expect("it does not panic"));
    let latencies = asked.await??;
    let [p50, p99] = [50.0, 99.0].map(|percent| latencies.percentile_ms(percent));
    println!(
        "\n{} records were reported in {reported:.1} s and worked off after {drained:.1} s; {} searches meanwhile took \
         p50 {p50:.2} ms, p99 {p99:.2} ms.",
        options.burst,
        latencies.count(),
    );
    Ok(json!({
        "burst": options.burst, "reported_s": reported, "drained_s": drained, "p50_ms": p50, "p99_ms": p99,
    }))
}

/// Asks on a thread of its own, so that what is waited for is the hub and not the writers in this program.
#[tokio::main(flavor = "current_thread")]
async fn ask_until(
    is_over: &AtomicBool,
    addr: SocketAddr,
    questions: &[String],
) -> Result<Latencies> {
    let mut client = Client::connect(addr).await?;
    let mut latencies = Latencies::default();
    let mut ticks = tokio::time::interval(BURST_PERIOD);
    for question in questions.iter().cycle() {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        ticks.tick().await;
        let started = Instant::now();
        search(&mut client, question, None).await?;
        latencies.push(started.elapsed());
    }
    Ok(latencies)
}

/// Waits until no record waits to be judged or embedded.
async fn await_drained(addr: SocketAddr) -> Result<()> {
    let mut client = Client::connect(addr).await?;
    let mut ticks = tokio::time::interval(Duration::from_millis(100));
    let started = Instant::now();
    loop {
        ticks.tick().await;
        let waiting = [("status", "pending,processing,dedup_passed,analyzing"), ("page_size", "1")];
        let waiting: Value =
            serde_json::from_slice(&client.get("/api/knowledge", &waiting).await?.body)?;
        let told: Value = serde_json::from_slice(&client.get("/api/embeddings", &[]).await?.body)?;
        if waiting["total"] == 0 && told["remaining"] == 0 {
            return Ok(());
        }
        ensure!(started.elapsed() < DRAIN_PATIENCE, "not worked off: {waiting} {told}");
    }
}
