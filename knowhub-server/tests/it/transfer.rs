//! Everything out of one hub and into another: equal, merged, or refused as a whole.

use std::fs;

use axum::{
    body::{Body, to_bytes},
    http::{Method, Request, StatusCode},
};
use protocol::{
    ExperienceId, Timestamp,
    export::{Experience, FORMAT, Header, Line, RecordKind, Tombstone, Version, Writer},
    hub::KnowledgeStatus,
};
use serde_json::{Value, json};

use crate::harness::{self, Answer, TestHub};

mod clocks;
mod interrupted;
mod left_out;
mod merge;
mod operations;
mod random;
mod sealed;
mod two;

/// Returns the export of a hub.
async fn export(hub: &TestHub) -> String {
    let response = hub.raw(Request::get("/api/export").body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "application/x-ndjson");
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

async fn import_as(hub: &TestHub, query: &str, kind: &str, export: impl Into<Body>) -> Answer {
    let request = Request::post(format!("/api/import{query}")).header("content-type", kind);
    hub.send(request.body(export.into()).unwrap()).await
}

/// Imports what must be importable, and returns the report.
async fn import(hub: &TestHub, export: &str) -> Value {
    let answer = import_as(hub, "", "application/x-ndjson", export.to_owned()).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    answer.body
}

/// Returns an export without its header, which alone differs between equal stores.
fn records(export: &str) -> &str {
    export.split_once('\n').unwrap().1
}

/// Returns an export of these records.
fn written(lines: &[Line]) -> String {
    let number = |line: &Line| if let Line::Experience(one) = line { one.id.0 } else { 0 };
    written_up_to(lines.iter().map(number).max().unwrap_or(0), lines)
}

/// Returns an export of these records, whose hub gave experiences numbers up to `last`.
fn written_up_to(last: i64, lines: &[Line]) -> String {
    let mut out = Vec::new();
    let mut writer = Writer::start(&header(last), &mut out);
    for line in lines {
        writer.write(line, &mut out);
    }
    writer.finish(&mut out);
    String::from_utf8(out).unwrap()
}

fn header(last: i64) -> Header {
    Header {
        knowhub_export: FORMAT,
        store_id: "elsewhere".into(),
        last_seq: 0,
        last_experience: ExperienceId(last),
        created_at: Timestamp::from_millis(0),
    }
}

fn experience(id: i64, name: &str, at: i64) -> Line {
    Line::Experience(Experience {
        id: ExperienceId(id),
        name: name.into(),
        url: String::new(),
        category: String::new(),
        task: "提取表格".into(),
        score: Some(4),
        outcome: String::new(),
        tips: String::new(),
        content_id: String::new(),
        submitted_by: String::new(),
        authenticated_as: "local".into(),
        on_behalf_of: String::new(),
        created_at: Timestamp::from_millis(at),
    })
}

fn tombstone(kind: RecordKind, id: &str, at: i64) -> Line {
    Line::Tombstone(Tombstone {
        kind,
        id: id.into(),
        version: 1,
        deleted_at: Timestamp::from_millis(at),
        deleted_by: "local".into(),
        reason: "外泄".into(),
        erased_to: 0,
        fingerprint: String::new(),
    })
}

#[tokio::test]
async fn an_empty_hub_becomes_equal_and_finds_what_came() {
    let hub = TestHub::start().await;
    for number in 0..600 {
        hub.add_experience(json!({ "name": format!("包{number}"), "url": "https://a" })).await;
    }
    let id = hub.add_knowledge(json!({ "task": "清理C盘空间", "tags": { "a\n\"b": "é" } })).await;
    let whole = export(&hub).await;
    hub.stop().await;

    let other = TestHub::start().await;
    let report = import(&other, &whole).await;
    assert_eq!(report["imported"], json!({ "experience": 600, "knowledge": 1 }));
    assert_eq!(records(&export(&other).await), records(&whole));
    assert_eq!(other.names("包599").await[0], "包599");
    assert_eq!(other.ids("C盘").await, [id]);
    let hit = other.find("/api/search", &[("q", "包7")]).await.body["results"][0].clone();
    assert_eq!((&hit["url"], &hit["avg_score"]), (&json!("https://a"), &Value::Null));

    let report = import(&other, &whole).await;
    assert_eq!(report["imported"], json!({}));
    assert_eq!(report["skipped"], json!({ "experience": 600, "knowledge": 1 }));
    assert_eq!(records(&export(&other).await), records(&whole));
    other.stop().await;
}

#[tokio::test]
async fn a_full_hub_keeps_what_it_has() {
    let hub = TestHub::start().await;
    let mine = hub.add_experience(json!({ "name": "我的" })).await;
    let id = hub.add_knowledge(json!({ "content": "旧" })).await;
    let before = export(&hub).await;
    let other = before.replace("旧", "新");
    let Ok(Line::Knowledge(changed)) = Line::parse(other.lines().nth(2).unwrap().as_bytes()) else {
        panic!("the third line is the knowledge record")
    };
    let lines = [
        experience(mine, "别人的", 5),
        experience(mine + 1, "别人的", 6),
        Line::Knowledge(changed),
        tombstone(RecordKind::Knowledge, &id, 4_000_000_000_000),
    ];
    let report = import(&hub, &written(&lines)).await;
    // The taken number is not given to a record whose own number is free.
    assert_eq!(report["renumbered"], json!([{ "from": mine, "to": mine + 2, "count": 1 }]));
    assert_eq!(report["imported"], json!({ "experience": 2 }));
    assert_eq!(report["conflict_count"], 2);
    let conflicts = report["conflicts"].as_array().unwrap();
    for (conflict, reason) in conflicts.iter().zip(["another state", "still here"]) {
        assert_eq!(conflict["id"], id.as_str());
        assert!(conflict["reason"].as_str().unwrap().contains(reason), "{conflict}");
    }
    let after = export(&hub).await;
    for line in before.lines().skip(1).filter(|line| !line.contains("manifest")) {
        assert!(after.contains(line), "{line} is as it was");
    }
    let report = import(&hub, &written(&lines)).await;
    assert_eq!(report["skipped"], json!({ "experience": 2 }));
    assert_eq!(report["renumbered"], json!([{ "from": mine, "to": mine + 2, "count": 1 }]));
    assert_eq!(records(&export(&hub).await), records(&after));
    hub.stop().await;
}

#[tokio::test]
async fn a_number_that_a_deleted_experience_had_is_not_used_again() {
    let hub = TestHub::start().await;
    // Whatever the header says, the numbers of what was deleted are taken.
    import(&hub, &written(&[tombstone(RecordKind::Experience, "7", 100)])).await;
    assert_eq!(hub.add_experience(json!({})).await, 8);
    let report = import(&hub, &written(&[experience(7, "别的", 50)])).await;
    assert_eq!(report["renumbered"], json!([{ "from": 7, "to": 9, "count": 1 }]));
    assert_eq!(hub.names("别的").await, ["别的"]);
    for id in [8, 9] {
        let path = format!("/api/experience/{id}");
        assert_eq!(hub.call(Method::DELETE, &path, &[], None).await.status, 200);
    }
    hub.stop().await;
}

#[tokio::test]
async fn demand_that_came_in_is_cleared_when_it_is_found() {
    let hub = TestHub::start().await;
    assert_eq!(hub.names("speech").await, [""; 0]);
    assert_eq!(hub.get("/api/demand").await.body["total"], 1);
    let whole = export(&hub).await;
    hub.stop().await;
    let other = TestHub::start().await;
    assert_eq!(import(&other, &whole).await["imported"], json!({ "demand": 1 }));
    other.add_experience(json!({ "name": "whisper", "task": "speech" })).await;
    assert_eq!(other.names("speech").await, ["whisper"]);
    assert_eq!(other.get("/api/demand").await.body["total"], 0);
    other.stop().await;
}

#[tokio::test]
async fn no_import_uses_all_numbers_up() {
    let hub = TestHub::start().await;
    let (most, last) = (1_i64 << 52, (1_i64 << 53) - 1);
    let report =
        import(&hub, &written(&[experience(most, "大", 5), experience(last, "最大", 6)])).await;
    assert_eq!(report["renumbered"], json!([{ "from": last, "to": most + 1, "count": 1 }]));
    let next = hub.add_experience(json!({})).await;
    assert_eq!(next, most + 2);
    let whole = export(&hub).await;
    let other = TestHub::start().await;
    assert_eq!(import(&other, &whole).await["imported"], json!({ "experience": 3 }));
    assert_eq!(records(&export(&other).await), records(&whole));
    other.stop().await;
    hub.stop().await;
}

#[tokio::test]
async fn numbers_of_deleted_experiences_are_not_used_again() {
    let hub = TestHub::start().await;
    let whole = written_up_to(9, &[experience(3, "三", 5), experience(4, "四", 6)]);
    import(&hub, &whole).await;
    assert_eq!(hub.add_experience(json!({})).await, 10);
    // The number is part of the sum.
    let changed = whole.replace("\"last_experience\":9", "\"last_experience\":8");
    let answer = import_as(&hub, "", "application/x-ndjson", changed).await;
    assert_eq!(answer.status, 422, "{answer:?}");
    hub.stop().await;
}

#[tokio::test]
async fn a_version_must_be_older_than_the_record_that_is_here() {
    let hub = TestHub::start().await;
    let id = hub.add_knowledge(json!({})).await;
    for owner in ["b", "c"] {
        let change = json!({ "owner": owner });
        let path = format!("/api/knowledge/{id}");
        assert_eq!(hub.call(Method::PATCH, &path, &[], Some(&change)).await.status, 200);
    }
    let versions = hub.get(&format!("/api/versions/knowledge/{id}")).await.body;
    let record = &versions["results"][0]["record"];
    let version = |version| {
        Line::Version(Version {
            kind: RecordKind::Knowledge,
            id: id.clone(),
            version,
            record: record.clone(),
            replaced_at: Timestamp::from_millis(1),
            replaced_by: "me".into(),
        })
    };
    let report = import(&hub, &written(&[version(1), version(3), version(4)])).await;
    let reasons = harness::strings(&report["conflicts"], "reason");
    let newer = "the record that is here is not newer";
    assert_eq!(reasons, ["another state of it is here", newer, newer]);
    hub.stop().await;
}

#[tokio::test]
async fn a_dry_run_tells_and_stores_nothing() {
    let hub = TestHub::start().await;
    hub.add_experience(json!({})).await;
    let before = export(&hub).await;
    let lines: Vec<_> = (1..700).map(|id| experience(id, "试", id)).collect();
    let kind = "application/x-ndjson";
    let answer = import_as(&hub, "?dry_run=true", kind, written(&lines)).await;
    assert_eq!(answer.body["dry_run"], true);
    assert_eq!(answer.body["imported"], json!({ "experience": 699 }));
    assert_eq!(answer.body["renumbered"], json!([]), "it gives no numbers");
    assert_eq!(records(&export(&hub).await), records(&before));
    assert_eq!(hub.names("试").await, [""; 0]);
    let answer = import_as(&hub, "?dry_run=perhaps", kind, written(&lines)).await;
    assert_eq!((answer.status.as_u16(), &answer.body["error"]["field"]), (422, &json!("dry_run")));
    hub.stop().await;
}

#[tokio::test]
async fn a_wrong_line_is_named_and_the_others_are_stored() {
    let hub = TestHub::start().await;
    let Line::Experience(mut wrong) = experience(2, "错", 5) else { panic!() };
    wrong.score = Some(9);
    let lines = [experience(1, "对", 5), Line::Experience(wrong), experience(3, "也对", 5)];
    let report = import(&hub, &written(&lines)).await;
    assert_eq!(report["imported"], json!({ "experience": 2 }));
    assert_eq!(report["rejected_count"], 1);
    let reason = "must be 1 to 5, or absent";
    let rejected = json!([{ "place": "line 3", "field": "experience.score", "reason": reason }]);
    assert_eq!(report["rejected"], rejected);
    hub.stop().await;
}

/// A line whose text looks like a secret, without being one.
fn leaking(id: i64) -> Line {
    let Line::Experience(mut leaking) = experience(id, "泄", 5) else { panic!() };
    leaking.tips = "用 AKIAIOSFODNN7REALKEY".into();
    Line::Experience(leaking)
}

#[tokio::test]
async fn a_likely_secret_stays_out_unless_its_sender_answers_for_it() {
    let hub = TestHub::start().await;
    let whole = written(&[experience(1, "对", 5), leaking(2)]);
    for _ in 0..2 {
        let report = import(&hub, &whole).await;
        assert_eq!(report["rejected_count"], 1);
        let rejected = &report["rejected"][0];
        assert_eq!(
            (&rejected["place"], &rejected["field"]),
            (&json!("line 3"), &json!("experience.tips"))
        );
        let reason = rejected["reason"].as_str().unwrap();
        assert!(reason.contains("X-Allow-Likely-Secret") && !reason.contains("AKIA"), "{reason}");
    }
    let request = Request::post("/api/import").header("content-type", "application/x-ndjson");
    let request = request.header("x-allow-likely-secret", "true");
    let answer = hub.send(request.body(whole.clone().into()).unwrap()).await;
    assert_eq!(answer.body["imported"], json!({ "experience": 1 }), "{answer:?}");
    assert_eq!(records(&export(&hub).await), records(&whole));
    hub.stop().await;
}

#[tokio::test]
async fn a_record_that_waits_for_nothing_is_approved() {
    let hub = TestHub::start().await;
    let id = hub.add_knowledge(json!({})).await;
    let whole = export(&hub).await;
    let Ok(Line::Knowledge(mut waiting)) = Line::parse(whole.lines().nth(1).unwrap().as_bytes())
    else {
        panic!("the second line is the knowledge record")
    };
    hub.stop().await;
    for status in [
        KnowledgeStatus::Pending,
        KnowledgeStatus::Processing,
        KnowledgeStatus::DedupPassed,
        KnowledgeStatus::Analyzing,
    ] {
        waiting.record.status = status;
        let hub = TestHub::start().await;
        for imported in [json!({ "knowledge": 1 }), json!({})] {
            let report = import(&hub, &written(&[Line::Knowledge(waiting.clone())])).await;
            assert_eq!(report["imported"], imported, "{status:?}");
            assert_eq!(report["conflicts"], json!([]), "{status:?}");
            let adjusted = &report["adjusted"][0];
            assert_eq!(adjusted["field"], "knowledge.record.status", "{status:?}");
        }
        assert_eq!(hub.get(&format!("/api/knowledge/{id}")).await.body["status"], "approved");
        hub.stop().await;
    }
}

#[tokio::test]
async fn two_imports_at_once_bring_the_same_as_one() {
    let hub = TestHub::start().await;
    // Each of them gets another number here.
    for _ in 0..300 {
        hub.add_experience(json!({})).await;
    }
    let whole = written(&(1..=300).map(|id| experience(id, "同", id)).collect::<Vec<_>>());
    tokio::join!(import(&hub, &whole), import(&hub, &whole));
    let found = hub.find("/api/search", &[("q", "同")]).await.body;
    assert_eq!(found["results"][0]["experience_count"], 300);
    hub.stop().await;
}

#[tokio::test]
async fn anything_but_a_whole_export_is_refused_as_a_whole() {
    let hub = TestHub::start().await;
    let whole = written(&[experience(1, "甲", 5), experience(2, "乙", 6)]);
    let cut = whole.rsplit_once("{\"manifest\"").unwrap().0;
    let changed = whole.replace('甲', "丙");
    let shorter = whole.lines().filter(|line| !line.contains('乙')).collect::<Vec<_>>().join("\n");
    let long = format!("{whole}{}", "x".repeat(33 << 20));
    for (body, told) in [
        ("", "the export is empty"),
        ("\u{1f}\u{8b}\u{8}", "line 1: not the header"),
        ("{\"name\":\"甲\",\"task\":\"乙\"}\n", "line 1: not the header"),
        (cut, "cut off after line 3"),
        (&changed, "the export was changed"),
        (&shorter, "speaks of 2 records, and there are 1"),
        (&long, "line 5 is longer than"),
        (&format!("{whole}{whole}"), "line 5 stands behind the manifest"),
    ] {
        let answer = import_as(&hub, "", "application/x-ndjson", body.to_owned()).await;
        assert_eq!(answer.status, 422, "{told}");
        let message = answer.body["error"]["message"].as_str().unwrap();
        assert!(message.contains(told) && message.ends_with("nothing was imported"), "{message}");
    }
    let gzip = import_as(&hub, "", "application/x-ndjson", &b"\x1f\x8b\x08\0"[..]).await;
    assert!(gzip.body["error"]["message"].as_str().unwrap().contains("compressed"), "{gzip:?}");
    for kind in ["application/json", "text/plain", ""] {
        let answer = import_as(&hub, "", kind, whole.clone()).await;
        assert_eq!(answer.status, 415, "{kind}");
        assert!(answer.body["error"]["message"].as_str().unwrap().contains("x-ndjson"));
    }
    assert_eq!(hub.names("提取表格").await, [""; 0], "nothing of it was stored");
    let windows = format!("\u{feff}{}", whole.replace('\n', "\r\n"));
    assert_eq!(import(&hub, &windows).await["imported"], json!({ "experience": 2 }));
    let report = import(&hub, &format!("\u{feff}\n{whole}")).await;
    assert_eq!(
        (&report["skipped"], &report["rejected"]),
        (&json!({ "experience": 2 }), &json!([]))
    );
    let folder = hub.stop().await;
    for file in fs::read_dir(folder.path()).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(!name.contains("import"), "{name} was left behind");
    }
}

#[tokio::test]
async fn what_an_interrupted_import_left_is_removed_at_the_next_start() {
    let hub = TestHub::start().await;
    let folder = hub.stop().await;
    let left = folder.path().join("hub.db.import-0123");
    let other = folder.path().join("other.db.import-0123");
    fs::write(&left, "half").unwrap();
    fs::write(&other, "half").unwrap();
    let folder = TestHub::start_in(folder).await.stop().await;
    assert!(!left.exists() && other.exists());
    drop(folder);
}
