//! What a wrong body is told.

use protocol::{
    hub::{Body, NewExperience, NewKnowledge},
    im::ClientFrame,
};

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
