//! Measures search on public question sets, and holds every figure against its goal.

#![expect(clippy::print_stdout, reason = "prints a table for a person")]

use std::{
    env,
    path::{Path, PathBuf},
    process::{ExitCode, Stdio},
};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use serde_json::Value;
use tests::{binary, peer::EmbeddingPeer};
use tokio::process::Command;

#[derive(Parser)]
#[command(about = "Measures search on public question sets; see docs/evaluation.md")]
struct Options {
    /// The folder that holds the sets, under the names that docs/evaluation.md lists.
    #[arg(long)]
    data: PathBuf,

    /// How many questions of each set to ask at most.
    #[arg(long)]
    limit: Option<usize>,
}

/// One run of `knowhub eval`, and what it must reach.
struct Run {
    name: &'static str,
    /// Whether the hub has an embedder.
    embedder: bool,
    /// Flags that take a file of the folder.
    files: &'static [(&'static str, &'static str)],
    at_least: &'static str,
    at_most: &'static str,
    foreign_limit: Option<usize>,
}

const CMRC: &str = "cmrc2018_dev.json";
const ZH: &str = "xquad.zh.json";
const EN: &str = "xquad.en.json";

/// How many questions of another set tell whether a hub knows when to be silent.
const FOREIGN_QUESTIONS: usize = 500;

const RUNS: [Run; 7] = [
    Run {
        name: "CMRC2018 dev; foreign: XQuAD zh",
        embedder: false,
        files: &[("--questions", CMRC), ("--foreign", ZH)],
        at_least: "r10=0.998",
        at_most: "foreign=0.12,missed=0.05",
        foreign_limit: Some(FOREIGN_QUESTIONS),
    },
    Run {
        name: "XQuAD en → en",
        embedder: false,
        files: &[("--questions", EN)],
        at_least: "r10=0.995",
        at_most: "",
        foreign_limit: None,
    },
    Run {
        name: "Cranfield",
        embedder: false,
        files: &[
            ("--questions", "cran.qry.xml"),
            ("--passages", "cran.all.1400.xml"),
            ("--qrels", "cranqrel.trec.txt"),
        ],
        at_least: "ndcg=0.39",
        at_most: "",
        foreign_limit: None,
    },
    Run {
        name: "PAWS-X dev, pairs",
        embedder: false,
        files: &[("--pairs", "PAWS-X_dev_2k.tsv")],
        at_least: "precision=0.99",
        at_most: "",
        foreign_limit: None,
    },
    Run {
        name: "CMRC2018 dev; foreign: XQuAD zh",
        embedder: true,
        files: &[("--questions", CMRC), ("--foreign", ZH)],
        at_least: "",
        at_most: "foreign=0.05,missed=0.02",
        foreign_limit: Some(FOREIGN_QUESTIONS),
    },
    Run {
        name: "XQuAD zh → zh",
        embedder: true,
        files: &[("--questions", ZH)],
        at_least: "r1=0.945,r10=0.995",
        at_most: "",
        foreign_limit: None,
    },
    Run {
        name: "XQuAD zh → en",
        embedder: true,
        files: &[("--questions", ZH), ("--passages", EN)],
        at_least: "r10=0.94",
        at_most: "",
        foreign_limit: None,
    },
];

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let peer =
        if embedder_settings().next().is_none() { EmbeddingPeer::start().await? } else { None };
    let mut all_hold = true;
    println!("| set | embedder | goal | measured | holds |\n|---|---|---|---|---|");
    for run in &RUNS {
        let embedder = if run.embedder { "yes" } else { "no" };
        let cells = match missing(run, &options.data, peer.as_ref()) {
            Some(reason) => vec![("–".to_owned(), reason, "left out")],
            None => measure(run, &options, peer.as_ref()).await.with_context(|| run.name)?,
        };
        for (goal, measured, holds) in cells {
            all_hold &= holds != "no";
            println!("| {} | {embedder} | {goal} | {measured} | {holds} |", run.name);
        }
    }
    Ok(if all_hold { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns what a run wants and there is not.
fn missing(run: &Run, folder: &Path, peer: Option<&EmbeddingPeer>) -> Option<String> {
    let absent = run.files.iter().find(|(_, file)| !folder.join(file).exists());
    let absent = absent.map(|(_, file)| format!("{file} is not there"));
    let has_embedder = peer.is_some() || embedder_settings().next().is_some();
    absent.or_else(|| {
        let reason = "no EMBEDDING_… is set, and tests/peers/setup.sh fetched no embedding server";
        (run.embedder && !has_embedder).then(|| reason.to_owned())
    })
}

/// Returns the names of the settings that name an embedder.
fn embedder_settings() -> impl Iterator<Item = std::ffi::OsString> {
    let names = env::vars_os().map(|(name, _)| name);
    names.filter(|name| name.to_string_lossy().starts_with("EMBEDDING_"))
}

/// Returns each goal of a run, what was measured, and whether that holds.
async fn measure(
    run: &Run,
    options: &Options,
    peer: Option<&EmbeddingPeer>,
) -> Result<Vec<(String, String, &'static str)>> {
    let mut command = Command::new(binary::find("knowhub")?);
    command.args(["eval", "--json"]).stderr(Stdio::inherit()).kill_on_drop(true);
    for (flag, file) in run.files {
        command.arg(flag).arg(options.data.join(file));
    }
    for (flag, gates) in [("--at-least", run.at_least), ("--at-most", run.at_most)] {
        if !gates.is_empty() {
            command.args([flag, gates]);
        }
    }
    for (flag, limit) in [("--limit", options.limit), ("--foreign-limit", run.foreign_limit)] {
        command.args(limit.map(|limit| format!("{flag}={limit}")));
    }
    if run.embedder {
        command.envs(peer.map(EmbeddingPeer::settings).into_iter().flatten());
    } else {
        for name in embedder_settings() {
            command.env_remove(name);
        }
    }
    let output = command.output().await?;
    // A gate that fails is no failure to measure.
    ensure!(matches!(output.status.code(), Some(0 | 1)), "knowhub eval: {}", output.status);
    let report: Value = serde_json::from_slice(&output.stdout).context("it printed no report")?;
    ensure!(report["by_words"] == 0, "the embedder was late for {} questions", report["by_words"]);
    let Some(gates) = report["gates"].as_array() else { bail!("it reports no gates") };
    let cell = |gate: &Value| {
        let holds = if gate["holds"] == true { "yes" } else { "no" };
        let goal = gate["gate"].as_str().unwrap_or_default().to_owned();
        (goal, format!("{:.4}", gate["value"].as_f64().unwrap_or(f64::NAN)), holds)
    };
    Ok(gates.iter().map(cell).collect())
}
