//! A stored row that cannot be read is left out and told, and stops nothing else.

use std::fs;

use axum::{
    body::{Body, to_bytes},
    http::{Method, Request, StatusCode},
};
use protocol::export::{Checker, Manifest};
use serde_json::{Value, json};

use crate::harness::{TestHub, strings, until};

/// A hub in which one row of each kind cannot be read; the index has none of its rows yet.
struct Damaged {
    hub: TestHub,
    /// The knowledge record that cannot be read; both others relate to it.
    bad: String,
    others: [String; 2],
    /// What it exported before.
    before: String,
}

async fn export(hub: &TestHub) -> String {
    let response = hub.raw(Request::get("/api/export").body(Body::empty()).unwrap()).await;
    let export = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(export.to_vec()).unwrap()
}

async fn import(hub: &TestHub, export: String) -> Value {
    let request = Request::post("/api/import").header("content-type", "application/x-ndjson");
    let report = hub.send(request.body(export.into()).unwrap()).await;
    assert_eq!(report.status, StatusCode::OK, "{report:?}");
    report.body
}

async fn damaged() -> Damaged {
    let hub = TestHub::start().await;
    for task in ["提取表格，坏", "提取表格，好"] {
        hub.add_experience(json!({ "task": task })).await;
    }
    let mut ids = Vec::new();
    for task in ["提取表格，坏", "提取表格，好", "提取表格，很好"] {
        ids.push(hub.add_knowledge(json!({ "task": task })).await);
    }
    let [bad, good, better] = <[String; 3]>::try_from(ids).unwrap();
    for id in [&good, &better] {
        let relation = json!({ "type": "complement", "target": bad });
        let answer = hub.post(&format!("/api/knowledge/{id}/relationships"), &relation).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    }
    for (id, body) in [("bad", "表格"), ("good", "表"), ("good", "表格"), ("good", "提取表格")]
    {
        hub.post("/api/resource", &json!({ "id": id, "body": body })).await;
    }
    let before = export(&hub).await;
    let folder = hub.stop().await;

    let db = rusqlite::Connection::open(folder.path().join("hub.db")).unwrap();
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for sql in [
        "UPDATE experiences SET task = CAST(x'ff' AS TEXT) WHERE id = 1".to_owned(),
        format!("UPDATE knowledge SET eval = '{{\"helpful_history\":{deep}}}' WHERE row = 1"),
        format!("UPDATE resources SET metadata = '{{\"a\":{deep}}}' WHERE id = 'bad'"),
        "UPDATE versions SET record = 'no JSON' WHERE id = 'good' AND version = 1".to_owned(),
    ] {
        assert_eq!(db.execute(&sql, []).unwrap(), 1, "{sql}");
    }
    drop(db);
    fs::remove_dir_all(folder.path().join("hub.db.index")).unwrap();
    Damaged { hub: TestHub::start_in(folder).await, bad, others: [good, better], before }
}

#[tokio::test]
async fn searches_and_lists_go_on_without_it() {
    let Damaged { hub, mut others, .. } = damaged().await;
    let found = hub.find("/api/search", &[("q", "提取")]).await.body;
    assert_eq!(found["results"][0]["relevant_experiences"].as_array().unwrap().len(), 1, "{found}");
    let mut ids = hub.ids("提取").await;
    ids.sort();
    others.sort();
    assert_eq!(ids, others);
    let found = hub.find("/api/resource", &[("q", "表格")]).await.body;
    assert_eq!(strings(&found["results"], "id"), ["good"]);

    let listed = hub.get("/api/knowledge").await.body;
    assert_eq!(strings(&listed["results"], "id").len(), 2, "{listed}");
    let listed = hub.get("/api/resource").await.body;
    assert_eq!(strings(&listed["results"], "id"), ["good"]);
    let shown = hub.get("/api/resource/pymupdf").await.body;
    assert_eq!(shown["experiences"].as_array().unwrap().len(), 1, "{shown}");
    let versions = hub.get("/api/versions/resource/good").await.body;
    assert_eq!(versions["results"].as_array().unwrap().len(), 1, "{versions}");
    hub.stop().await;
}

#[tokio::test]
async fn an_export_names_it() {
    let Damaged { hub, bad, .. } = damaged().await;
    let export = export(&hub).await;
    let mut checker = Checker::default();
    checker.push(export.as_bytes()).unwrap();
    let (_, Manifest { left_out, .. }) = checker.finish().unwrap();
    let expected = [
        "experience 1".to_owned(),
        "resource bad".to_owned(),
        format!("knowledge {bad}"),
        "version resource good 1".to_owned(),
    ];
    assert_eq!((left_out.count, &left_out.records[..]), (4, &expected[..]));

    let page = hub.raw(Request::get("/metrics").body(Body::empty()).unwrap()).await;
    let page = to_bytes(page.into_body(), usize::MAX).await.unwrap();
    let page = String::from_utf8(page.to_vec()).unwrap();
    assert!(page.contains("\nknowhub_store_rows_unreadable 4\n"), "{page}");

    let other = TestHub::start().await;
    let report = import(&other, export).await;
    assert_eq!(report["left_out"], json!({ "count": 4, "records": expected }));
    other.stop().await;
    hub.stop().await;
}

#[tokio::test]
async fn an_import_goes_past_it_and_takes_nothing_from_the_others() {
    let Damaged { hub, bad, others: [good, better], before } = damaged().await;
    let report = import(&hub, before).await;
    let unreadable = "what is here under its key cannot be read";
    let told: Vec<_> = strings(&report["conflicts"], "id")
        .into_iter()
        .zip(strings(&report["conflicts"], "reason"))
        .filter(|(_, reason)| reason == unreadable)
        .map(|(id, _)| id)
        .collect();
    assert_eq!(told, ["1", "bad", bad.as_str(), "good, version 1"], "{report}");
    assert_eq!((&report["imported"], &report["adjusted"]), (&json!({}), &json!([])), "{report}");
    for id in [good, better] {
        let here = hub.get(&format!("/api/knowledge/{id}")).await.body;
        assert_eq!(here["relationships"][0]["target"], bad.as_str(), "it may tell of it: {here}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn others_can_be_changed_and_deleted() {
    let Damaged { hub, bad, others: [good, better], .. } = damaged().await;
    let batch = json!([bad, good]);
    let answer = hub.post("/api/knowledge/batch_delete", &batch).await;
    let done: Vec<&Value> =
        answer.body["results"].as_array().unwrap().iter().map(|item| &item["ok"]).collect();
    assert_eq!(done, [false, true], "{answer:?}");
    let path = format!("/api/knowledge/{better}");
    let answer = hub.call(Method::DELETE, &path, &[], None).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    let answer = hub.post("/api/reseal", &json!({})).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");

    hub.add_knowledge(json!({ "task": "清理C盘空间" })).await;
    let hub = TestHub::start_in(hub.stop().await).await;
    assert_eq!(hub.ids("C盘").await.len(), 1);
    hub.stop().await;
}

#[tokio::test]
async fn what_becomes_unreadable_is_no_longer_found_and_stops_no_later_row() {
    let hub = TestHub::start().await;
    hub.add_knowledge(json!({ "task": "提取表格" })).await;
    let folder = hub.stop().await;
    let db = rusqlite::Connection::open(folder.path().join("hub.db")).unwrap();
    let changed = "UPDATE knowledge SET eval = '[', seq = (SELECT last_seq + 1 FROM store)";
    assert_eq!(db.execute(changed, []).unwrap(), 1);
    db.execute("UPDATE store SET last_seq = last_seq + 1", []).unwrap();
    drop(db);

    let hub = TestHub::start_in(folder).await;
    assert_eq!(hub.ids("表格").await, [""; 0]);
    let id = hub.add_knowledge(json!({ "task": "提取图片" })).await;
    until(async || hub.get("/readyz").await.status == StatusCode::OK).await;
    assert_eq!(hub.ids("提取").await, [id]);
    hub.stop().await;
}

#[tokio::test]
async fn it_can_be_removed_for_good_and_nothing_else_can_be_done_to_it() {
    let Damaged { hub, bad, others: [good, better], .. } = damaged().await;
    let knowledge = format!("/api/knowledge/{bad}");
    let change = json!({ "title": "t", "body": "b", "task": "t", "id": "bad" });
    for (method, path) in [
        (Method::PATCH, &*knowledge),
        (Method::PATCH, "/api/resource/bad"),
        (Method::POST, "/api/resource"),
        (Method::DELETE, &*knowledge),
        (Method::DELETE, "/api/resource/bad"),
        (Method::DELETE, "/api/experience/1"),
    ] {
        let body = (method != Method::DELETE).then_some(&change);
        let refused = hub.call(method.clone(), path, &[], body).await;
        assert_eq!(refused.status, StatusCode::CONFLICT, "{method} {path}: {refused:?}");
        let message = refused.body["error"]["message"].as_str().unwrap();
        assert!(message.contains("erase=true"), "{message}");
    }
    for path in [&*knowledge, "/api/resource/bad", "/api/experience/1"] {
        let erase = format!("{path}?erase=true");
        if !path.contains("experience") {
            let other = hub.call(Method::DELETE, &erase, &[("if-match", "\"9\"")], None).await;
            assert_eq!(other.status, StatusCode::PRECONDITION_FAILED, "{path}: {other:?}");
        }
        let gone = hub.call(Method::DELETE, &erase, &[], None).await;
        assert_eq!(gone.body["erased"], true, "{path}: {gone:?}");
        let again = hub.call(Method::DELETE, path, &[], None).await;
        assert_eq!(again.status, StatusCode::NOT_FOUND, "{path}: {again:?}");
    }
    let found = hub.find("/api/search", &[("q", "提取")]).await.body;
    assert_eq!(found["results"][0]["experience_count"], 1, "{found}");
    for id in [good, better] {
        let shown = hub.get(&format!("/api/knowledge/{id}")).await.body;
        assert_eq!(shown["relationships"], json!([]), "{shown}");
    }
    let gone = hub.call(Method::DELETE, "/api/resource/good?erase=true", &[], None).await;
    assert_eq!(gone.status, StatusCode::OK, "one of its versions is no JSON: {gone:?}");

    let mut checker = Checker::default();
    checker.push(export(&hub).await.as_bytes()).unwrap();
    assert_eq!(checker.finish().unwrap().1.left_out.count, 0);
    hub.stop().await;
}

#[tokio::test]
async fn lists_of_feedback_and_demand_go_on_without_it() {
    let hub = TestHub::start().await;
    let id = hub.add_knowledge(json!({})).await;
    for text in ["坏", "好"] {
        let feedback = json!({ "evolve_feedback": text });
        hub.call(Method::PUT, &format!("/api/knowledge/{id}"), &[], Some(&feedback)).await;
        assert!(hub.names(&format!("{text}不存在")).await.is_empty());
    }
    let folder = hub.stop().await;
    let db = rusqlite::Connection::open(folder.path().join("hub.db")).unwrap();
    for sql in [
        "UPDATE feedback SET text = CAST(x'ff' AS TEXT) WHERE text = '坏'",
        "UPDATE demand SET kind = 'other' WHERE wanted = '坏不存在'",
    ] {
        assert_eq!(db.execute(sql, []).unwrap(), 1, "{sql}");
    }
    drop(db);
    let hub = TestHub::start_in(folder).await;
    let listed = hub.get(&format!("/api/knowledge/{id}/feedback")).await.body;
    assert_eq!(strings(&listed["results"], "text"), ["好"]);
    let listed = hub.get("/api/demand").await.body;
    assert_eq!(strings(&listed["results"], "wanted"), ["好不存在"]);

    hub.add_experience(json!({ "name": "好不存在" })).await;
    assert_eq!(hub.names("好不存在").await.len(), 1);
    let listed = hub.get("/api/demand").await.body;
    assert_eq!(listed["results"], json!([]), "what was wanted before the start is found");
    hub.stop().await;
}
