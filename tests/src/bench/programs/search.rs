//! Measures searches for experiences, class by class, against the peer over the same rows in the same run.

#![expect(clippy::print_stdout, reason = "prints a table for a person")]

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use serde_json::{Value, json};
use tests::{
    bench::{
        client::Client,
        corpus::{Corpus, Language},
        figures::{Latencies, Progress, memory_mb, processor_seconds},
        first_design::FirstDesign,
        load::start_filled_hub,
    },
    process::Process,
};
use tokio::time::Instant;

/// How many rows tell in what share of all rows a word stands.
const SAMPLE_ROWS: u64 = 20_000;

#[derive(Parser)]
#[command(about = "Measures searches, against the first design over the same rows")]
struct Options {
    /// How many experiences to search in.
    #[arg(long, default_value_t = 100_000)]
    rows: u64,

    /// Measure the hub alone.
    #[arg(long)]
    no_peer: bool,

    /// How many different questions each class asks.
    #[arg(long, default_value_t = 50)]
    questions: usize,

    /// How often the hub is asked each question; the peer is asked once.
    #[arg(long, default_value_t = 4)]
    repeats: usize,

    /// Where stores are made, and kept for the next run; a scratch folder when absent.
    #[arg(long)]
    folder: Option<PathBuf>,
}

/// Questions of one kind.
struct Class {
    name: &'static str,
    questions: Vec<Question>,
}

/// One question.
struct Question {
    q: String,
    category: Option<&'static str>,
}

impl Question {
    fn new(q: impl Into<String>) -> Self {
        Self { q: q.into(), category: None }
    }

    fn params(&self) -> Vec<(&str, &str)> {
        let category = self.category.map(|category| ("category", category));
        [("q", self.q.as_str())].into_iter().chain(category).collect()
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    let corpus = Arc::new(Corpus::default());
    let scratch = tempfile::Builder::new().prefix("knowhub-bench-").tempdir()?;
    let folder = options.folder.clone().unwrap_or_else(|| scratch.path().to_owned());
    let hub = start_filled_hub(&folder, &corpus, options.rows).await?;
    let peer = if options.no_peer {
        None
    } else {
        FirstDesign::start(&folder, &corpus, options.rows).await?
    };

    let classes = classes(&corpus, options.questions);
    let total = classes.iter().map(|class| class.questions.len() as u64).sum();
    let progress = Progress::new("questions asked", total);
    let mut asked = 0;
    let mut report = Vec::new();
    println!(
        "| class | in rows | hub p50 | hub p99 | hub processor | first design p50 | p99 | p50 ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for class in &classes {
        let measured = measure(&hub, peer.as_ref(), class, &corpus, options.repeats).await?;
        asked += class.questions.len() as u64;
        progress.show(asked);
        report.push(show(class, &measured));
    }
    let [resident, anonymous] = ["VmRSS", "RssAnon"].map(|name| memory_mb(hub.id()?, name));
    let (resident, anonymous) = (resident?, anonymous?);
    println!(
        "\nThe hub holds {resident:.0} MB, {anonymous:.0} MB of them its own, the rest files."
    );
    println!("{}", json!({ "rows": options.rows, "classes": report, "hub_mb": resident }));
    Ok(())
}

/// What one class took.
struct Measured {
    share_of_rows: f64,
    hub: Latencies,
    hub_processor_ms: f64,
    peer: Latencies,
}

async fn measure(
    hub: &Process,
    peer: Option<&FirstDesign>,
    class: &Class,
    corpus: &Corpus,
    repeats: usize,
) -> Result<Measured> {
    let share_of_rows = share(corpus, class);
    let mut ours = Latencies::default();
    let before = processor_seconds(hub.id()?)?;
    for _ in 0..repeats {
        let (latencies, found) = ask(hub.addr(), class).await?;
        ensure!(found > 0 || share_of_rows == 0.0, "{}: nothing was found", class.name);
        ours.extend(latencies);
    }
    let hub_processor_ms = (processor_seconds(hub.id()?)? - before) * 1e3 / ours.count() as f64;
    let peer = match peer {
        Some(peer) => ask(peer.addr(), class).await?.0,
        None => Latencies::default(),
    };
    Ok(Measured { share_of_rows, hub: ours, hub_processor_ms, peer })
}

/// Prints a class, and returns it for other programs.
fn show(class: &Class, measured: &Measured) -> Value {
    let Measured { share_of_rows, hub, hub_processor_ms, peer } = measured;
    let [p50, p99] = [50.0, 99.0].map(|percent| hub.percentile_ms(percent));
    let [peer_p50, peer_p99] = [50.0, 99.0].map(|percent| peer.percentile_ms(percent));
    println!(
        "| {} | {:.2} % | {p50:.2} ms | {p99:.2} ms | {hub_processor_ms:.2} ms | {peer_p50:.0} ms | {peer_p99:.0} ms | {:.0} |",
        class.name,
        100.0 * share_of_rows,
        peer_p50 / p50,
    );
    json!({
        "class": class.name, "share_of_rows": share_of_rows, "hub_p50_ms": p50, "hub_p99_ms": p99,
        "hub_processor_ms": hub_processor_ms, "peer_p50_ms": peer_p50, "peer_p99_ms": peer_p99,
    })
}

fn classes(corpus: &Corpus, count: usize) -> Vec<Class> {
    use Language::{Chinese, English};
    let broad = |language, index: usize| corpus.word(language, 4 + index % 25);
    let selective = |language, index: usize| corpus.word(language, 4_000 + 37 * index);
    let class = |name, question: &dyn Fn(usize) -> Question| Class {
        name,
        questions: (0..count).map(question).collect(),
    };
    vec![
        class("selective, English", &|i| Question::new(selective(English, i))),
        class("selective, Chinese", &|i| Question::new(selective(Chinese, i))),
        class("broad, English", &|i| Question::new(broad(English, i))),
        class("broad, Chinese", &|i| Question::new(broad(Chinese, i))),
        class("broad, one category", &|i| Question {
            category: Some(Corpus::category(i)),
            ..Question::new(broad(if i.is_multiple_of(2) { English } else { Chinese }, i))
        }),
        class("two words, English", &|i| {
            Question::new(format!("{} {}", broad(English, i), broad(English, 3 * i + 11)))
        }),
        class("two words, Chinese", &|i| {
            Question::new(format!("{} {}", broad(Chinese, i), broad(Chinese, 3 * i + 11)))
        }),
        class("broad and selective", &|i| {
            Question::new(format!("{} {}", broad(English, i), corpus.word(English, 400 + 7 * i)))
        }),
        class("question, English", &|i| {
            let [a, b, c] =
                [broad(English, i), broad(English, i + 9), corpus.word(English, 40 + i)];
            Question::new(format!("How do I {a} a {b} with {c}?"))
        }),
        class("question, Chinese", &|i| {
            let [a, b, c] =
                [broad(Chinese, i), broad(Chinese, i + 9), corpus.word(Chinese, 40 + i)];
            Question::new(format!("怎么从{a}里{b}{c}？"))
        }),
        class("nothing", &|i| Question::new(format!("qqq{i}zzz"))),
    ]
}

/// Returns the share of rows in which every word of a question stands, on average over the class.
fn share(corpus: &Corpus, class: &Class) -> f64 {
    let rows = (0..SAMPLE_ROWS).map(|index| {
        let row = corpus.experience(index);
        let text = [row.name, row.task, row.outcome, row.tips].join("\n").to_lowercase();
        let matches = |question: &&Question| {
            question.category.is_none_or(|category| category == row.category)
                && question.q.split_whitespace().all(|word| text.contains(&word.to_lowercase()))
        };
        class.questions.iter().filter(matches).count() as f64
    });
    rows.sum::<f64>() / (SAMPLE_ROWS as f64 * class.questions.len() as f64)
}

/// Asks each question of a class, and returns how many names were found in all.
async fn ask(addr: SocketAddr, class: &Class) -> Result<(Latencies, usize)> {
    let mut client = Client::connect(addr).await?;
    let (mut latencies, mut found) = (Latencies::default(), 0);
    for question in &class.questions {
        let params = question.params();
        let started = Instant::now();
        let answer = client.get("/api/search", &params).await?;
        latencies.push(started.elapsed());
        ensure!(answer.status == 200, "{}: {}", question.q, answer.status);
        let body: Value = serde_json::from_slice(&answer.body)?;
        let results = body["results"].as_array();
        found += results.with_context(|| format!("{}: {body}", question.q))?.len();
    }
    Ok((latencies, found))
}
