//! The rules of the house, as far as a machine can check them.

mod arrows;
mod documents;
mod sources;

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A file of the project: its path from the root, and its text.
pub(crate) struct Source {
    path: String,
    pub(crate) text: String,
}

impl Source {
    /// Returns each line with its number, as a finding would name it.
    fn lines(&self) -> impl Iterator<Item = (String, &str)> {
        let lines = self.text.lines().enumerate();
        lines.map(|(index, line)| (format!("{}:{}", self.path, index + 1), line))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Returns one file.
pub(crate) fn read(path: &str) -> Source {
    let text = fs::read_to_string(root().join(path)).unwrap_or_else(|err| panic!("{path}: {err}"));
    Source { path: path.to_owned(), text }
}

/// Returns every file with this ending, sorted, except in folders that hold what was built or fetched.
fn files(ending: &str) -> Vec<Source> {
    fn visit(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if name.starts_with('.') || ["target", "data"].contains(&name) {
                continue;
            }
            if path.is_dir() {
                visit(&path, ending, found);
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    let (root, mut found) = (root(), Vec::new());
    visit(&root, ending, &mut found);
    found.sort();
    let name = |path: &PathBuf| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
    found.iter().map(|path| read(&name(path))).collect()
}

/// Fails with every finding, one a line.
#[track_caller]
fn report(rule: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{rule}:\n{}", findings.join("\n"));
}
