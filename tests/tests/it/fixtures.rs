//! What several system tests put into a hub, and how they connect to a relay.

use std::{io::Write, path::Path};

use agent_tools::im::{Client, Config, Inbox, Outgoing};
use protocol::{im, librarian};
use serde_json::{Value, json};
use tests::system::System;

pub(crate) const TABLES_ZH: &str = "怎么从论文 PDF 里提取表格？";
pub(crate) const DEADLOCK_EN: &str = "How do I find the cause of a database deadlock?";

/// Stores a note in each language and an experience; returns the ids an answer may cite.
pub(crate) async fn store_notes(system: &System) -> Notes {
    let knowledge = |task: &str, content: &str| json!({"task": task, "content": content});
    let zh =
        knowledge("从论文 PDF 里提取表格", "先用 pdfplumber，三线表改用 camelot 的 network 模式。");
    let en = knowledge(
        "Find the cause of a database deadlock",
        "Read the deadlock graph in the server log.",
    );
    let used = json!({"name": "pymupdf", "task": "从论文 PDF 提取表格", "score": 4, "tips": "用 find_tables"});
    let id = |answer: &Value| answer["id"].as_str().unwrap().to_owned();
    Notes {
        tables_zh: id(&system.post("/api/knowledge", &zh).await.unwrap()),
        deadlock_en: id(&system.post("/api/knowledge", &en).await.unwrap()),
        experience: format!(
            "experience-{}",
            system.post("/api/experience", &used).await.unwrap()["id"]
        ),
    }
}

/// The ids of the stored notes, as a citation has them.
pub(crate) struct Notes {
    pub(crate) tables_zh: String,
    pub(crate) deadlock_en: String,
    pub(crate) experience: String,
}

/// Returns the cited ids of a flat answer, as `knowhub ask --json` prints it.
pub(crate) fn source_ids(answer: &Value) -> Vec<&str> {
    answer["source_ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect()
}

/// Connects to the relay as `contact_id`.
pub(crate) fn connect(system: &System, contact_id: &str) -> (Client, Inbox) {
    Client::start(Config {
        url: system.im_url(),
        contact_id: contact_id.parse().unwrap(),
        token: None,
        mode: im::Mode::Exclusive,
        client: "system test".to_owned(),
    })
}

/// Returns a message to the librarian.
pub(crate) fn to_librarian(content: impl Into<String>) -> Outgoing {
    Outgoing::new(librarian::DEFAULT_CONTACT_ID.parse().unwrap(), content)
}

/// Returns the settings of a hub over this file, on a free port.
pub(crate) fn hub_settings(db: &Path) -> [(&'static str, String); 2] {
    [("KNOWHUB_ADDR", "127.0.0.1:0".to_owned()), ("KNOWHUB_DB", db.display().to_string())]
}

/// Says that a test is skipped for want of something outside the project.
///
/// Where `CI` is `true` everything must be had, and the test fails instead.
#[track_caller]
pub(crate) fn skip(test: &str, reason: &str) {
    #[expect(clippy::disallowed_methods, reason = "the test runner's own setting")]
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!is_ci, "{test} cannot be skipped here: {reason}");
    // The printing macros would be captured.
    let line = format!("test {test} ... skipped: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}
