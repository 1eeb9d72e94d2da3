//! An export as a pair: what is written is read again, and anything less than the whole is noticed.

use proptest::prelude::*;
use protocol::{
    ExperienceId, Timestamp,
    export::{Checker, ExportFault, FORMAT, Header, Line, Manifest, Writer},
    hub::{Demand, DemandKind},
};

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
