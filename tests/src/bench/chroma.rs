//! The peer of the vector index: chromadb, in one process of its own over the same vectors.

use std::{
    fs::{self, File},
    io::{BufWriter, Write},
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Has chromadb index the rows and answer the queries once for each share of rows; a share of 1 keeps all.
///
/// Returns what `tests/peers/chroma.py` prints, or `None` when `tests/peers/setup.sh chroma` did not fetch what it needs.
pub fn measure(
    folder: &Path,
    rows: impl Iterator<Item = Vec<f32>>,
    queries: &[Vec<f32>],
    limit: usize,
    shares: &[u64],
) -> Result<Option<Value>> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let peer = tests.join("../.peers/chroma");
    if !peer.join("ready").exists() {
        return Ok(None);
    }
    let [rows_file, queries_file] = ["rows.f32", "queries.f32"].map(|name| folder.join(name));
    write(&rows_file, rows)?;
    write(&queries_file, queries.iter().cloned())?;
    let dimension = queries.first().context("there are queries")?.len();
    let output = Command::new(peer.join("bin/python"))
        .arg(tests.join("peers/chroma.py"))
        .args([&rows_file, &queries_file])
        .args([dimension, limit].map(|number| number.to_string()))
        .args(shares.iter().map(u64::to_string))
        .stderr(Stdio::inherit())
        .output()
        .context("starting chromadb")?;
    ensure!(output.status.success(), "chromadb failed");
    fs::remove_file(rows_file)?;
    Ok(Some(serde_json::from_slice(&output.stdout)?))
}

fn write(path: &Path, vectors: impl Iterator<Item = Vec<f32>>) -> Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for vector in vectors {
        for number in vector {
            file.write_all(&number.to_le_bytes())?;
        }
    }
    Ok(file.flush()?)
}
