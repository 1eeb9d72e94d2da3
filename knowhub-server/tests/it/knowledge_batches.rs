//! Batches and evaluations: each item by itself, and nothing beyond the list.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::harness::TestHub;

const UNKNOWN: &str = "knowledge-20260101-000000-0000";

async fn hub_with_three() -> (TestHub, [String; 3]) {
    let hub = TestHub::start().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(hub.add_knowledge(json!({})).await);
    }
    (hub, ids.try_into().unwrap())
}

async fn field(hub: &TestHub, id: &str, pointer: &str) -> Value {
    let record = hub.get(&format!("/api/knowledge/{id}")).await.body;
    record.pointer(pointer).cloned().unwrap_or_default()
}

/// Returns what became of each item: its id, and its error's code.
fn told(answer: &Value) -> Vec<(&str, Option<&str>)> {
    let results = answer["results"].as_array().unwrap().iter();
    results
        .map(|one| {
            let code = one["error"]["code"].as_str();
            assert_eq!(one["ok"], code.is_none(), "{one}");
            (one["id"].as_str().unwrap(), code)
        })
        .collect()
}

#[tokio::test]
async fn what_is_not_in_the_list_is_not_touched() {
    let (hub, [a, b, c]) = hub_with_three().await;
    let answer =
        hub.post("/api/knowledge/batch_delete?reason=test", &json!([a, UNKNOWN, "%", a])).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(
        told(&answer.body),
        [
            (a.as_str(), None),
            (UNKNOWN, Some("not_found")),
            ("%", Some("not_found")),
            (a.as_str(), Some("conflict")),
        ]
    );
    let mut left = hub.ids("提取表格").await;
    left.sort();
    let mut expected = [b, c];
    expected.sort();
    assert_eq!(left, expected);
    assert_eq!(hub.get("/api/knowledge").await.body["total"], 2);
    hub.stop().await;
}

#[tokio::test]
async fn an_empty_or_wrong_list_is_never_everything() {
    let (hub, [a, ..]) = hub_with_three().await;
    let many = vec![UNKNOWN; 101];
    for (path, body, field) in [
        ("batch_delete", json!([]), None),
        ("batch_delete", json!({}), None),
        ("batch_delete", json!(null), None),
        ("batch_delete", json!("*"), None),
        ("batch_delete", json!([1]), None),
        ("batch_delete", json!([a, null]), None),
        ("batch_delete", json!(many), None),
        ("batch_verify", json!({ "action": "approve" }), Some("knowledge_ids")),
        (
            "batch_verify",
            json!({ "knowledge_ids": [], "action": "approve" }),
            Some("knowledge_ids"),
        ),
        ("batch_verify", json!({ "knowledge_ids": [a], "action": "reject" }), Some("action")),
        (
            "batch_verify",
            json!({ "knowledge_ids": many, "action": "approve" }),
            Some("knowledge_ids"),
        ),
        ("batch_update", json!({ "feedback_list": [] }), Some("feedback_list")),
        (
            "batch_update",
            json!({ "feedback_list": [{ "knowledge_id": a }] }),
            Some("feedback_list[0].is_effective"),
        ),
        ("evaluations", json!({ "trace_id": "t", "evaluations": [] }), Some("evaluations")),
        ("evaluations", json!({ "trace_id": " ", "evaluations": [] }), Some("trace_id")),
        (
            "evaluations",
            json!({ "trace_id": "t", "evaluations": [
                { "knowledge_id": a, "injected_at_sequence": -1, "eval_status": "helpful" }] }),
            Some("evaluations[0].injected_at_sequence"),
        ),
    ] {
        let answer = hub.post(&format!("/api/knowledge/{path}"), &body).await;
        assert_eq!(answer.status, 422, "{path} {body} {answer:?}");
        assert_eq!(answer.body["error"]["field"].as_str(), field, "{path} {body} {answer:?}");
    }
    assert_eq!(hub.get("/api/knowledge").await.body["total"], 3);
    assert_eq!(field_of_all(&hub).await, 0);
    hub.stop().await;
}

/// Returns how many verdicts all records have together.
async fn field_of_all(hub: &TestHub) -> u64 {
    let page = hub.get("/api/knowledge").await.body;
    let records = page["results"].as_array().unwrap().iter();
    records.map(|one| one["eval"]["helpful"].as_u64().unwrap()).sum()
}

#[tokio::test]
async fn records_are_approved_together() {
    let (hub, [a, b, c]) = hub_with_three().await;
    hub.post(&format!("/api/knowledge/{b}/verify"), &json!({ "action": "reject" })).await;
    let body =
        json!({ "knowledge_ids": [a, b, UNKNOWN], "action": "approve", "verified_by": "ann" });
    let answer = hub.post("/api/knowledge/batch_verify", &body).await;
    assert_eq!(
        told(&answer.body),
        [(a.as_str(), None), (b.as_str(), None), (UNKNOWN, Some("not_found"))]
    );
    for (id, status) in [(&a, "checked"), (&b, "approved"), (&c, "approved")] {
        assert_eq!(field(&hub, id, "/status").await, status);
    }
    let (by_ann, by_nobody) =
        (field(&hub, &a, "/verified_by").await, field(&hub, &c, "/verified_by").await);
    assert_eq!((by_ann, by_nobody), (json!("ann"), json!("")));
    hub.stop().await;
}

#[tokio::test]
async fn verdicts_are_taken_together_and_once_under_a_key() {
    let (hub, [a, b, _]) = hub_with_three().await;
    let body = json!({ "feedback_list": [
        { "knowledge_id": a, "is_effective": true },
        { "knowledge_id": b, "is_effective": false, "feedback": "双栏不行" },
        { "knowledge_id": UNKNOWN, "is_effective": true },
        { "knowledge_id": a, "is_effective": true, "feedback": "" },
    ] });
    let key = [("idempotency-key", "k")];
    let answer = hub.post_with("/api/knowledge/batch_update", &body, &key).await;
    assert_eq!(
        told(&answer.body),
        [
            (a.as_str(), None),
            (b.as_str(), None),
            (UNKNOWN, Some("not_found")),
            (a.as_str(), Some("conflict")),
        ]
    );
    let with_feedback = &answer.body["results"][1];
    assert_eq!(with_feedback["evolved"], false);
    assert!(with_feedback["reason"].as_str().unwrap().contains("no language model"));
    assert_eq!(answer.body["results"][0].get("evolved"), None);
    let again = hub.post_with("/api/knowledge/batch_update", &body, &key).await;
    assert_eq!(again.body, answer.body);
    assert_eq!(field(&hub, &a, "/eval/helpful").await, 1, "an id that is named twice is done once");
    assert_eq!(field(&hub, &b, "/eval/harmful").await, 1);
    assert_eq!(hub.get(&format!("/api/knowledge/{b}/feedback")).await.body["total"], 1);
    hub.stop().await;
}

fn evaluation(id: &str, sequence: u32, status: &str) -> Value {
    json!({
        "knowledge_id": id, "goal_id": "2.1", "injected_at_sequence": sequence,
        "eval_status": status, "reason": "用上了", "evaluated_at": "2026-03-20T10:05:00.000000",
        "evaluated_at_trigger": "goal_completion",
    })
}

#[tokio::test]
async fn an_evaluation_counts_once() {
    let (hub, [a, b, _]) = hub_with_three().await;
    let report = async |trace: &str, evaluations: &[Value]| {
        let body = json!({ "trace_id": trace, "evaluations": evaluations });
        let answer = hub.post("/api/knowledge/evaluations", &body).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        answer.body
    };
    let all = ["helpful", "harmful", "irrelevant", "unused", "neutral"];
    let five: Vec<Value> =
        (0..).zip(all).map(|(sequence, status)| evaluation(&a, sequence, status)).collect();
    let first = report("t-1", &five).await;
    assert!(told(&first).iter().all(|(_, code)| code.is_none()), "{first}");
    assert_eq!(first["results"][0].get("duplicate"), None);
    let again = report("t-1", &five).await;
    assert!(
        again["results"].as_array().unwrap().iter().all(|one| one["duplicate"] == true),
        "{again}"
    );
    for status in all {
        assert_eq!(field(&hub, &a, &format!("/eval/{status}")).await, 1, "{status}");
    }
    let case = field(&hub, &a, "/eval/helpful_history/0/case").await;
    assert_eq!(case, json!({ "trace_id": "t-1", "goal_id": "2.1", "reason": "用上了" }));

    let mixed = report(
        "t-1",
        &[
            evaluation(&a, 0, "harmful"),
            evaluation(&a, 9, "wonderful"),
            evaluation(UNKNOWN, 9, "helpful"),
            evaluation(&b, 9, "helpful"),
            evaluation(&b, 9, "helpful"),
        ],
    )
    .await;
    let codes: Vec<_> = told(&mixed).into_iter().map(|(_, code)| code).collect();
    assert_eq!(codes, [Some("conflict"), Some("invalid"), Some("not_found"), None, None]);
    assert_eq!(mixed["results"][1]["error"]["field"], "eval_status");
    assert_eq!(mixed["results"][4]["duplicate"], true, "within one report as well");
    assert_eq!(field(&hub, &a, "/eval/harmful").await, 1, "the first verdict stands");

    let mut wordy = evaluation(&b, 10, "harmful");
    wordy["reason"] = json!("长".repeat(5_000));
    report("t-1", &[wordy]).await;
    let told = field(&hub, &b, "/eval/harmful_history/0/case/reason").await;
    assert_eq!(told.as_str().unwrap().chars().count(), 2_000, "a history is no place for essays");

    report("t-2", &[evaluation(&b, 9, "helpful")]).await;
    assert_eq!(field(&hub, &b, "/eval/helpful").await, 2, "another trace is another verdict");
    hub.stop().await;
}
