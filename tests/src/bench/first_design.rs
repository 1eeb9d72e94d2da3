//! The peer: KnowHub as it was first designed, a Python server over SQLite.

use std::{
    io::Write,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, Result, bail, ensure};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

use super::corpus::Corpus;
use crate::wait;

/// A running peer; killed when dropped.
pub struct FirstDesign {
    _child: Child,
    addr: SocketAddr,
}

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
        load(&python, &script, &store, corpus, rows)?;
        let mut child = Command::new(python)
            .arg(script)
            .arg("serve")
            .arg(&store)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("starting the first design")?;
        let stderr = child.stderr.take().context("standard error is piped")?;
        let mut lines = BufReader::new(stderr).lines();
        let announced = timeout(wait::PATIENCE, async {
            while let Some(line) = lines.next_line().await? {
                if let Some((_, rest)) = line.split_once("Uvicorn running on http://") {
                    let addr = rest.split_whitespace().next().unwrap_or_default();
                    return addr.parse().context("uvicorn tells an address");
                }
            }
            bail!("the first design ended")
        });
        let addr = announced.await.context("the first design did not start in time")??;
        // What it says later is of no use, but must not fill its pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Some(Self { _child: child, addr }))
    }

    /// Returns where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
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
