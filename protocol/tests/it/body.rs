//! What a wrong body is told, and what of a right one everybody can read.

use std::collections::BTreeSet;

use protocol::{
    hub::{
        BatchUpdate, BatchVerify, Body, KnowledgeFeedback, KnowledgePatch, NewContent,
        NewEvaluations, NewExperience, NewKnowledge, NewRelationship, NewResource, ResourcePatch,
        Verify, WriteBody,
    },
    im::ClientFrame,
};
use serde_json::{Value, json};

#[track_caller]
fn check<T: Body>(json: &str, field: &str, reason: &str) {
    let value = serde_json::from_str(json).unwrap();
    let Err(fault) = T::from_value(&value) else { panic!("accepted: {json}") };
    assert_eq!(fault.field, field, "{fault}");
    assert!(fault.reason.contains(reason), "{fault}");
}

#[test]
fn a_wrong_field_is_named() {
    check::<NewExperience>("{}", "name", "required");
    check::<NewExperience>(r#"{"name":"a"}"#, "task", "required");
    check::<NewExperience>(r#"{"name":" ","task":"t"}"#, "name", "blank");
    check::<NewExperience>(r#"{"name":"a","task":7}"#, "task", "expected a string");
    for score in ["0", "6", "200"] {
        let json = format!(r#"{{"name":"a","task":"t","score":{score}}}"#);
        check::<NewExperience>(&json, "score", "1 to 5");
    }
    for score in ["-1", "4.5", "\"4\""] {
        let json = format!(r#"{{"name":"a","task":"t","score":{score}}}"#);
        check::<NewExperience>(&json, "score", "invalid");
    }
    check::<NewKnowledge>(r#"{"task":"t","content":"c","types":["a",1]}"#, "types[1]", "string");
    check::<NewKnowledge>(r#"{"task":"t","content":"c","types":[""]}"#, "types[0]", "blank");
    check::<NewKnowledge>(r#"{"task":"t","content":"c","tags":{"a":1}}"#, "tags.a", "string");
    check::<NewKnowledge>(
        r#"{"task":"t","content":"c","source":{"urls":"x"}}"#,
        "source.urls",
        "sequence",
    );
}

/// Returns all texts in a value, wherever they stand.
fn texts(value: &Value) -> BTreeSet<&str> {
    match value {
        Value::String(text) => BTreeSet::from([text.as_str()]),
        Value::Array(list) => list.iter().flat_map(texts).collect(),
        Value::Object(map) => map.values().flat_map(texts).collect(),
        _ => BTreeSet::new(),
    }
}

/// Checks that all texts of a body are told to be plain, but for these.
#[track_caller]
fn check_plain<T: WriteBody>(value: &Value, others: &[&str]) {
    let body = T::from_value(value).unwrap();
    let plain = body.plain_texts();
    let mut all = texts(value);
    for other in others {
        assert!(all.remove(other), "{other} is not in the body");
    }
    for (field, text) in plain.iter() {
        assert!(!others.contains(&text), "{field} is not plain");
        all.remove(text);
    }
    assert_eq!(all, BTreeSet::new(), "nobody looks through these");
}

#[test]
fn every_text_that_is_stored_in_plain_is_told() {
    check_plain::<NewExperience>(
        &json!({ "name": "a", "url": "b", "category": "c", "task": "d", "outcome": "e", "tips": "f",
            "content_id": "g", "submitted_by": "h", "on_behalf_of": "i" }),
        &[],
    );
    let source = json!({ "name": "a", "category": "b", "urls": ["c"], "agent_id": "d",
        "submitted_by": "e", "timestamp": "f", "authenticated_as": "g", "on_behalf_of": "h" });
    check_plain::<NewKnowledge>(
        &json!({ "task": "i", "content": "j", "types": ["k"], "tags": { "l": "m" }, "scopes": ["n"],
            "owner": "o", "resource_ids": ["p"], "source": source, "message_id": "q",
            "on_behalf_of": "r" }),
        // The hub writes these itself.
        &["g", "h"],
    );
    check_plain::<KnowledgePatch>(
        &json!({ "task": "a", "content": "b", "types": ["c"], "tags": { "d": "e" }, "scopes": ["f"],
            "owner": "g", "resource_ids": ["h"] }),
        &[],
    );
    check_plain::<KnowledgeFeedback>(
        &json!({ "add_helpful_case": "a", "add_harmful_case": { "b": ["c", { "d": "e" }] },
            "evolve_feedback": "f", "on_behalf_of": "g" }),
        &[],
    );
    check_plain::<Verify>(&json!({ "action": "approve", "verified_by": "a" }), &["approve"]);
    // Ids that name records which are there, and words of a fixed set, hold nothing of their own.
    let id = "knowledge-20260305-a1b2";
    check_plain::<BatchVerify>(
        &json!({ "knowledge_ids": [id], "action": "approve", "verified_by": "a" }),
        &[id, "approve"],
    );
    check_plain::<BatchUpdate>(
        &json!({ "feedback_list": [{ "knowledge_id": id, "is_effective": true, "feedback": "a" }],
            "on_behalf_of": "b" }),
        &[id],
    );
    check_plain::<NewEvaluations>(
        &json!({ "trace_id": "a", "evaluations": [{ "knowledge_id": id, "goal_id": "b",
            "injected_at_sequence": 1, "eval_status": "unused", "reason": "c", "evaluated_at": "d",
            "evaluated_at_trigger": "e" }], "on_behalf_of": "f" }),
        &[id, "unused"],
    );
    check_plain::<NewRelationship>(&json!({ "type": "a", "target": id }), &[id]);
    let resource = json!({ "id": "a", "title": "b", "body": "c", "secure_body": "d",
        "content_type": "code", "metadata": { "language": "e", "f": ["g"] }, "submitted_by": "h",
        "on_behalf_of": "i" });
    check_plain::<NewResource>(&resource, &["d", "code"]);
    check_plain::<ResourcePatch>(&resource, &["a", "d", "code"]);
    check_plain::<NewContent>(
        &json!({ "id": "a", "title": "b", "body": "c", "submitted_by": "d", "on_behalf_of": "e" }),
        &[],
    );
}

#[test]
fn bounds_count_characters() {
    let longest = "表".repeat(2_000);
    let body = |name: &str| format!(r#"{{"name":"{name}","task":"t"}}"#);
    let value = serde_json::from_str(&body(&longest)).unwrap();
    assert!(NewExperience::from_value(&value).is_ok());
    check::<NewExperience>(&body(&(longest + "表")), "name", "longer than 2000");
    let list = serde_json::to_string(&vec!["a"; 101]).unwrap();
    let json = format!(r#"{{"task":"t","content":"c","scopes":{list}}}"#);
    check::<NewKnowledge>(&json, "scopes", "more than 100");
}

#[test]
fn a_fault_does_not_send_back_what_it_is_about() {
    let long = "表".repeat(50_000);
    let json = format!(r#"{{"task":"t","content":"c","types":"{long}"}}"#);
    check::<NewKnowledge>(&json, "types", "expected a sequence");
    let json = format!(r#"{{"task":"t","content":"c","tags":{{"{long}":1}}}}"#);
    let fault = NewKnowledge::from_value(&serde_json::from_str(&json).unwrap()).unwrap_err();
    assert!(fault.to_string().len() < 2_000, "{} bytes", fault.to_string().len());
    let json = format!(r#"{{"type":"ack","seqs":"{long}"}}"#);
    let fault = ClientFrame::parse(&json).unwrap_err();
    assert!(fault.message.contains("expected a sequence"), "{fault}");
    assert!(fault.message.len() < 2_000, "{} bytes", fault.message.len());
}

#[test]
fn what_is_no_json_object_is_refused() {
    let experience = r#"["name","","","task",null,"","","",""]"#;
    for json in ["null", "[]", "7", "\"{}\"", experience] {
        check::<NewExperience>(json, "", "must be a JSON object");
    }
    check::<NewKnowledge>(r#"["task","content"]"#, "", "must be a JSON object");
    let deep = "[".repeat(10_000);
    for json in ["", "null", "[]", "7", r#"["contacts"]"#, "{\"type\":", &deep] {
        assert!(ClientFrame::parse(json).is_err(), "{json:.20}");
    }
}

#[test]
fn a_wrong_frame_is_told_which_message_and_what() {
    let id = "0190c5a0-0000-7000-8000-000000000001";
    let fault = ClientFrame::parse(&format!(r#"{{"type":"send","id":"{id}","to":"a b"}}"#));
    let fault = fault.unwrap_err();
    assert_eq!(fault.id.map(|id| id.to_string()).as_deref(), Some(id));
    assert!(fault.message.starts_with("send frame: not a valid contact id"), "{fault}");
    for (json, reason) in [
        (r#"{"type":"dance"}"#, "unknown type"),
        (r#"{"content":"no type"}"#, "missing field `type`"),
        (r#"{"type":"ack","seqs":[-1]}"#, "ack frame"),
        (r#"{"type":"ack","seqs":[1],"seqs":[2]}"#, "duplicate field `seqs`"),
        (r#"{"type":"hello","v":1,"contact_id":"a","mode":"both"}"#, "unknown variant"),
    ] {
        let fault = ClientFrame::parse(json).unwrap_err();
        assert!(fault.message.contains(reason), "{json}: {fault}");
    }
}
