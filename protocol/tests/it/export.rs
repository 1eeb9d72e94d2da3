//! An export as a pair: what is written is read again, and anything less than the whole is noticed.

use proptest::prelude::*;
use protocol::{
    ExperienceId, Timestamp,
    export::{Checker, ExportFault, FORMAT, Header, Line, Manifest, Writer, is_manifest},
    hub::{Demand, DemandKind, FieldFault},
};
use serde_json::{Value, json};

fn header() -> Header {
    Header {
        knowhub_export: FORMAT,
        store_id: "0f".into(),
        last_seq: 7,
        last_experience: ExperienceId(3),
        created_at: Timestamp::from_millis(0),
    }
}

fn demand(wanted: &str) -> Line {
    let at = Timestamp::from_millis(5);
    let (kind, wanted) = (DemandKind::KnowledgeSearch, wanted.to_owned());
    Line::Demand(Demand { kind, wanted, count: 1, first_at: at, last_at: at })
}

/// Returns the export of some demand.
fn export(wanted: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::start(&header(), &mut out);
    for wanted in wanted {
        writer.write(&demand(wanted), &mut out);
    }
    writer.finish(&mut out);
    out
}

fn check(bytes: &[u8]) -> Result<(Header, Manifest), ExportFault> {
    let mut checker = Checker::default();
    for piece in bytes.chunks(7) {
        checker.push(piece)?;
    }
    checker.finish()
}

#[test]
fn a_whole_export_passes() {
    let (read, manifest) = check(&export(&["表格", "a\nb\"c"])).unwrap();
    assert_eq!(read, header());
    assert_eq!(protocol::export::total(&manifest.counts), 2);
    check(&export(&[])).unwrap();
}

#[test]
fn what_an_editor_adds_is_read_over() {
    let text = String::from_utf8(export(&["表格", "b"])).unwrap();
    let windows = format!("\u{feff}{}", text.replace('\n', "\r\n\r\n"));
    check(windows.as_bytes()).unwrap();
    check(text.trim_end().as_bytes()).unwrap();
}

#[test]
fn every_lost_line_and_every_changed_byte_is_noticed() {
    let whole = String::from_utf8(export(&["one", "two", "three"])).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    for lost in 0..lines.len() {
        let rest: Vec<&str> = [&lines[..lost], &lines[lost + 1..]].concat();
        check(rest.join("\n").as_bytes()).unwrap_err();
        let cut = lines[..lost].join("\n");
        check(cut.as_bytes()).unwrap_err();
    }
    let mut swapped = lines.clone();
    swapped.swap(1, 2);
    assert_eq!(check(swapped.join("\n").as_bytes()), Err(ExportFault::Sum));
    let records = whole.find('\n').unwrap() + 1..whole.rfind("{\"manifest").unwrap();
    for at in records.filter(|at| whole.as_bytes()[*at] != b'\n') {
        let mut changed = whole.clone().into_bytes();
        changed[at] ^= 1;
        check(&changed).unwrap_err();
    }
}

#[test]
fn the_header_is_held_to_what_it_says_of_the_records() {
    let whole = String::from_utf8(export(&["a"])).unwrap();
    let changed = whole.replacen("\"last_experience\":3", "\"last_experience\":4", 1);
    assert_eq!(check(changed.as_bytes()), Err(ExportFault::Sum));
    let elsewhere = whole.replacen("\"store_id\":\"0f\"", "\"store_id\":\"1f\"", 1);
    check(elsewhere.as_bytes()).unwrap();
}

#[test]
fn a_manifest_may_be_spaced() {
    let whole = String::from_utf8(export(&["a"])).unwrap();
    let (records, manifest) = whole.split_once("{\"manifest\"").unwrap();
    let spaced = format!("{records}  {{ \"manifest\" {manifest}");
    check(spaced.as_bytes()).unwrap();
    assert!(is_manifest(spaced.lines().last().unwrap().as_bytes()));
    assert!(!is_manifest(records.as_bytes()));
}

#[test]
fn usual_mistakes_are_named() {
    let whole = String::from_utf8(export(&["a"])).unwrap();
    let newer = whole.replacen("\"knowhub_export\":1", "\"knowhub_export\":2", 1);
    let cut = whole.lines().next().unwrap();
    let twice = format!("{whole}{whole}");
    for (bytes, told) in [
        (&b""[..], "is empty"),
        (b"\r\n\n", "is empty"),
        (b"\x1f\x8b\x08\x00\x00", "compressed"),
        (b"SQLite format 3\0....", "import --from"),
        (b"{\"name\": \"a\"}", "line 1: not the header"),
        (b"[1]", "line 1: not the header"),
        (b"\xff\xfe\n", "line 1: not the header"),
        (newer.as_bytes(), "format 2"),
        (cut.as_bytes(), "cut off after line 1"),
        (twice.as_bytes(), "line 4 stands behind the manifest"),
    ] {
        let fault = check(bytes).unwrap_err().to_string();
        assert!(fault.contains(told), "{fault}");
    }
}

#[test]
fn a_line_without_end_takes_no_more_than_its_bound() {
    let mut checker = Checker::default();
    checker.push(&export(&[])[..1]).unwrap();
    let piece = vec![b'x'; 1 << 20];
    let fault = (0..).find_map(|_| checker.push(&piece).err()).unwrap();
    assert_eq!(fault, ExportFault::LongLine { line: 1 });
}

#[test]
fn a_wrong_line_is_told_which_field() {
    let good = demand("a").to_json();
    for (from, to, field, reason) in [
        ("\"count\":1", "\"count\":\"1\"", "demand.count", "invalid type"),
        ("\"count\":1,", "", "demand.count", "required"),
        ("\"count\":1", "\"count\":0", "demand.count", "must be 1 to"),
        ("1970-01-01T00:00:00.005Z", "yesterday", "demand.first_at", "RFC 3339"),
        ("\"demand\"", "\"wish\"", "", "unknown variant `wish`"),
        ("}}", "}", "", "EOF"),
        ("}}", "}} {}", "", "one JSON object"),
    ] {
        let text = good.replacen(from, to, 1);
        let fault = Line::parse(text.as_bytes()).unwrap_err();
        assert!(fault.reason.contains(reason), "{text}: {fault}");
        assert_eq!(fault.field, field, "{text}: {fault}");
    }
}

/// Returns a good record of each kind, as its line has it.
fn good() -> Value {
    let at = "2026-03-09T21:58:35.000Z";
    let stamps = json!({ "authenticated_as": "local", "on_behalf_of": "" });
    let with = |mut record: Value, more: &Value| {
        record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        record
    };
    let experience = with(
        json!({
            "id": 7, "name": "n", "url": "", "category": "", "task": "t", "score": 4, "outcome": "",
            "tips": "", "content_id": "", "submitted_by": "", "created_at": at,
        }),
        &stamps,
    );
    let sealed = format!("encrypted:AES256-GCM:{}", "A".repeat(40));
    let resource = with(
        json!({
            "id": "a/b", "title": "", "body": "", "secure_body": sealed,
            "content_type": "text", "metadata": {}, "sort_order": 0, "submitted_by": "",
            "version": 2, "created_at": at, "updated_at": at,
        }),
        &stamps,
    );
    let knowledge = json!({
        "id": "knowledge-20260309-215835-a699", "task": "t", "content": "c", "types": ["tool"],
        "tags": { "k": "v" }, "scopes": [], "owner": "me", "resource_ids": [], "source": {},
        "eval": {}, "status": "approved", "relationships": [], "message_id": "",
        "created_at": at, "updated_at": at,
    });
    let version = |kind: &str, id: &str, record: Value| {
        json!({
            "kind": kind, "id": id, "version": 2, "record": record, "replaced_at": at,
            "replaced_by": "local",
        })
    };
    // sha256 of no bytes at all.
    let hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    json!({
        "experience": experience,
        "resource": resource,
        "knowledge": { "version": 1, "record": knowledge },
        "tombstone": {
            "kind": "experience", "id": "7", "version": 2, "deleted_at": at, "deleted_by": "local",
            "reason": "", "erased_to": 2, "fingerprint": "ab".repeat(32),
        },
        "version": version("resource", "a/b", with(resource.clone(), &json!({ "content_hash": hash }))),
        "version of an experience": version("experience", "7", experience),
        "version of knowledge": version("knowledge", "knowledge-20260309-215835-a699", knowledge),
        "evaluation": {
            "principal": "local", "trace_id": "t", "knowledge_id": "knowledge-20260309-215835-a699",
            "injected_at_sequence": 1, "goal_id": "", "eval_status": "helpful", "reason": "",
            "evaluated_at": "", "evaluated_at_trigger": "", "created_at": at,
        },
        "feedback": {
            "knowledge_id": "knowledge-20260309-215835-a699", "text": "x", "principal": "local",
            "created_at": at, "applied_at": null,
        },
        "demand": { "kind": "content", "wanted": "a", "count": 1, "first_at": at, "last_at": at },
    })
}

/// Reads the line of a record; what follows the first word only tells it from others of its kind.
fn parse(kind: &str, record: &Value) -> Result<Line, FieldFault> {
    let kind = kind.split(' ').next().unwrap();
    Line::parse(json!({ kind: record }).to_string().as_bytes())
}

#[test]
fn every_record_keeps_the_bounds_of_the_writes_that_make_it() {
    for (kind, record) in good().as_object().unwrap() {
        parse(kind, record).unwrap_or_else(|fault| panic!("{kind}: {fault}"));
    }
    let long = json!("长".repeat(2_001));
    let longest = json!("长".repeat(100_001));
    let deep = (0..60).fold(json!(1), |value, _| json!([value]));
    let above = json!(1_i64 << 53);
    let prefixed = |text: &str| json!(format!("encrypted:AES256-GCM:{text}"));
    for (kind, at, value, field, reason) in [
        ("experience", "/id", above.clone(), "id", "must be 1 to"),
        ("experience", "/tips", longest.clone(), "tips", "longer than 100000"),
        ("experience", "/authenticated_as", long.clone(), "authenticated_as", "longer than"),
        ("resource", "/secure_body", json!("hunter2"), "secure_body", "must be sealed"),
        ("resource", "/secure_body", prefixed("hunter2"), "secure_body", "must be sealed"),
        ("resource", "/secure_body", prefixed(&"AAAA".repeat(9)), "secure_body", "must be sealed"),
        ("resource", "/secure_body", prefixed(&"A".repeat(41)), "secure_body", "must be sealed"),
        ("resource", "/secure_body", prefixed(&"pass word".repeat(8)), "secure_body", "must be"),
        ("resource", "/secure_body", json!(123_456), "secure_body", "must be text"),
        ("resource", "/secure_body", prefixed(&"A".repeat(88_000)), "secure_body", "longer than"),
        ("resource", "/title", long.clone(), "title", "longer than 2000"),
        ("resource", "/body", longest.clone(), "body", "longer than 100000"),
        ("resource", "/metadata", json!({ "a": deep.clone() }), "metadata", "nests more"),
        ("resource", "/metadata", json!({ "a": longest.clone() }), "metadata", "bytes of JSON"),
        ("resource", "/version", json!(0), "version", "must be 1 to"),
        ("resource", "/version", above.clone(), "version", "must be 1 to"),
        ("knowledge", "/version", above.clone(), "version", "must be 1 to"),
        ("knowledge", "/record/content", json!(" "), "record.content", "must not be blank"),
        ("knowledge", "/record/types", json!([long.clone()]), "record.types[0]", "longer than"),
        ("knowledge", "/record/scopes", json!(vec!["x"; 101]), "record.scopes", "more than 100"),
        ("knowledge", "/record/tags", json!({ "k": long.clone() }), "record.tags.k", "longer"),
        (
            "knowledge",
            "/record/source",
            json!({ "name": long.clone() }),
            "record.source.name",
            "longer",
        ),
        ("knowledge", "/record/eval", json!({ "score": 9 }), "record.eval.score", "1 to 5"),
        (
            "knowledge",
            "/record/eval",
            json!({ "harmful_history": [deep.clone()] }),
            "record.eval.harmful_history",
            "nests more",
        ),
        (
            "knowledge",
            "/record/eval",
            json!({ "helpful_history": ["x".repeat(17 << 20)] }),
            "record.eval",
            "bytes of JSON",
        ),
        ("tombstone", "/id", json!("07"), "id", "not a valid experience id"),
        ("tombstone", "/kind", json!("video"), "kind", "unknown variant"),
        ("tombstone", "/erased_to", json!(3), "erased_to", "0 to the version"),
        ("tombstone", "/fingerprint", json!("ab"), "fingerprint", "64 hex digits"),
        ("version", "/version", above, "version", "must be 1 to"),
        ("version", "/version", json!(1), "record.version", "that of the version"),
        ("version", "/record", json!(5), "record", "invalid type"),
        ("version", "/record", json!({}), "record.id", "required"),
        ("version", "/record/id", json!("a/c"), "record.id", "that of the version"),
        ("version", "/record/secure_body", json!(7), "record.secure_body", "must be text"),
        ("version", "/record/secure_body", json!("hunter2"), "record.secure_body", "sealed"),
        ("version", "/record/title", long.clone(), "record.title", "longer than"),
        ("version", "/record/content_hash", json!("ab"), "record.content_hash", "of the body"),
        ("version of an experience", "/record/id", json!(8), "record.id", "that of the version"),
        ("version of an experience", "/record/name", json!(""), "record.name", "blank"),
        ("version of knowledge", "/record/task", json!(""), "record.task", "blank"),
        ("version of knowledge", "/record/status", json!("x"), "record.status", "unknown variant"),
        ("evaluation", "/knowledge_id", json!("k"), "knowledge_id", "not a valid"),
        ("evaluation", "/eval_status", json!("good"), "eval_status", "one of irrelevant"),
        ("evaluation", "/injected_at_sequence", json!(-1), "injected_at_sequence", "must be 0"),
        ("evaluation", "/reason", longest, "reason", "longer than"),
        ("feedback", "/text", json!("x".repeat(4_001)), "text", "longer than 4000"),
        ("feedback", "/principal", long.clone(), "principal", "longer than"),
        ("demand", "/wanted", long, "wanted", "longer than"),
    ] {
        let mut record = good()[kind].clone();
        *record.pointer_mut(at).unwrap_or_else(|| panic!("{kind}{at}")) = value;
        let fault = parse(kind, &record).expect_err(kind);
        let kind = kind.split(' ').next().unwrap();
        assert_eq!(fault.field, format!("{kind}.{field}"), "{kind}{at}: {fault}");
        assert!(fault.reason.contains(reason), "{kind}{at}: {fault}");
    }
}

#[test]
fn a_field_that_nobody_knows_is_refused_rather_than_lost() {
    for (kind, at, field) in [
        ("experience", "", "note"),
        ("resource", "", "note"),
        ("knowledge", "", "note"),
        ("knowledge", "/record", "record.note"),
        ("knowledge", "/record/source", "record.source.note"),
        ("knowledge", "/record/eval", "record.eval.note"),
        ("knowledge", "/record/relationships/0", "record.relationships[0].note"),
        ("tombstone", "", "note"),
        ("version", "", "note"),
        ("version", "/record", "record.note"),
        ("version of an experience", "/record", "record.note"),
        ("version of knowledge", "/record/eval", "record.eval.note"),
        ("evaluation", "", "note"),
        ("feedback", "", "note"),
        ("demand", "", "note"),
    ] {
        let mut record = good()[kind].clone();
        if at.contains("relationships") {
            let target = "knowledge-20260305-a1b2";
            record["record"]["relationships"] = json!([{ "type": "superset", "target": target }]);
        }
        record.pointer_mut(at).unwrap()["note"] = json!("AKIA");
        let fault = parse(kind, &record).expect_err(kind);
        let kind = kind.split(' ').next().unwrap();
        assert_eq!(fault.field, format!("{kind}.{field}"), "{fault}");
        assert!(
            fault.reason.contains("unknown field") && !fault.reason.contains("AKIA"),
            "{fault}"
        );
    }
    // What has no fixed fields may have any.
    let mut record = good()["knowledge"].clone();
    record["record"]["eval"] = json!({ "helpful_history": [{ "case": { "a": [{ "b": 1 }] } }] });
    record["record"]["tags"] = json!({ "a": "b" });
    parse("knowledge", &record).unwrap();
}

#[test]
fn every_text_that_everybody_may_read_is_looked_through() {
    let marked = |kind: &str, at: &str| {
        let mut record = good()[kind].clone();
        *record.pointer_mut(at).unwrap() = json!("look here");
        let line = parse(kind, &record).unwrap();
        line.look_through(|texts| {
            let found = texts.iter().find(|(_, text)| *text == "look here");
            found.map(|(field, _)| field.to_owned())
        })
    };
    for (kind, at, field) in [
        ("experience", "/tips", "tips"),
        ("resource", "/title", "title"),
        ("knowledge", "/record/content", "record.content"),
        ("knowledge", "/record/types/0", "record.types[0]"),
        ("tombstone", "/reason", "reason"),
        ("version", "/record/title", "record.title"),
        ("version of an experience", "/record/outcome", "record.outcome"),
        ("version of knowledge", "/record/task", "record.task"),
        ("evaluation", "/reason", "reason"),
        ("feedback", "/text", "text"),
        ("demand", "/wanted", "wanted"),
    ] {
        assert_eq!(marked(kind, at).as_deref(), Some(field), "{kind}{at}");
    }
    let mut record = good()["knowledge"].clone();
    record["record"]["eval"] = json!({ "helpful_history": [{ "case": { "a": "look here" } }] });
    let fields = parse("knowledge", &record)
        .unwrap()
        .look_through(|texts| texts.iter().map(|(field, _)| field.to_owned()).collect::<Vec<_>>());
    assert!(fields.contains(&"record.eval.helpful_history[0].case.a".to_owned()), "{fields:?}");
}

#[test]
fn a_fingerprint_is_of_all_but_the_number() {
    let read = |record: Value| match parse("experience", &record).unwrap() {
        Line::Experience(one) => one.fingerprint(),
        other => panic!("{other:?}"),
    };
    let first = good()["experience"].clone();
    for (field, value, is_same) in
        [("id", json!(8), true), ("tips", json!("x"), false), ("score", json!(null), false)]
    {
        let mut other = first.clone();
        other[field] = value;
        assert_eq!(read(other) == read(first.clone()), is_same, "{field}");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(wanted in any::<String>()) {
        let line = demand(&wanted);
        prop_assert_eq!(Line::parse(line.to_json().as_bytes()), Ok(line));
        check(&export(&[&wanted])).unwrap();
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in any::<Vec<u8>>(), pieces in any::<Vec<u8>>()) {
        let _ = Line::parse(&bytes).map_err(|fault| fault.to_string());
        let mut checker = Checker::default();
        let _ = checker.push(&bytes).and_then(|()| checker.push(&pieces)).map(|()| checker.finish());
    }
}
