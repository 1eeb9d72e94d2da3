//! The peer: KnowHub as it was first designed, a Python server over SQLite.

use std::{
    fs,
    io::Write,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, Result, ensure};
use tokio::process::Command;

use super::corpus::Corpus;
use crate::peer::Announced;

/// A running peer; killed when dropped.
pub struct FirstDesign(Announced);

impl FirstDesign {
    /// Stores the first `rows` rows of the corpus in a new store, and serves it.
    ///
    /// Returns `None` when `tests/peers/setup.sh` did not fetch what it needs.
    pub async fn start(folder: &Path, corpus: &Corpus, rows: u64) -> Result<Option<Self>> {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
        let python = tests.join("../.peers/first-design/bin/python");
        if !tests.join("../.peers/first-design/ready").exists() {
            return Ok(None);
        }
        let script = tests.join("peers/first_design.py");
        let store = folder.join("first-design.db");
        if store.exists() {
            fs::remove_file(&store)?;
        }
        load(&python, &script, &store, corpus, rows)?;
        let mut command = Command::new(python);
        command.arg(script).arg("serve").arg(&store);
        Ok(Some(Self(Announced::start(command).await.context("the first design")?)))
    }

    /// Returns where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.0.addr
    }

    /// Returns its process.
    pub fn id(&self) -> Result<u32> {
        self.0.id()
    }
}

fn load(
    python: &PathBuf,
    script: &PathBuf,
    store: &PathBuf,
    corpus: &Corpus,
    rows: u64,
) -> Result<()> {
    let mut child = std::process::Command::new(python)
        .arg(script)
        .arg("load")
        .arg(store)
        .stdin(Stdio::piped())
        .spawn()
        .context("starting the first design's loader")?;
    let mut lines = std::io::BufWriter::new(child.stdin.take().context("standard input is piped")?);
    for index in 0..rows {
        serde_json::to_writer(&mut lines, &corpus.experience(index))?;
        lines.write_all(b"\n")?;
    }
    drop(lines);
    ensure!(child.wait()?.success(), "the first design could not load the rows");
    Ok(())
}
