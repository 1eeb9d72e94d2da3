//! The commands of `knowhub` that store and show one thing, against a real hub.

use std::process::Output;

use serde_json::{Value, json};
use tests::system::System;

/// 32 bytes, as `ORG_KEYS` has them.
const ORG_KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

async fn hub_with(extra: Vec<(&'static str, String)>) -> System {
    let mut system = System::stopped(extra).unwrap();
    system.start_hub().await.unwrap();
    system
}

/// Writes a file into the scratch folder, which is where the commands run.
fn write(system: &System, name: &str, text: &str) {
    std::fs::write(system.folder().join(name), text).unwrap();
}

#[track_caller]
fn failed(output: &Output, code: i32) -> String {
    let talk = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(code), "{talk}");
    talk
}

#[tokio::test]
async fn contents_are_stored_and_read() {
    let system = hub_with(vec![]).await;
    write(&system, "tables.md", "# Finding tables\n\nNeeds ruling lines.\n");
    let args = ["content", "add", "pymupdf/tables", "tables.md", "--sort-order", "1"];
    let stored = system.knowhub_json(&args).await.unwrap();
    let expected = json!([{"id": "pymupdf/tables", "version": 1, "created": true}]);
    assert_eq!(stored["stored"], expected);
    let chapters = [
        json!({"id": "pymupdf", "title": "PyMuPDF", "body": "Reads PDF."}),
        json!({"id": "pymupdf/text", "body": "Text.", "sort_order": 2}),
    ];
    write(&system, "chapters.jsonl", &chapters.map(|node| node.to_string()).join("\n"));
    for created in [true, false] {
        let args = ["content", "add", "--file", "chapters.jsonl"];
        let stored = system.knowhub_json(&args).await.unwrap();
        assert_eq!(stored["stored"][1]["created"], created, "{stored}");
        assert_eq!(stored["stored"][1]["version"], 1, "{stored}");
    }
    let root = system.knowhub_json(&["content", "show", "[resource:pymupdf]"]).await.unwrap();
    let children = json!([
        {"id": "pymupdf/tables", "title": "Finding tables"}, {"id": "pymupdf/text", "title": ""},
    ]);
    assert_eq!(root["children"], children);
    let list = system.knowhub_json(&["resource", "list", "ruling", "lines"]).await.unwrap();
    assert_eq!(list["results"][0]["id"], "pymupdf/tables", "{list}");

    let none = system.knowhub(&["content", "show", "pymupdf/none"]).await.unwrap();
    assert!(failed(&none, 1).contains("nothing is stored under pymupdf/none"));
    let demand = system.knowhub_json(&["demand", "--kind", "content"]).await.unwrap();
    assert_eq!(demand["results"][0]["wanted"], "pymupdf/none", "{demand}");
    system.stop().await.unwrap();
}

#[tokio::test]
async fn a_secret_goes_in_by_a_file_and_out_by_the_key() {
    let system = hub_with(vec![("ORG_KEYS", format!("acme:{ORG_KEY}"))]).await;
    write(&system, "secret.txt", "hunter2 hunter2\n");
    let put = ["resource", "put", "acme/login", "--type", "credential", "--secret", "secret.txt"];
    let stored = system.knowhub_json(&put).await.unwrap();
    assert_eq!(stored, json!({"id": "acme/login", "version": 1, "created": true}));

    let show = ["resource", "show", "acme/login", "--json"];
    let secret = async |extra: &[(&str, &str)]| {
        let output = system.knowhub_with(extra, &show).await.unwrap();
        let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
        shown["secure_body"].as_str().unwrap().to_owned()
    };
    let key = [("KNOWHUB_ORG_KEY", ORG_KEY)];
    assert_eq!(secret(&[]).await, "[ENCRYPTED]");
    assert_eq!(secret(&key).await, "hunter2 hunter2");

    let refused = system.knowhub(&put).await.unwrap();
    assert!(failed(&refused, 2).contains("hint: set KNOWHUB_ORG_KEY"));
    let wrong = [("KNOWHUB_ORG_KEY", "not\na key")];
    let refused = system.knowhub_with(&wrong, &show).await.unwrap();
    let talk = failed(&refused, 2);
    assert!(talk.contains("KNOWHUB_ORG_KEY must") && !talk.contains("a key"), "{talk}");
    write(&system, "empty.txt", "\n");
    let empty = ["resource", "put", "acme/login", "--secret", "empty.txt"];
    let refused = system.knowhub_with(&key, &empty).await.unwrap();
    assert!(failed(&refused, 1).contains("holds no secret"));

    let args = ["resource", "put", "acme/login", "--title", "Login", "--meta", "language=en"];
    let output = system.knowhub_with(&key, &args).await.unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "Replaced acme/login, now at version 2.\n"
    );
    assert_eq!(secret(&key).await, "hunter2 hunter2", "what is not named stays");
    system.stop().await.unwrap();
}

#[tokio::test]
async fn a_comma_in_a_filter_is_a_character_like_any_other() {
    let system = hub_with(vec![]).await;
    for owner in ["a", r"a,b\c"] {
        let content = format!("use a heap, says {owner}");
        let record = json!({"task": "sort lists", "content": content, "owner": owner});
        system.post("/api/knowledge", &record).await.unwrap();
    }
    for owner in ["a", r"a,b\c"] {
        let args = ["search", "sort lists", "--owner", owner];
        let found = system.knowhub_json(&args).await.unwrap();
        assert_eq!(found["count"], 1, "{owner}: {found}");
        assert_eq!(found["results"][0]["owner"], owner);
    }
    let either = ["search", "sort lists", "--owner", "a", "--owner", r"a,b\c"];
    assert_eq!(system.knowhub_json(&either).await.unwrap()["count"], 2);
    system.stop().await.unwrap();
}

#[tokio::test]
async fn what_an_answer_cites_can_be_followed() {
    let system = hub_with(vec![]).await;
    let args = ["experience", "add", "--name", "pymupdf", "--task", "extract tables"];
    let id = &system.knowhub_json(&args).await.unwrap()["ids"][0];
    let shown = system.knowhub_json(&["experience", "show", &format!("[experience-{id}]")]).await;
    assert_eq!(shown.unwrap()["task"], "extract tables");
    let shown = system.knowhub_json(&["resource", "show", "pymupdf"]).await.unwrap();
    assert_eq!(shown["experience_count"], 1, "{shown}");
    let record = json!({"task": "sort lists", "content": "use a heap"});
    let id = system.post("/api/knowledge", &record).await.unwrap()["id"].clone();
    let citation = format!("[{}]", id.as_str().unwrap());
    let shown = system.knowhub_json(&["knowledge", "show", &citation]).await.unwrap();
    assert_eq!(shown["content"], "use a heap");
    for args in [
        ["experience", "show", "99"],
        ["knowledge", "show", "knowledge-20260305-a1b2"],
        ["resource", "show", "nobody knows it"],
    ] {
        failed(&system.knowhub(&args).await.unwrap(), 1);
    }
    system.stop().await.unwrap();
}
