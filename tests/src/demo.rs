//! Shows KnowHub at work: loads the examples into a scratch store, asks five questions, and leaves nothing behind.
//!
//! It starts its own three processes on free ports, so that it never writes into anybody's store.

#![expect(clippy::print_stdout, reason = "the demo talks to a person")]

use std::{path::Path, time::Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tests::system::System;

#[tokio::main]
async fn main() -> Result<()> {
    println!("Starting relay, hub and librarian on free ports over a scratch folder …");
    let system = System::start().await?;
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").canonicalize()?;
    load(&system, &["experience", "add", "--file"], &examples.join("experiences.jsonl")).await?;
    load(&system, &["upload", "--finalize"], &examples.join("knowledge.jsonl")).await?;
    let questions = std::fs::read_to_string(examples.join("questions.jsonl"))?;
    for line in questions.lines() {
        let question: Value = serde_json::from_str(line)?;
        ask(&system, question["query"].as_str().context("a question has a `query`")?).await?;
    }
    println!("\nStopping; the scratch folder goes away.");
    system.stop().await
}

async fn load(system: &System, command: &[&str], file: &Path) -> Result<()> {
    let path = file.to_str().context("the path of the examples is UTF-8")?;
    let name = file.file_name().context("a file has a name")?.display();
    let count = std::fs::read_to_string(file)?.lines().count();
    let output = system.knowhub(&[command, &[path]].concat()).await?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    println!("Loaded {count} notes: knowhub {} examples/{name}", command.join(" "));
    Ok(())
}

async fn ask(system: &System, question: &str) -> Result<()> {
    println!("\n$ knowhub ask {question:?}");
    let asked = Instant::now();
    let output = system.knowhub(&["ask", question]).await?;
    let answer = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    println!("{}\n({} ms)", answer.trim_end(), asked.elapsed().as_millis());
    Ok(())
}
