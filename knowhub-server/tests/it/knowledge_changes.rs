//! Changing one knowledge record: feedback, edits, decisions, relations, and what is refused.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Answer, TestHub, encoded, strings};

fn path(id: &str) -> String {
    format!("/api/knowledge/{id}")
}

async fn put(hub: &TestHub, id: &str, body: Value) -> Answer {
    hub.call(Method::PUT, &path(id), &[], Some(&body)).await
}

async fn patch(hub: &TestHub, id: &str, body: Value) -> Answer {
    hub.call(Method::PATCH, &path(id), &[], Some(&body)).await
}

async fn record(hub: &TestHub, id: &str) -> Value {
    hub.get(&path(id)).await.body
}

#[track_caller]
fn assert_refused(answer: &Answer, status: u16, code: &str, field: Option<&str>) {
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(answer.body["error"]["code"], code, "{answer:?}");
    assert_eq!(answer.body["error"]["field"].as_str(), field, "{answer:?}");
}

#[tokio::test]
async fn cases_and_scores_are_counted_and_shown() {
    let hub = TestHub::start().await;
    let id = hub.add_knowledge(json!({})).await;
    let answer = put(&hub, &id, json!({ "add_helpful_case": "双栏论文也行" })).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.headers["etag"], "\"2\"");
    assert_eq!((&answer.body["evolved"], &answer.body["reason"]), (&json!(false), &json!("")));
    let body = json!({ "add_harmful_case": { "page": 3, "why": "扫描件" }, "update_score": 2 });
    put(&hub, &id, body).await;
    let eval = &record(&hub, &id).await["eval"];
    assert_eq!(
        (&eval["helpful"], &eval["harmful"], &eval["score"]),
        (&json!(1), &json!(1), &json!(2))
    );
    assert_eq!(eval["helpful_history"][0]["case"], "双栏论文也行");
    assert_eq!(eval["helpful_history"][0]["by"], "local");
    assert_eq!(eval["harmful_history"][0]["case"]["page"], 3);
    assert_eq!(eval["confidence"], 0.5);

    // The next search knows the new score.
    assert!(hub.ids("提取表格").await.is_empty(), "below the default min_score");
    put(&hub, &id, json!({ "update_score": 5 })).await;
    assert_eq!(hub.ids("提取表格").await, [id]);
    hub.stop().await;
}

/// Returns a case that nests as many objects as this.
fn nested(depth: usize) -> Value {
    (1..depth).fold(json!({ "a": 1 }), |inner, _| json!({ "a": inner }))
}

#[tokio::test]
async fn the_deepest_case_can_be_read_again_everywhere_and_a_deeper_one_is_refused() {
    let hub = TestHub::start().await;
    let id = hub.add_knowledge(json!({})).await;
    for depth in [33, 120] {
        for field in ["add_helpful_case", "add_harmful_case"] {
            let answer = put(&hub, &id, json!({ field: nested(depth) })).await;
            assert_refused(&answer, 422, "invalid", Some(field));
        }
    }
    let body = json!({ "add_helpful_case": nested(32) });
    let key = [("idempotency-key", "k")];
    for _ in 0..2 {
        let answer = hub.call(Method::PUT, &path(&id), &key, Some(&body)).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    }
    assert_eq!(patch(&hub, &id, json!({ "owner": "ann" })).await.status, StatusCode::OK);
    assert_eq!(hub.ids("提取表格").await, [id.as_str()]);
    let kept = hub.get(&format!("/api/versions/knowledge/{id}")).await.body;
    let case = kept.pointer("/results/0/record/eval/helpful_history/0/case");
    assert_eq!(case, Some(&nested(32)));
    hub.stop().await;
}

#[tokio::test]
async fn feedback_is_kept_where_there_is_no_model() {
    let hub = TestHub::start().await;
    let id = hub.add_knowledge(json!({})).await;
    let before = record(&hub, &id).await;
    let answer = put(&hub, &id, json!({ "evolve_feedback": "双栏先排序" })).await;
    assert_eq!(answer.body["evolved"], false);
    assert!(answer.body["reason"].as_str().unwrap().contains("no language model"), "{answer:?}");
    assert_eq!(record(&hub, &id).await, before, "nothing about the record changed");
    let open = hub.get(&format!("/api/knowledge/{id}/feedback")).await.body;
    assert_eq!(open["total"], 1);
    assert_eq!(open["results"][0]["text"], "双栏先排序");
    assert_eq!(open["results"][0]["authenticated_as"], "local");
    assert_eq!(open["results"][0]["applied_at"], Value::Null);
    hub.stop().await;
}

#[tokio::test]
async fn wrong_feedback_is_named_and_changes_nothing() {
    let hub = TestHub::start().await;
    let id = hub.add_knowledge(json!({})).await;
    let before = record(&hub, &id).await;
    let long = "长".repeat(2_001);
    for (body, field) in [
        (json!({}), None),
        (json!({ "unknown": 1 }), None),
        (json!({ "update_score": null }), None),
        (json!({ "update_score": 0 }), Some("update_score")),
        (json!({ "update_score": 6 }), Some("update_score")),
        (json!({ "update_score": "5" }), Some("update_score")),
        (json!({ "update_score": 4.5 }), Some("update_score")),
        (json!({ "add_helpful_case": "" }), Some("add_helpful_case")),
        (json!({ "add_helpful_case": {} }), Some("add_helpful_case")),
        (json!({ "add_helpful_case": 7 }), Some("add_helpful_case")),
        (json!({ "add_harmful_case": long }), Some("add_harmful_case")),
        (json!({ "evolve_feedback": " " }), Some("evolve_feedback")),
        (json!({ "evolve_feedback": "x".repeat(4_001) }), Some("evolve_feedback")),
        (json!({ "add_helpful_case": "ok", "update_score": 9 }), Some("update_score")),
    ] {
        assert_refused(&put(&hub, &id, body).await, 422, "invalid", field);
    }
    let secret = "ghp_q7Zk2XvB9mRt4WnC8pLs5HgD3fJy6TaE1uVi".to_owned();
    let leak = put(&hub, &id, json!({ "add_helpful_case": { "token": secret } })).await;
    assert_refused(&leak, 422, "likely_secret", Some("add_helpful_case.token"));
    assert_eq!(record(&hub, &id).await, before);
    for gone in ["knowledge-20260101-000000-0000", "nonsense", "%ff"] {
        let answer = put(&hub, gone, json!({ "update_score": 3 })).await;
        assert_refused(&answer, 404, "not_found", None);
    }
    hub.stop().await;
}

#[tokio::test]
async fn a_feedback_that_is_sent_again_counts_once() {
    let hub = TestHub::start().await;
    let id = hub.add_knowledge(json!({})).await;
    let body = json!({ "add_helpful_case": "ok", "evolve_feedback": "更多" });
    let key = [("idempotency-key", "k")];
    let first = hub.call(Method::PUT, &path(&id), &key, Some(&body)).await;
    let again = hub.call(Method::PUT, &path(&id), &key, Some(&body)).await;
    assert_eq!(first.body, again.body);
    assert_eq!(first.headers["etag"], again.headers["etag"]);
    assert_eq!(again.headers["idempotent-replay"], "true");
    assert_eq!(record(&hub, &id).await["eval"]["helpful"], 1);
    let feedback = hub.get(&format!("/api/knowledge/{id}/feedback")).await.body;
    assert_eq!(feedback["total"], 1);
    hub.stop().await;
}

#[tokio::test]
async fn an_edit_changes_what_it_names_and_keeps_what_was() {
    let hub = TestHub::start().await;
    let id =
        hub.add_knowledge(json!({ "types": ["tool"], "tags": { "a": "b" }, "owner": "ann" })).await;
    let before = record(&hub, &id).await;
    let edit = json!({ "content": "改用 camelot", "tags": {}, "scopes": [], "owner": null, "tool_ids": ["x"] });
    let edited = patch(&hub, &id, edit).await;
    assert_eq!(edited.status, StatusCode::OK);
    let after = record(&hub, &id).await;
    assert_eq!(edited.body, after);
    assert_eq!(after["content"], "改用 camelot");
    assert_eq!((&after["tags"], &after["scopes"]), (&json!({}), &json!(["org:cybertogether"])));
    for field in ["task", "types", "owner", "created_at", "source", "eval"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    assert!(after["updated_at"].as_str() >= before["updated_at"].as_str());
    assert_eq!(hub.ids("camelot").await, [id.as_str()]);
    assert!(hub.ids("find_tables").await.is_empty(), "the earlier content is not found");

    let versions = hub.get(&format!("/api/versions/knowledge/{id}")).await.body;
    assert_eq!(versions["total"], 1);
    assert_eq!(versions["results"][0]["record"], before);
    assert_eq!(versions["results"][0]["replaced_by"], "local");

    // An edit that changes nothing is no version.
    let same = patch(&hub, &id, json!({ "content": "改用 camelot" })).await;
    assert_eq!(same.headers["etag"], edited.headers["etag"]);
    assert_eq!(hub.get(&format!("/api/versions/knowledge/{id}")).await.body["total"], 1);
    hub.stop().await;
}

#[tokio::test]
async fn a_wrong_edit_is_named_and_changes_nothing() {
    let hub = TestHub::start().await;
    let id = hub.add_knowledge(json!({})).await;
    let before = record(&hub, &id).await;
    for (body, field) in [
        (json!({}), None),
        (json!([]), None),
        (json!({ "capability_ids": ["x"] }), None),
        (json!({ "task": null }), None),
        (json!({ "task": "" }), Some("task")),
        (json!({ "content": "  " }), Some("content")),
        (json!({ "content": "x".repeat(100_001) }), Some("content")),
        (json!({ "types": "tool" }), Some("types")),
        (json!({ "types": [""] }), Some("types[0]")),
        (json!({ "tags": { "a": 1 } }), Some("tags.a")),
        (json!({ "scopes": vec!["x"; 101] }), Some("scopes")),
        (json!({ "owner": "x".repeat(2_001) }), Some("owner")),
        (json!({ "resource_ids": [1] }), Some("resource_ids[0]")),
    ] {
        assert_refused(&patch(&hub, &id, body).await, 422, "invalid", field);
    }
    assert_eq!(record(&hub, &id).await, before);
    hub.stop().await;
}

#[tokio::test]
async fn nobody_overwrites_what_they_have_not_read() {
    let hub = TestHub::start().await;
    let id = hub.add_knowledge(json!({})).await;
    let read = hub.get(&path(&id)).await;
    assert_eq!(read.headers["etag"], "\"1\"");
    let body = json!({ "content": "一" });
    let edit = async |etag: &str, body: &Value| {
        hub.call(Method::PATCH, &path(&id), &[("if-match", etag)], Some(body)).await
    };
    assert_eq!(edit("\"1\"", &body).await.headers["etag"], "\"2\"");
    let late = edit("\"1\"", &json!({ "content": "二" })).await;
    assert_refused(&late, 412, "precondition_failed", None);
    assert_eq!(record(&hub, &id).await["content"], "一");
    assert_eq!(edit("*", &json!({ "content": "三" })).await.status, 200);
    assert_refused(&edit("1", &body).await, 422, "invalid", Some("if-match"));
    let delete = hub.call(Method::DELETE, &path(&id), &[("if-match", "\"1\"")], None).await;
    assert_refused(&delete, 412, "precondition_failed", None);
    hub.stop().await;
}

#[tokio::test]
async fn of_edits_at_the_same_time_with_one_etag_one_wins() {
    let hub = TestHub::start().await;
    let id = hub.add_knowledge(json!({})).await;
    let (path, headers) = (path(&id), [("if-match", "\"1\"")]);
    let bodies: Vec<Value> = (0..16).map(|n| json!({ "content": format!("第{n}个") })).collect();
    let edits = bodies.iter().map(|body| hub.call(Method::PATCH, &path, &headers, Some(body)));
    let answers = futures_util::future::join_all(edits).await;
    let won: Vec<&Answer> = answers.iter().filter(|answer| answer.status == 200).collect();
    let [won] = won[..] else { panic!("{answers:?}") };
    assert_eq!(record(&hub, &id).await, won.body);

    let cases = (0..32).map(|_| put(&hub, &id, json!({ "add_helpful_case": "ok" })));
    futures_util::future::join_all(cases).await;
    assert_eq!(record(&hub, &id).await["eval"]["helpful"], 32, "no count is lost");
    hub.stop().await;
}

#[tokio::test]
async fn a_person_decides_what_search_finds() {
    let hub = TestHub::start().await;
    let id = hub.add_knowledge(json!({})).await;
    let verify = async |body: Value| hub.post(&format!("/api/knowledge/{id}/verify"), &body).await;
    let approve = json!({ "action": "approve", "verified_by": "ann@example.com" });
    for (body, status, found) in [
        (&approve, "checked", true),
        (&approve, "approved", true),
        (&json!({ "action": "reject" }), "rejected", false),
        (&json!({ "action": "reject" }), "rejected", false),
        (&approve, "approved", true),
    ] {
        let answer = verify(body.clone()).await;
        assert_eq!(answer.body, json!({ "id": id, "status": status }));
        assert_eq!(!hub.ids("提取表格").await.is_empty(), found, "{status}");
        assert_eq!(!hub.ids(&id).await.is_empty(), found, "{status}, by its id");
    }
    assert_eq!(record(&hub, &id).await["verified_by"], "ann@example.com");
    for (body, field) in [
        (json!({}), "action"),
        (json!({ "action": "delete" }), "action"),
        (json!({ "action": "approve", "verified_by": 1 }), "verified_by"),
    ] {
        assert_refused(&verify(body).await, 422, "invalid", Some(field));
    }
    let rejected = hub.find("/api/knowledge", &[("status", "rejected")]).await.body;
    assert_eq!(rejected["total"], 0);
    hub.stop().await;
}

#[tokio::test]
async fn relations_stand_on_both_records_or_on_none() {
    let hub = TestHub::start().await;
    let (a, b) = (hub.add_knowledge(json!({})).await, hub.add_knowledge(json!({})).await);
    let relations = async |id: &str| record(&hub, id).await["relationships"].clone();
    let url = format!("/api/knowledge/{a}/relationships");
    let longest = "前".repeat(100);
    let longest_back = format!("{longest}_of");
    for (kind, back) in [
        ("superset", "subset"),
        ("conflict", "conflict"),
        ("前提", "前提_of"),
        (&longest, &longest_back),
    ] {
        let added = hub.post(&url, &json!({ "type": kind, "target": b })).await;
        assert_eq!(added.status, StatusCode::OK, "{added:?}");
        let again = hub.post(&url, &json!({ "type": kind, "target": b })).await;
        assert_eq!(again.headers["etag"], added.headers["etag"], "nothing to change");
        assert_eq!(relations(&a).await, json!([{ "type": kind, "target": b }]));
        assert_eq!(relations(&b).await, json!([{ "type": back, "target": a }]));

        let ended = format!("/api/knowledge/{b}/relationships?type={}&target={a}", encoded(back));
        assert_eq!(hub.call(Method::DELETE, &ended, &[], None).await.status, 200);
        assert_eq!((relations(&a).await, relations(&b).await), (json!([]), json!([])));
        let none = hub.call(Method::DELETE, &ended, &[], None).await;
        assert_refused(&none, 404, "not_found", None);
    }
    let gone = "knowledge-20260101-000000-0000";
    for (body, field) in [
        (json!({ "target": b }), "type"),
        (json!({ "type": " ", "target": b }), "type"),
        (json!({ "type": "none", "target": b }), "type"),
        (json!({ "type": "x".repeat(101), "target": b }), "type"),
        (json!({ "type": "conflict" }), "target"),
        (json!({ "type": "conflict", "target": "b" }), "target"),
        (json!({ "type": "conflict", "target": a }), "target"),
        (json!({ "type": "conflict", "target": gone }), "target"),
    ] {
        assert_refused(&hub.post(&url, &body).await, 422, "invalid", Some(field));
    }
    for (query, field) in
        [("", "target"), ("?type=conflict", "target"), ("?target=x&type=c", "target")]
    {
        let answer = hub.call(Method::DELETE, &format!("{url}{query}"), &[], None).await;
        assert_refused(&answer, 422, "invalid", Some(field));
    }
    assert_eq!(record(&hub, &a).await["relationships"], json!([]));

    // What is deleted is forgotten by the others.
    hub.post(&url, &json!({ "type": "complement", "target": b })).await;
    hub.call(Method::DELETE, &path(&b), &[], None).await;
    assert_eq!(relations(&a).await, json!([]));
    hub.stop().await;
}

#[tokio::test]
async fn a_deleted_record_is_gone_and_an_admin_may_read_it() {
    let hub = TestHub::start().await;
    let id = hub.add_knowledge(json!({})).await;
    patch(&hub, &id, json!({ "content": "用 find_tables(strategy='lines')" })).await;
    let last = record(&hub, &id).await;
    let deleted =
        hub.call(Method::DELETE, &format!("{}?reason=outdated", path(&id)), &[], None).await;
    assert_eq!(deleted.body, json!({ "id": id, "version": 2, "erased": false }));
    for (method, body) in [
        (Method::GET, None),
        (Method::PUT, Some(json!({ "update_score": 1 }))),
        (Method::PATCH, Some(json!({ "task": "x" }))),
        (Method::DELETE, None),
    ] {
        let answer = hub.call(method, &path(&id), &[], body.as_ref()).await;
        assert_refused(&answer, 404, "not_found", None);
    }
    assert!(hub.ids("find_tables").await.is_empty() && hub.ids(&id).await.is_empty());
    assert_eq!(hub.get("/api/knowledge").await.body["total"], 0);
    let versions = format!("/api/versions/knowledge/{id}");
    let kept = hub.get(&versions).await.body;
    assert_eq!(kept["total"], 2);
    assert_eq!(kept["results"][0]["record"], last);
    assert_eq!(hub.get(&format!("{versions}?version=1")).await.body["total"], 1);

    let erased = hub.call(Method::DELETE, &format!("{}?erase=true", path(&id)), &[], None).await;
    assert_eq!(erased.body, json!({ "id": id, "version": 2, "erased": true }));
    assert_refused(&hub.get(&versions).await, 404, "not_found", None);
    hub.stop().await;
}

#[tokio::test]
async fn what_is_erased_is_not_told_by_a_repeated_request_either() {
    let hub = TestHub::start().await;
    let id = hub.add_knowledge(json!({ "content": "第一句无人知晓" })).await;
    let key = [("idempotency-key", "k")];
    let body = json!({ "add_helpful_case": "第二句无人知晓", "evolve_feedback": "第三句无人知晓" });
    hub.call(Method::PUT, &path(&id), &key, Some(&body)).await;
    let deleted = hub.call(Method::DELETE, &format!("{}?erase=true", path(&id)), &[], None).await;
    assert_eq!(deleted.body["erased"], true);
    let again = hub.call(Method::PUT, &path(&id), &key, Some(&body)).await;
    assert_refused(&again, 404, "not_found", None);
    assert_eq!(strings(&hub.get("/api/knowledge").await.body["results"], "id"), [""; 0]);
    hub.stop().await;
}
