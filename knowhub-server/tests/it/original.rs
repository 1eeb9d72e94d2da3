//! A database file of the original system: its tables as its documents give them, and as years leave them.

use aes_gcm::{Aes256Gcm, KeyInit, aead::Aead};
use axum::{
    body::Body,
    http::{Method, Request},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::harness::{Answer, TestHub};

const ORG_KEY: [u8; 32] = [7; 32];

/// The tables as the original's documents give them; `resources` has the columns that its decision 0 adds.
const TABLES: &str = "
    CREATE TABLE experiences (
        id            INTEGER PRIMARY KEY AUTOINCREMENT,
        name          TEXT NOT NULL,
        url           TEXT DEFAULT '',
        category      TEXT DEFAULT '',
        task          TEXT NOT NULL,
        score         INTEGER CHECK(score BETWEEN 1 AND 5),
        outcome       TEXT DEFAULT '',
        tips          TEXT DEFAULT '',
        content_id    TEXT DEFAULT '',
        submitted_by  TEXT DEFAULT '',
        created_at    TEXT NOT NULL
    );
    CREATE TABLE contents (
        id            TEXT PRIMARY KEY,
        title         TEXT DEFAULT '',
        body          TEXT NOT NULL,
        sort_order    INT DEFAULT 0,
        submitted_by  TEXT DEFAULT '',
        created_at    TEXT NOT NULL
    );
    CREATE TABLE resources (
        id TEXT PRIMARY KEY, title TEXT DEFAULT '', body TEXT NOT NULL, secure_body TEXT DEFAULT '',
        content_type TEXT DEFAULT 'text', metadata TEXT DEFAULT '{}', sort_order INTEGER DEFAULT 0,
        submitted_by TEXT DEFAULT '', created_at TEXT NOT NULL, updated_at TEXT DEFAULT ''
    );";

/// Returns the bytes of a database that these statements make.
fn database(statements: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.db");
    let db = Connection::open(&path).unwrap();
    db.execute_batch(statements).unwrap();
    drop(db);
    std::fs::read(path).unwrap()
}

/// Seals as the original does: bound to nothing.
fn sealed(text: &str) -> String {
    let nonce = [9; 12];
    let cell = Aes256Gcm::new(&ORG_KEY.into()).encrypt(&nonce.into(), text.as_bytes()).unwrap();
    format!("encrypted:AES256-GCM:{}", BASE64_STANDARD.encode([&nonce[..], &cell].concat()))
}

async fn start() -> TestHub {
    let keys = format!("acme:{}", BASE64_STANDARD.encode(ORG_KEY));
    TestHub::with_flags(&["--org-keys", &keys]).await
}

async fn import(hub: &TestHub, file: impl Into<Body>, query: &str) -> Answer {
    let request = Request::post(format!("/api/import{query}"));
    let request = request.header("content-type", "application/vnd.sqlite3");
    hub.send(request.body(file.into()).unwrap()).await
}

/// Returns `place field` of each finding.
fn places(findings: &Value) -> Vec<String> {
    let findings = findings.as_array().unwrap().iter();
    findings
        .map(|one| format!("{} {}", one["place"].as_str().unwrap(), one["field"].as_str().unwrap()))
        .collect()
}

#[tokio::test]
async fn every_table_of_the_original_comes_over() {
    let statements = format!(
        "{TABLES}
        INSERT INTO experiences (name, url, task, score, created_at) VALUES
            ('pymupdf', 'https://a', '提取表格', 4, '2026-03-05 10:00:00'),
            ('pymupdf', '', '双栏', 5, '2026-03-06T10:00:00.123456'),
            ('langchain', 'https://b', 'chains', NULL, '2026-03-07T10:00:00+08:00');
        DELETE FROM experiences WHERE id = 2;
        INSERT INTO contents VALUES
            ('paper', '论文', '目录', 0, 'me', '2026-03-05 10:00:00'),
            ('paper/s-1', '一', '正文', 2, '', '2026-03-05 10:00:00');
        INSERT INTO resources VALUES ('acme/login', 'Login', 'user: ann', '{}', 'cookie',
            '{{\"expires_at\": \"2026-04-01T00:00:00Z\"}}', 3, 'me', '2026-03-05 10:00:00', NULL);",
        sealed("密码")
    );
    let file = database(&statements);
    let hub = start().await;
    let dry = import(&hub, file.clone(), "?dry_run=true").await;
    assert_eq!(dry.body["imported"], json!({ "experience": 2, "resource": 3 }), "{dry:?}");
    assert_eq!(hub.names("pymupdf").await, [""; 0]);

    let report = import(&hub, file.clone(), "").await;
    assert_eq!(report.body["imported"], json!({ "experience": 2, "resource": 3 }));
    for list in ["rejected", "adjusted", "conflicts", "renumbered"] {
        assert_eq!(report.body[list], json!([]), "{list}");
    }
    let found = hub.find("/api/search", &[("q", "提取表格")]).await.body["results"][0].clone();
    assert_eq!(found["relevant_experiences"][0]["id"], 1);
    assert_eq!(found["relevant_experiences"][0]["created_at"], "2026-03-05T10:00:00.000Z");
    let chains = hub.find("/api/search", &[("q", "chains")]).await.body["results"][0].clone();
    assert_eq!(chains["relevant_experiences"][0]["created_at"], "2026-03-07T02:00:00.000Z");
    let content = hub.get("/api/content/paper").await.body;
    assert_eq!(content["children"][0]["id"], "paper/s-1");
    let key = BASE64_STANDARD.encode(ORG_KEY);
    let login = hub
        .call(Method::GET, "/api/resource/acme/login", &[("x-org-key", key.as_str())], None)
        .await;
    assert_eq!(login.body["secure_body"], "密码", "{login:?}");
    assert_eq!(login.body["content_type"], "cookie");

    let again = import(&hub, file, "").await.body;
    assert_eq!((&again["imported"], &again["conflicts"]), (&json!({}), &json!([])));
    assert_eq!(hub.add_experience(json!({})).await, 4);
    hub.stop().await;
}

#[tokio::test]
async fn what_is_odd_is_told_row_by_row() {
    let file = database(
        "CREATE TABLE experiences (id, name, task, score, tips, created_at, mood);
        INSERT INTO experiences VALUES
            (1, 'a', 'good', '4', 12.5, 1772704800, NULL),
            (2, 'a', 'no rating', 9, NULL, '2026-03-05 10:00:00', NULL),
            (3, 'a', 'no time', NULL, NULL, 'yesterday', NULL),
            (4, NULL, 'no name', NULL, NULL, '2026-03-05 10:00:00', NULL),
            ('x', 'a', 'no number', NULL, NULL, '2026-03-05 10:00:00', NULL),
            (6, 'a', x'ff00', NULL, NULL, '2026-03-05 10:00:00', NULL),
            (7, 'a', 'AKIAIOSFODNN7REALKEY leaked', NULL, NULL, '2026-03-05 10:00:00', NULL);
        CREATE TABLE resources (id, body, secure_body, content_type, metadata, created_at);
        INSERT INTO resources VALUES
            ('bad id', 'x', '', 'text', '{}', '2026-03-05'),
            ('acme/broken', 'x', 'encrypted:AES256-GCM:AAAA', 'text', '{}', '2026-03-05'),
            ('nobody/plain', 'x', 'in the clear', 'text', '{}', '2026-03-05'),
            ('acme/plain', 'x', 'in the clear', 'video', 'not json', '2026-03-05'),
            ('acme/long', 'x', '', 'text', '{\"n\":12345678901234567890123}', '2026-03-05');
        CREATE TABLE users (name);",
    );
    let hub = start().await;
    let answer = import(&hub, file, "").await;
    let report = &answer.body;
    assert_eq!(report["imported"], json!({ "experience": 3, "resource": 2 }), "{answer:?}");
    let rejected = places(&report["rejected"]);
    assert_eq!(
        rejected[..6],
        [
            "experiences, row 4 name",
            "experiences, row 5 id",
            "experiences, row 6 task",
            "experiences, row 7 task",
            "resources, row 1 id",
            "resources, row 2 secure_body",
        ]
    );
    assert_eq!(rejected[6..], ["resources, row 3 secure_body"]);
    assert_eq!(
        places(&report["adjusted"]),
        [
            "table users ",
            "experiences mood",
            "experiences, row 2 score",
            "experiences, row 3 created_at",
            "experiences, row 3 created_at",
            "resources, row 4 content_type",
            "resources, row 4 metadata",
            "resources, row 5 metadata",
        ]
    );
    let text = answer.body.to_string();
    assert!(!text.contains("AKIA") && !text.contains("in the clear"), "{text}");
    let found = hub.find("/api/search", &[("q", "good")]).await.body["results"][0].clone();
    let good = &found["relevant_experiences"][0];
    assert_eq!((&good["score"], &good["tips"]), (&json!(4), &json!("12.5")));
    assert_eq!(good["created_at"], "2026-03-05T10:00:00.000Z");
    let plain = hub.get("/api/resource/acme/plain").await.body;
    assert_eq!(plain["secure_body"], "[ENCRYPTED]");
    assert_eq!(plain["metadata"], json!({ "original": "not json" }));
    let long = hub.get("/api/resource/acme/long").await.body;
    assert_eq!(long["metadata"], json!({ "original": r#"{"n":12345678901234567890123}"# }));
    hub.stop().await;
}

#[tokio::test]
async fn what_a_row_says_in_plain_is_looked_through_and_no_stage_holds_it() {
    let file = database(
        r#"CREATE TABLE resources (id, body, metadata, created_at);
        INSERT INTO resources VALUES
            ('a', 'x', '{"note": "AKIAIOSFODNN7REALKEY"}', '2026-03-05'),
            ('b', 'x', '{"expires_at": "next week"}', '2026-03-05');
        CREATE TABLE knowledge (id, task, content, types, tags, status, created_at);
        INSERT INTO knowledge VALUES
            ('knowledge-20260305-a1b2', 't', 'c', '["tool", " "]', '{}', 'processing', '2026-03-05'),
            ('knowledge-20260305-a1b3', 't', 'c', '[]', '{"k": "AKIAIOSFODNN7REALKEY"}', 'checked',
             '2026-03-05');"#,
    );
    let hub = start().await;
    for imported in [json!({ "resource": 1, "knowledge": 1 }), json!({})] {
        let report = import(&hub, file.clone(), "").await.body;
        assert_eq!(report["imported"], imported, "{report}");
        assert_eq!(
            places(&report["rejected"]),
            ["resources, row 1 metadata.note", "knowledge, row 2 tags.k"]
        );
        assert_eq!(
            places(&report["adjusted"]),
            ["resources, row 2 metadata", "knowledge, row 1 types", "knowledge, row 1 status"]
        );
    }
    let settled = hub.get("/api/knowledge/knowledge-20260305-a1b2").await.body;
    assert_eq!((&settled["status"], &settled["types"]), (&json!("approved"), &json!(["tool"])));
    let kept = hub.get("/api/resource/b").await.body;
    assert_eq!(kept["metadata"], json!({ "original": r#"{"expires_at": "next week"}"# }));

    let request = Request::post("/api/import").header("content-type", "application/vnd.sqlite3");
    let request = request.header("x-allow-likely-secret", "true");
    let answer = hub.send(request.body(file.into()).unwrap()).await;
    assert_eq!(answer.body["imported"], json!({ "resource": 1, "knowledge": 1 }), "{answer:?}");
    assert_eq!(answer.body["rejected"], json!([]));
    hub.stop().await;
}

#[tokio::test]
async fn what_has_no_place_is_told_and_no_number_is_given_twice() {
    let key = "AKIAIOSFODNN7REALKEY";
    let file = database(&format!(
        "{TABLES}
        INSERT INTO experiences (name, task, created_at) VALUES
            ('a', 't', '2026-03-05'), ('b', 't', '2026-03-05');
        DELETE FROM experiences WHERE id = 2;
        CREATE TABLE knowledge (id, task, content, tags, source, eval, created_at);
        INSERT INTO knowledge VALUES
            ('knowledge-20260305-a1b2', 't', 'c', '', '{{\"{key}\": 1}}',
             '{{\"score\": 4, \"helpfull\": 7}}', '2026-03-05'),
            ('knowledge-20260305-a1b3', 't', 'c', '{{\"{key}\": \"{}\"}}', '', '', '2026-03-05');",
        "长".repeat(2_001)
    ));
    let hub = start().await;
    let report = import(&hub, file, "").await.body;
    assert_eq!(report["imported"], json!({ "experience": 1, "knowledge": 1 }), "{report}");
    let told = ["knowledge, row 1 source", "knowledge, row 1 eval.helpfull"];
    assert_eq!(places(&report["adjusted"]), told);
    assert_eq!(places(&report["rejected"]), ["knowledge, row 2 tags"]);
    assert!(!report.to_string().contains(key), "{report}");
    assert_eq!(hub.add_experience(json!({})).await, 3);
    hub.stop().await;
}

#[tokio::test]
async fn a_file_that_is_no_such_database_is_refused() {
    let hub = start().await;
    let good = database(&format!(
        "{TABLES} INSERT INTO contents VALUES ('a', '', '{}', 0, '', '2026-03-05');",
        "长".repeat(9_000)
    ));
    let mut damaged = good.clone();
    damaged[4_096..8_192].fill(0xa5);
    for (file, told) in [
        (vec![], "none of the tables"),
        (b"{\"knowhub_export\":1}".to_vec(), "no whole SQLite database"),
        (good[..good.len() / 2].to_vec(), "no whole SQLite database"),
        (damaged, "no whole SQLite database"),
        (database("CREATE TABLE recipes (name)"), "none of the tables"),
        (database("CREATE VIEW experiences AS SELECT 1 AS name"), "none of the tables"),
    ] {
        let answer = import(&hub, file, "").await;
        assert_eq!(answer.status, 422, "{told}: {answer:?}");
        let message = answer.body["error"]["message"].as_str().unwrap();
        assert!(message.contains(told) && message.ends_with("nothing was imported"), "{message}");
    }
    hub.stop().await;
}
