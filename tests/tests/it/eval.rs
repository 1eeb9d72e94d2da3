//! `knowhub eval` against real hubs, on notes in two languages that were made up for it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tests::{binary, wait};
use tokio::process::Command;

/// What passes on both languages without an embedder.
const GATES: [&str; 4] =
    ["--at-least", "r10=0.98,mrr=0.95", "--at-most", "foreign=0.05,missed=0.2"];

fn questions(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("questions");
    folder.join(name).to_str().unwrap().to_owned()
}

fn scratch() -> TempDir {
    tempfile::Builder::new().prefix("eval-").tempdir().unwrap()
}

/// Returns the command, in a folder of its own and with settings of a hub that must stay out of it.
fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(binary::find("knowhub").unwrap());
    command
        .arg("eval")
        .args(args)
        .env_clear()
        .envs([("KNOWHUB_TOKENS", "none at all"), ("KNOWHUB_DB", "/nowhere/hub.db")])
        .env("TMPDIR", folder)
        .current_dir(folder)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    // Built as new as its sources, or the test tells nothing.
    binary::find("knowhub-server").unwrap();
    command
}

async fn eval(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().await.unwrap()
}

fn talk(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[track_caller]
fn report(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}{:?}", talk(output), output.stdout);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns what lies in a folder.
fn listed(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn notes_are_found_in_both_languages() {
    for name in ["notes.zh.json", "notes.en.json"] {
        let folder = scratch();
        let (set, foreign) = (questions(name), questions("foreign.jsonl"));
        let args = [&["--questions", &set, "--foreign", &foreign, "--json"][..], &GATES].concat();
        let report = report(&eval(folder.path(), &args).await);
        assert_eq!(report["passages"], 30, "{report}");
        assert_eq!(report["questions"], 60, "{report}");
        assert_eq!(report["foreign"]["questions"], 30, "{report}");
        assert_eq!(report["left_out"], Value::Array(vec![]), "{report}");
        assert_eq!(report["gates"].as_array().unwrap().len(), 4, "{report}");
        assert_eq!(listed(folder.path()), Vec::<PathBuf>::new(), "nothing is left behind");
    }
}

#[tokio::test]
async fn a_gate_that_fails_is_told() {
    let folder = scratch();
    let set = questions("notes.zh.json");
    let args = ["--questions", &set, "--limit", "3", "--at-least", "r1=2,r10=0.5"];
    let output = eval(folder.path(), &args).await;
    assert_eq!(output.status.code(), Some(1), "{}", talk(&output));
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("fails  r1 >= 2: 1.0000\nholds  r10 >= 0.5: 1.0000"), "{told}");

    let needless = ["--questions", &set, "--at-most", "foreign=0.1"];
    let output = eval(folder.path(), &needless).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(talk(&output).contains("does not measure foreign"), "{}", talk(&output));
}

#[tokio::test]
async fn an_earlier_run_stands_beside_this_one() {
    let folder = scratch();
    let set = questions("notes.en.json");
    let args = ["--questions", &set, "--limit", "5", "--name", "first <run>", "--json"];
    let first = eval(folder.path(), &args).await;
    fs::write(folder.path().join("first.json"), &first.stdout).unwrap();
    let args =
        ["--questions", &set, "--limit", "5", "--compare", "first.json", "--plot", "both.svg"];
    let output = eval(folder.path(), &args).await;
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("notes.en, no embedder\n") && told.contains("first <run>\n"), "{told}");
    let picture = fs::read_to_string(folder.path().join("both.svg")).unwrap();
    assert!(picture.starts_with("<svg ") && picture.contains("first &lt;run&gt;"), "{picture}");

    fs::write(folder.path().join("first.json"), "{\"name\": 7}").unwrap();
    let output = eval(folder.path(), &args).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(talk(&output).contains("first.json is not what `knowhub eval --json` prints"));
}

#[tokio::test]
async fn a_kept_hub_is_used_again_for_the_same_passages_alone() {
    let folder = scratch();
    let keep = ["--keep", "kept", "--limit", "5", "--json"];
    let [zh, en] = ["notes.zh.json", "notes.en.json"].map(questions);
    let of = |set| [&["--questions", set], &keep[..]].concat();
    let first = report(&eval(folder.path(), &of(&zh)).await);
    let holds = fs::read_to_string(folder.path().join("kept/eval.json")).unwrap();
    let second = report(&eval(folder.path(), &of(&zh)).await);
    assert_eq!(first["ranking"], second["ranking"]);
    assert_eq!(fs::read_to_string(folder.path().join("kept/eval.json")).unwrap(), holds);

    let output = eval(folder.path(), &of(&en)).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(talk(&output).contains("holds other passages"), "{}", talk(&output));

    fs::remove_file(folder.path().join("kept/eval.json")).unwrap();
    let output = eval(folder.path(), &of(&zh)).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(talk(&output).contains("not stored to the end"), "{}", talk(&output));
}

#[tokio::test]
async fn a_hub_that_does_not_start_says_why() {
    let folder = scratch();
    let set = questions("notes.en.json");
    let args = ["--questions", &set];
    let output = command(folder.path(), &args).env("SEARCH_RECALL_FACTOR", "0").output().await;
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(talk(&output).contains("SEARCH_RECALL_FACTOR"), "{}", talk(&output));

    let output = eval(folder.path(), &["--questions", &set, "--server", "./none"]).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(talk(&output).contains("cannot start ./none"), "{}", talk(&output));
    assert_eq!(listed(folder.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn an_interrupt_leaves_no_hub_behind() {
    // So many that the signal comes while they are stored.
    let passages = (0..50_000).map(|i| format!("{{\"id\": \"{i}\", \"text\": \"note {i}\"}}\n"));
    let files = scratch();
    let [set, notes] = ["questions.jsonl", "notes.jsonl"].map(|name| files.path().join(name));
    fs::write(&set, "{\"query\": \"note\", \"ids\": [\"1\"]}").unwrap();
    fs::write(&notes, passages.collect::<String>()).unwrap();
    let [set, notes] = [&set, &notes].map(|path| path.to_str().unwrap());
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let folder = scratch();
        let args = ["--questions", set, "--passages", notes];
        let mut child = command(folder.path(), &args).stderr(Stdio::piped()).spawn().unwrap();
        wait::until("a running hub", async || hubs_in(folder.path()).map(drop)).await.unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        let status = tokio::time::timeout(wait::PATIENCE, child.wait()).await.unwrap().unwrap();
        assert_eq!(status.code(), Some(130), "{signal:?}");
        assert!(hubs_in(folder.path()).is_err(), "{signal:?}");
        assert_eq!(listed(folder.path()), Vec::<PathBuf>::new(), "{signal:?}");
    }
}

/// Returns how many processes have a store in this folder and listen.
///
/// # Errors
///
/// When there is none.
fn hubs_in(folder: &Path) -> Result<usize> {
    let name = folder.to_str().context("the path is UTF-8")?;
    let processes = fs::read_dir("/proc")?.filter_map(|entry| {
        let line = fs::read(entry.ok()?.path().join("cmdline")).ok()?;
        String::from_utf8_lossy(&line).contains(&format!("{name}/knowhub-eval-")).then_some(())
    });
    let count = processes.count();
    ensure!(count > 0, "no hub runs in {name}");
    let has_store = listed(folder).iter().any(|scratch| scratch.join("hub.db").exists());
    ensure!(has_store, "it has no store yet");
    Ok(count)
}
