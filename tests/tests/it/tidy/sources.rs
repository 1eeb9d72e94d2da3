//! What every source file keeps to.

use super::{Source, files, read, report};

/// Names of rooms where anything could lie.
const DRAWERS: [&str; 7] = ["utils", "util", "common", "helpers", "types", "misc", "manager"];

/// Where SQL may stand.
const STORES: [&str; 2] = ["knowhub-server/src/store", "im-server/src/store"];

fn rust_files() -> Vec<Source> {
    files(".rs")
}

fn is_test(source: &Source) -> bool {
    source.path.contains("/tests/") || source.path.ends_with("/tests.rs")
}

#[test]
fn the_first_line_says_what_a_file_is_for() {
    let findings: Vec<_> = rust_files()
        .into_iter()
        .filter(|source| !source.text.starts_with("//! ") || source.text.starts_with("//! ("))
        .map(|source| source.path)
        .collect();
    report("every file starts with one `//!` sentence", &findings);
}

#[test]
fn files_are_named_after_what_they_hold() {
    let findings: Vec<_> = rust_files()
        .into_iter()
        .map(|source| source.path)
        .filter(|path| {
            let mut parts = path.trim_end_matches(".rs").split('/');
            path.ends_with("/mod.rs") || parts.any(|part| DRAWERS.contains(&part))
        })
        .collect();
    report("no `mod.rs`, and no drawers", &findings);
}

#[test]
fn tests_do_not_wait_skip_or_expect_panics() {
    // Put together here, so that this file does not find itself.
    let forbidden =
        [["sle", "ep("], ["#[ign", "ore"], ["#[should", "_panic"]].map(|parts| parts.concat());
    let mut findings = Vec::new();
    for source in &rust_files() {
        let mut in_tests = is_test(source);
        for (place, line) in source.lines() {
            in_tests |= line.starts_with("#[cfg(test)]");
            if in_tests && forbidden.iter().any(|word| line.contains(word.as_str())) {
                findings.push(format!("{place}: {}", line.trim()));
            }
        }
    }
    report("tests do not sleep, and are neither ignored nor expected to panic", &findings);
}

#[test]
fn no_test_file_is_forgotten() {
    let mut findings = Vec::new();
    for source in rust_files().iter().filter(|source| source.path.contains("/tests/it/")) {
        let (folder, rest) = source.path.split_once("/it/").unwrap();
        let (parent, name) = match rest.rsplit_once('/') {
            Some((module, name)) => (format!("{folder}/it/{module}.rs"), name),
            None => (format!("{folder}/it/main.rs"), rest),
        };
        let name = name.trim_end_matches(".rs");
        if name != "main" && !read(&parent).text.contains(&format!("mod {name};")) {
            findings.push(format!("{} is not named in {parent}", source.path));
        }
    }
    report("every test file is part of a test program", &findings);
}

#[test]
fn sql_stands_only_in_the_stores() {
    let mut findings = Vec::new();
    for source in rust_files().iter().filter(|source| !is_test(source)) {
        if STORES.iter().any(|store| source.path.starts_with(store)) {
            continue;
        }
        let code = source.lines().take_while(|(_, line)| !line.starts_with("#[cfg(test)]"));
        for (place, line) in code {
            let is_comment = line.trim_start().starts_with("//");
            if !is_comment && (line.contains("rusqlite") || line.contains("SELECT ")) {
                findings.push(format!("{place}: {}", line.trim()));
            }
        }
    }
    report("SQL stands only in the stores", &findings);
}

#[test]
fn what_is_left_to_do_has_a_class() {
    let word = ["TO", "DO"].concat();
    let mut findings = Vec::new();
    for source in &rust_files() {
        for (place, line) in source.lines() {
            let comment = line.split_once("//").map_or("", |(_, comment)| comment);
            if comment.contains(&word) && !comment.contains(&format!("{word}-")) {
                findings.push(format!("{place}: {}", line.trim()));
            }
        }
    }
    report("what is left to do is written with its class and reason", &findings);
}
