//! Where the binaries are, and whether they are as new as their sources.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::{Context, Result, ensure};

/// Returns the path of a built binary, next to the running one.
///
/// # Errors
///
/// When it was not built, or a source it was made from is newer: a test of an old binary tells nothing.
pub fn find(name: &str) -> Result<PathBuf> {
    let current = std::env::current_exe().context("the running program has no path")?;
    // Test programs lie one folder deeper than the binaries.
    let folder = current
        .ancestors()
        .skip(1)
        .find(|folder| folder.file_name().is_some_and(|name| name != "deps"))
        .context("the running program lies in no folder")?;
    let path = folder.join(name);
    let hint = "run `make test`, or `cargo build --workspace --bins` first";
    let built = modified(&path).with_context(|| format!("{name} is not built; {hint}"))?;
    for source in sources(&path.with_extension("d"))? {
        let changed = modified(&source)?;
        ensure!(changed <= built, "{name} is older than {}; {hint}", source.display());
    }
    Ok(path)
}

/// Returns what the binary was made from, as the compiler noted beside it: `binary: source source …`.
fn sources(notes: &Path) -> Result<Vec<PathBuf>> {
    let text = fs::read_to_string(notes).with_context(|| format!("reading {}", notes.display()))?;
    let list = text.split_once(": ").map_or("", |(_, list)| list);
    // A space inside a path is written with a backslash before it.
    let list = list.trim().replace("\\ ", "\0");
    Ok(list
        .split(' ')
        .filter(|path| !path.is_empty())
        .map(|path| path.replace('\0', " ").into())
        .collect())
}

fn modified(path: &Path) -> Result<SystemTime> {
    fs::metadata(path)
        .and_then(|file| file.modified())
        .with_context(|| format!("reading the time of {}", path.display()))
}
