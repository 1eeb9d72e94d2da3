//! What belongs to a record or a tombstone that stays out stays out as well.

use axum::http::Method;
use protocol::export::{Kind, Line, Tombstone, Writer};
use serde_json::{Value, json};

use super::{
    header,
    two::{RESOURCE, Two, conflicts},
    written,
};
use crate::harness::{TestHub, strings};

const SECRET: &str = "AKIAIOSFODNN7REALKEY";

/// Returns the records of an export.
fn lines(export: &str) -> Vec<Line> {
    let lines = export.lines().skip(1).map(|line| Line::parse(line.as_bytes()).unwrap());
    lines.filter(|line| line.kind().is_some()).collect()
}

/// Returns the records of an export, its tombstones changed.
fn spoiled(export: &str, spoil: impl Fn(&mut Tombstone)) -> Vec<Line> {
    let mut lines = lines(export);
    for line in &mut lines {
        if let Line::Tombstone(tombstone) = line {
            spoil(tombstone);
        }
    }
    lines
}

#[tokio::test]
async fn a_tombstone_keeps_away_what_was_deleted_even_when_its_reason_is_a_secret() {
    let two = Two::start().await;
    two.step("there make a").await;
    let older = two.export("there").await;
    let path = format!("{RESOURCE}?reason=leaked%20{SECRET}");
    let headers = [("authorization", super::two::ADMIN), ("x-allow-likely-secret", "true")];
    let deleted = two.there.call(Method::DELETE, &path, &headers, None).await;
    assert_eq!(deleted.status, 200, "{deleted:?}");
    for imported in [json!({ "tombstone": 1, "version": 1 }), json!({})] {
        let report = two.import().await;
        assert_eq!(report["imported"], imported, "{report}");
        let told = &report["adjusted"][0];
        assert_eq!(
            (&told["place"], &told["field"]),
            (&json!("line 2"), &json!("tombstone.reason"))
        );
    }
    let here = two.export("here").await;
    assert!(here.contains("leaked [REDACTED]") && !here.contains(SECRET), "{here}");
    assert_eq!((two.versions("reader").await, two.versions("admin").await), (vec![], vec![1]));
    let report = two.import_text(older).await;
    assert_eq!(conflicts(&report), ["resource x/y: it was deleted here"]);
    two.stop().await;
}

#[tokio::test]
async fn without_its_tombstone_no_deleted_version_comes_in() {
    let spoils: [fn(&mut Tombstone); 2] = [|dead| dead.erased_to = 9, |dead| dead.version = 0];
    for spoil in spoils {
        let two = Two::start().await;
        for step in ["there make a", "there change b", "there delete"] {
            two.step(step).await;
        }
        let report = two.import_text(written(&spoiled(&two.export("there").await, spoil))).await;
        let orphan = "there is neither its record nor a tombstone here";
        assert_eq!(report["rejected_count"], 1, "{report}");
        assert_eq!(strings(&report["conflicts"], "reason"), [orphan; 2], "{report}");

        // Nor below the next record of that id.
        for step in ["there make c", "there change d"] {
            two.step(step).await;
        }
        let report = two.import_text(written(&spoiled(&two.export("there").await, spoil))).await;
        assert_eq!(report["imported"]["resource"], 1, "{report}");
        let hidden = "the tombstone that hides it was not imported";
        let reasons = strings(&report["conflicts"], "reason");
        assert!(reasons.len() >= 2 && reasons.iter().all(|reason| reason == hidden), "{report}");
        assert!(two.versions("reader").await.iter().all(|version| *version > 2));
        two.stop().await;
    }
}

#[tokio::test]
async fn a_version_that_belongs_to_nothing_is_refused() {
    let two = Two::start().await;
    two.step("there make a").await;
    two.step("there delete").await;
    let mut alone = lines(&two.export("there").await);
    alone.retain(|line| matches!(line, Line::Version(_)));
    for query in ["?dry_run=true", ""] {
        let hub = TestHub::start().await;
        let kind = "application/x-ndjson";
        let report = super::import_as(&hub, query, kind, written(&alone)).await.body;
        // A dry run undoes the tombstones before it comes to what they are of.
        assert_eq!(report["conflict_count"], u8::from(query.is_empty()), "{report}");
        hub.stop().await;
    }
    two.stop().await;
}

/// Makes a knowledge record with a version, a verdict and feedback, and returns the records of the export.
async fn judged() -> Vec<Line> {
    let hub = TestHub::start().await;
    let id = hub.add_knowledge(json!({})).await;
    let path = format!("/api/knowledge/{id}");
    let verdict = json!({
        "knowledge_id": id, "injected_at_sequence": 1, "eval_status": "helpful",
    });
    for (method, path, body) in [
        (Method::PATCH, path.as_str(), json!({ "content": "b" })),
        (Method::PUT, &path, json!({ "evolve_feedback": "c" })),
        (
            Method::POST,
            "/api/knowledge/evaluations",
            json!({ "trace_id": "t", "evaluations": [verdict] }),
        ),
    ] {
        let answer = hub.call(method, path, &[], Some(&body)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let lines = lines(&super::export(&hub).await);
    hub.stop().await;
    lines
}

const LEFT_OUT: [&str; 3] = [
    "version: its record was not imported",
    "evaluation: its record was not imported",
    "feedback: its record was not imported",
];

/// Returns `kind: reason` of each conflict.
fn kinds(report: &Value) -> Vec<String> {
    let conflicts = report["conflicts"].as_array().unwrap().iter();
    let text = |one: &Value, field: &str| one[field].as_str().unwrap().to_owned();
    conflicts.map(|one| format!("{}: {}", text(one, "kind"), text(one, "reason"))).collect()
}

#[tokio::test]
async fn the_history_of_a_record_whose_line_is_wrong_stays_out() {
    let mut lines = judged().await;
    let Some(Line::Knowledge(wrong)) = lines.first_mut() else { panic!("it comes first") };
    wrong.record.eval.score = 9;
    let hub = TestHub::start().await;
    let report = super::import(&hub, &written(&lines)).await;
    assert_eq!(report["rejected"][0]["field"], "knowledge.record.eval.score");
    assert_eq!(kinds(&report), LEFT_OUT);
    assert_eq!(report["imported"], json!({}));
    hub.stop().await;
}

#[tokio::test]
async fn what_the_export_itself_lacks_is_told_and_takes_its_history_along() {
    let mut lines = judged().await;
    let Line::Knowledge(lacking) = lines.remove(0) else { panic!("it comes first") };
    let id = lacking.record.id.as_str();
    let mut out = Vec::new();
    let mut writer = Writer::start(&header(0), &mut out);
    for line in &lines {
        writer.write(line, &mut out);
    }
    writer.leave_out(Kind::Knowledge, id);
    writer.leave_out(Kind::Demand, "content");
    writer.finish(&mut out);
    let whole = String::from_utf8(out).unwrap();

    let hub = TestHub::start().await;
    let report = super::import(&hub, &whole).await;
    let records = [format!("knowledge {id}"), "demand content".to_owned()];
    assert_eq!(report["left_out"], json!({ "count": 2, "records": records }));
    assert_eq!(kinds(&report), LEFT_OUT);
    hub.stop().await;
}
