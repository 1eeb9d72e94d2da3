//! Deleting: what is gone is found by nothing, what was not named stays, and aggregates follow.

use std::collections::BTreeSet;

use axum::http::Method;
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::harness::{TestHub, strings};

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
