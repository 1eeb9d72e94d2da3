//! Which crate may know which, and how many packages the whole may have.

use std::{collections::BTreeMap, process::Command};

use serde_json::Value;

use super::{read, report, root};

/// For each crate, the crates of this workspace it may depend on, in tests too.
const ARROWS: [(&str, &[&str]); 9] = [
    ("protocol", &[]),
    ("service", &[]),
    ("llm", &[]),
    ("im-server", &["protocol", "service"]),
    ("librarian-core", &["llm", "protocol"]),
    ("agent-tools", &["librarian-core", "protocol"]),
    ("librarian", &["agent-tools", "librarian-core", "llm", "protocol", "service"]),
    ("knowhub-server", &["llm", "protocol", "service"]),
    ("tests", &["agent-tools", "knowhub-server", "librarian-core", "llm", "protocol"]),
];

/// What `protocol` must not know: it holds values, and nothing that runs.
const RUNTIMES: [&str; 6] = ["axum", "futures-util", "hyper", "reqwest", "rusqlite", "tokio"];

/// How many packages the lock file may name; raise it with a reason in the commit.
const MAX_PACKAGES: usize = 500;

fn dependencies() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version=1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            let list = package["dependencies"].as_array().unwrap().iter().map(name).collect();
            (name(package), list)
        })
        .collect()
}

#[test]
fn crates_know_only_whom_they_may() {
    let actual = dependencies();
    let allowed: BTreeMap<_, _> = ARROWS.into_iter().collect();
    assert!(actual.keys().eq(allowed.keys().copied()), "a crate is missing in ARROWS");
    let mut findings = Vec::new();
    for (package, list) in &actual {
        for other in list.iter().filter(|other| allowed.contains_key(other.as_str())) {
            if !allowed[package.as_str()].contains(&other.as_str()) {
                findings.push(format!("{package} must not depend on {other}"));
            }
        }
    }
    for runtime in RUNTIMES {
        if actual["protocol"].iter().any(|other| other == runtime) {
            findings.push(format!("protocol must not depend on {runtime}"));
        }
    }
    report("the arrows of docs/architecture.md", &findings);
}

#[test]
fn the_lock_file_stays_small() {
    let count = read("Cargo.lock").text.matches("[[package]]").count();
    assert!(count <= MAX_PACKAGES, "{count} packages, more than {MAX_PACKAGES}");
}

#[test]
fn every_dependency_says_what_for() {
    let manifest = read("Cargo.toml").text;
    let documented = read("docs/dependencies.md").text;
    let section = manifest.split("[workspace.dependencies]").nth(1).unwrap();
    let section = section.split("\n[").next().unwrap();
    let findings: Vec<_> = section
        .lines()
        .filter(|line| !line.contains("path = "))
        .filter_map(|line| line.split_once(" = "))
        .filter(|(name, _)| !documented.contains(&format!("| `{name}` |")))
        .map(|(name, _)| format!("{name} has no row in docs/dependencies.md"))
        .collect();
    report("each dependency has a line that says what for", &findings);
}
