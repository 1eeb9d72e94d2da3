//! Deleting: what is gone is found by nothing, what was not named stays, and aggregates follow.

use std::collections::BTreeSet;

use axum::{
    body::{Body, to_bytes},
    http::{Method, Request},
};
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::harness::{TestHub, files_hold, strings};

#[tokio::test]
async fn an_experience_is_shown_and_deleted_and_its_name_follows() {
    for name in ["pymupdf", "PyMuPDF", "100%_ok", "it's \"x\"", "two\nlines"] {
        let hub = TestHub::start().await;
        let report = |more: Value| {
            let mut report = json!({ "name": name, "task": "提取表格" });
            report.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            report
        };
        hub.add_experience(json!({ "name": "PYMUPDF", "task": "提取表格", "score": 1 })).await;
        let old =
            hub.add_experience(report(json!({ "score": 5, "url": "https://old.example" }))).await;
        let new =
            hub.add_experience(report(json!({ "score": 2, "url": "https://new.example" }))).await;
        let unrated = hub.add_experience(report(json!({}))).await;
        let aggregate = async || {
            let found = hub.find("/api/search", &[("q", "提取表格")]).await.body;
            let results = found["results"].as_array().unwrap();
            results.iter().find(|one| one["name"] == name).map(|one| {
                (one["url"].clone(), one["avg_score"].clone(), one["experience_count"].clone())
            })
        };
        let shown = hub.get(&format!("/api/experience/{new}")).await.body;
        assert_eq!((&shown["name"], &shown["score"]), (&json!(name), &json!(2)));
        assert_eq!(shown["authenticated_as"], "local");

        for (id, left) in [
            (None, Some((json!("https://new.example"), json!(3.5), json!(3)))),
            (Some(new), Some((json!("https://old.example"), json!(5.0), json!(2)))),
            (Some(old), Some((json!(""), Value::Null, json!(1)))),
            (Some(unrated), None),
        ] {
            if let Some(id) = id {
                let path = format!("/api/experience/{id}");
                let deleted =
                    hub.call(Method::DELETE, &format!("{path}?reason=test"), &[], None).await;
                assert_eq!(deleted.body, json!({ "id": id, "erased": false }));
                for method in [Method::GET, Method::DELETE] {
                    assert_eq!(hub.call(method, &path, &[], None).await.status, 404);
                }
                let kept = hub.get(&format!("/api/versions/experience/{id}")).await.body;
                assert_eq!(kept["results"][0]["record"]["name"], name);
            }
            assert_eq!(aggregate().await, left, "{name}");
        }
        let erased =
            hub.call(Method::DELETE, &format!("/api/experience/{new}?erase=true"), &[], None).await;
        assert_eq!(erased.body, json!({ "id": new, "erased": true }));
        assert_eq!(hub.get(&format!("/api/versions/experience/{new}")).await.status, 404);
        assert_eq!(hub.names("提取表格").await, ["PYMUPDF"], "another case is another name");
        hub.stop().await;
    }
}

#[tokio::test]
async fn what_is_no_experience_is_not_found() {
    let hub = TestHub::start().await;
    for id in ["1", "0", "-1", "x", "9223372036854775808", "1.0"] {
        for method in [Method::GET, Method::DELETE] {
            let answer = hub.call(method, &format!("/api/experience/{id}"), &[], None).await;
            assert_eq!(
                (answer.status.as_u16(), &answer.body["error"]["code"]),
                (404, &json!("not_found"))
            );
        }
    }
    let id = hub.add_experience(json!({})).await;
    let long = "x".repeat(2_001);
    let answer =
        hub.call(Method::DELETE, &format!("/api/experience/{id}?reason={long}"), &[], None).await;
    assert_eq!(answer.body["error"]["field"], "reason");
    assert_eq!(hub.get(&format!("/api/experience/{id}")).await.status, 200);
    hub.stop().await;
}

/// Returns the reason in the tombstone of the one deleted record with this id, as an export tells it.
async fn reason_of(hub: &TestHub, id: &str) -> String {
    let export = hub.raw(Request::get("/api/export").body(Body::empty()).unwrap()).await;
    let export = to_bytes(export.into_body(), usize::MAX).await.unwrap();
    let lines = export.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let mut lines = lines.map(|line| serde_json::from_slice::<Value>(line).unwrap());
    let dead = lines.find(|line| line["tombstone"]["id"] == id).expect("it was deleted");
    dead["tombstone"]["reason"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn who_erases_what_was_deleted_before_is_noted_beside_who_deleted_it() {
    let hub = TestHub::start().await;
    for (kind, id) in hub.add_one_of_each().await {
        let delete = async |query: &str| {
            let path = format!("/api/{kind}/{id}?{query}");
            let answer = hub.call(Method::DELETE, &path, &[], None).await;
            assert_eq!(answer.status, 200, "{answer:?}");
        };
        delete("reason=outdated").await;
        assert_eq!(reason_of(&hub, &id).await, "outdated");
        delete("erase=true&reason=asked%20to").await;
        let reason = reason_of(&hub, &id).await;
        assert!(reason.starts_with("outdated; erased 20"), "{kind}: {reason}");
        assert!(reason.ends_with("Z by local: asked to"), "{kind}: {reason}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn nothing_in_the_store_tells_what_was_erased() {
    let needle = |index: usize| format!("nobody-reads-this-{index}-again");
    let hub = TestHub::start().await;
    let experience = hub.add_experience(json!({ "tips": needle(0) })).await;
    let knowledge = hub.add_knowledge(json!({ "content": needle(1) })).await;
    let path = format!("/api/knowledge/{knowledge}");
    // Ways in which a write can be sent again under its key, each with what it said.
    let escaped = path.replace('-', "%2D");
    let verify = format!("{escaped}/verify");
    let put = json!({ "add_helpful_case": needle(2), "evolve_feedback": needle(3) });
    let edit = json!({ "owner": needle(4) });
    let batch = json!({ "feedback_list": [
        { "knowledge_id": knowledge, "is_effective": true, "feedback": needle(5) }] });
    let judged = json!({ "trace_id": "t", "evaluations": [{ "knowledge_id": knowledge,
        "injected_at_sequence": 1, "eval_status": "helpful", "reason": needle(6) }] });
    let verdict = json!({ "action": "approve", "verified_by": needle(7) });
    for (method, path, body) in [
        (Method::PUT, escaped.as_str(), put),
        (Method::PATCH, path.as_str(), edit),
        (Method::POST, "/api/knowledge/batch_update", batch),
        (Method::POST, "/api/knowledge/evaluations", judged),
        (Method::POST, verify.as_str(), verdict),
    ] {
        let answer = hub.call(method, path, &[("idempotency-key", "k")], Some(&body)).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
    }
    for index in [8, 9] {
        let resource = json!({ "id": "notes", "body": needle(index).repeat(1_000) });
        hub.post("/api/resource", &resource).await;
    }
    let folder = hub.stop().await;
    for index in 0..10 {
        assert!(files_hold(&folder, &needle(index)), "{index} is stored at first");
    }

    let hub = TestHub::start_in(folder).await;
    for path in [format!("/api/experience/{experience}"), path, "/api/resource/notes".to_owned()] {
        let erased = hub.call(Method::DELETE, &format!("{path}?erase=true"), &[], None).await;
        assert_eq!(erased.body["erased"], true, "{erased:?}");
    }
    let folder = hub.stop().await;
    for index in 0..10 {
        assert!(!files_hold(&folder, &needle(index)), "{index} can still be read");
    }
}

/// Deletes some of `count` records of each kind and looks for all of them, in memory and on disk.
async fn delete_some(count: usize, doomed: &BTreeSet<usize>) {
    let hub = TestHub::start().await;
    let (mut experiences, mut knowledge) = (Vec::new(), Vec::new());
    for index in 0..count {
        let name = format!("tool-{index}");
        experiences.push(hub.add_experience(json!({ "name": name, "task": "提取表格" })).await);
        knowledge.push(hub.add_knowledge(json!({ "owner": format!("o-{}", index % 3) })).await);
    }
    for index in doomed {
        let path = format!("/api/experience/{}", experiences[*index]);
        assert_eq!(hub.call(Method::DELETE, &path, &[], None).await.status, 200);
    }
    let ids: Vec<&String> = doomed.iter().map(|index| &knowledge[*index]).collect();
    if !ids.is_empty() {
        hub.post("/api/knowledge/batch_delete", &json!(ids)).await;
    }
    let left = |index: &usize| !doomed.contains(index);
    let mut names: Vec<String> =
        (0..count).filter(left).map(|index| format!("tool-{index}")).collect();
    let mut records: Vec<String> =
        (0..count).filter(left).map(|index| knowledge[index].clone()).collect();
    names.sort();
    records.sort();
    let check = async |hub: &TestHub| {
        let params = [("q", "提取表格"), ("limit", "100"), ("top_k", "20")];
        let found = hub.find("/api/search", &params).await.body;
        let mut found = strings(&found["results"], "name");
        found.sort();
        assert_eq!(found, names);
        for path in ["/api/knowledge/search", "/api/knowledge"] {
            let found = hub.find(path, &params).await.body;
            let mut found = strings(&found["results"], "id");
            found.sort();
            assert_eq!(found, records, "{path}");
        }
    };
    check(&hub).await;
    let hub = TestHub::start_in(hub.stop().await).await;
    check(&hub).await;
    hub.stop().await;
}

#[test]
fn deleting_touches_what_is_named_and_nothing_else() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let sets = (1_usize..12)
        .prop_flat_map(|count| (Just(count), proptest::collection::btree_set(0..count, 0..=count)));
    TestRunner::new(ProptestConfig {
        cases: 8,
        failure_persistence: None,
        ..ProptestConfig::default()
    })
    .run(&sets, |(count, doomed)| {
        runtime.block_on(delete_some(count, &doomed));
        Ok(())
    })
    .unwrap();
}
