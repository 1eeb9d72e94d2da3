//! `knowhub export` and `knowhub import`, as programs: files, checks before anything is sent, reports.

use std::fs;

use protocol::{
    ExperienceId, Timestamp,
    export::{FORMAT, Header, ImportReport, Kind, Line, RecordKind, Tombstone, Writer},
};
use serde_json::json;

use crate::{
    command::knowhub,
    scripted_hub::{Hub, refusal},
    scripted_relay::dead_url,
};

fn whole() -> String {
    without(&[])
}

/// Returns an export of a hub that cannot read these knowledge records.
fn without(unreadable: &[&str]) -> String {
    let header = Header {
        knowhub_export: FORMAT,
        store_id: "0f".into(),
        last_seq: 1,
        last_experience: ExperienceId(0),
        created_at: Timestamp::from_millis(0),
    };
    let mut out = Vec::new();
    let mut writer = Writer::start(&header, &mut out);
    let tombstone = Tombstone {
        kind: RecordKind::Resource,
        id: "表格".into(),
        version: 1,
        deleted_at: Timestamp::from_millis(0),
        deleted_by: "local".into(),
        reason: String::new(),
        erased_to: 0,
        fingerprint: String::new(),
    };
    writer.write(&Line::Tombstone(tombstone), &mut out);
    for id in unreadable {
        writer.leave_out(Kind::Knowledge, id);
    }
    writer.finish(&mut out);
    String::from_utf8(out).unwrap()
}

fn exporting(call: &str) -> (u16, String) {
    match call {
        "GET /api/export" => (200, whole()),
        _ => refusal(404, "not_found", "no such route"),
    }
}

fn with_a_gap(_: &str) -> (u16, String) {
    (200, without(&["knowledge-20260305-a1b2"]))
}

fn breaking_off(_: &str) -> (u16, String) {
    (200, whole().rsplit_once("{\"manifest\"").unwrap().0.to_owned())
}

fn refusing(_: &str) -> (u16, String) {
    refusal(403, "forbidden", "this call needs the role admin, and the token of w has writer")
}

fn importing(call: &str) -> (u16, String) {
    assert_eq!(call, "POST /api/import");
    report(false)
}

fn trying(call: &str) -> (u16, String) {
    assert_eq!(call, "POST /api/import");
    report(true)
}

fn importing_a_gap(_: &str) -> (u16, String) {
    let left_out = json!({ "count": 12, "records": ["knowledge knowledge-20260305-a1b2"] });
    let report = ImportReport {
        left_out: serde_json::from_value(left_out).unwrap(),
        ..ImportReport::default()
    };
    (200, serde_json::to_string(&report).unwrap())
}

fn report(dry_run: bool) -> (u16, String) {
    let report = json!({
        "dry_run": dry_run,
        "imported": { "experience": 2, "knowledge": 1 },
        "skipped": { "resource": 4 },
        "conflict_count": 30,
        "conflicts": [{ "kind": "knowledge", "id": "knowledge-20260305-a1b2", "reason": "x\u{1b}[2J" }],
        "rejected_count": 1,
        "rejected": [{ "place": "line 7", "field": "experience.score", "reason": "must be 1 to 5" }],
        "adjusted_count": 0,
        "adjusted": [],
        "renumbered": [{ "from": 1, "to": 8, "count": 1 }, { "from": 3, "to": 9, "count": 4 }],
        "renumbered_unlisted": 12,
    });
    (200, report.to_string())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn an_export_appears_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.ndjson");
    let name = file.to_str().unwrap();
    let (hub, relay) = (Hub::start(exporting).await, dead_url().await);

    let output = knowhub(&hub.api, &relay, &["export", name]).await;
    assert_eq!(text(&output.stderr), "");
    assert!(text(&output.stdout).starts_with("Exported 1 records to "), "{output:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), whole());

    let again = knowhub(&hub.api, &relay, &["export", name]).await;
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("--force"), "{again:?}");
    let forced = knowhub(&hub.api, &relay, &["export", name, "--force", "--json"]).await;
    let printed: serde_json::Value = serde_json::from_slice(&forced.stdout).unwrap();
    assert_eq!(printed["counts"]["tombstone"], 1);

    let piped = knowhub(&hub.api, &relay, &["export", "-"]).await;
    assert_eq!(text(&piped.stdout), whole());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    let link = folder.path().join("link");
    std::os::unix::fs::symlink("/nowhere", &link).unwrap();
    let refused = knowhub(&hub.api, &relay, &["export", link.to_str().unwrap(), "--force"]).await;
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("no file"), "{refused:?}");
    assert!(link.is_symlink());
}

#[tokio::test]
async fn two_exports_to_one_name_leave_one_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.ndjson");
    let name = file.to_str().unwrap();
    let mine = folder.path().join("all.ndjson.unfinished");
    fs::write(&mine, "mine").unwrap();
    let (hub, relay) = (Hub::start(exporting).await, dead_url().await);
    let args = ["export", name];
    let both = tokio::join!(knowhub(&hub.api, &relay, &args), knowhub(&hub.api, &relay, &args));
    let done = [&both.0, &both.1].into_iter().filter(|output| output.status.success());
    assert_eq!(done.count(), 1, "{both:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), whole());
    assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn what_an_export_lacks_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.ndjson");
    let (hub, relay) = (Hub::start(with_a_gap).await, dead_url().await);
    for target in [file.to_str().unwrap(), "-"] {
        let output = knowhub(&hub.api, &relay, &["export", target]).await;
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let told = text(&output.stderr);
        assert!(told.contains("1 records are not in it"), "{told}");
        assert!(told.contains("knowledge knowledge-20260305-a1b2"), "{told}");
    }
    assert!(file.exists(), "what there is, is kept");
}

#[tokio::test]
async fn a_part_of_an_export_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.ndjson");
    let relay = dead_url().await;
    for (script, code, told) in [
        (breaking_off as fn(&str) -> _, 3, "cut off after line 2"),
        (refusing, 2, "hint: set KNOWHUB_TOKEN (or --token) to a token that has this role"),
    ] {
        let hub = Hub::start(script).await;
        let output = knowhub(&hub.api, &relay, &["export", file.to_str().unwrap()]).await;
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(text(&output.stderr).contains(told), "{output:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn an_import_tells_what_became_of_each_record() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.ndjson");
    fs::write(&file, whole()).unwrap();
    let name = file.to_str().unwrap();
    let (hub, relay) = (Hub::start(trying).await, dead_url().await);
    let output = knowhub(&hub.api, &relay, &["import", name, "--dry-run"]).await;
    assert_eq!(output.status.code(), Some(1), "not everything would get in");
    expect_test::expect![[r#"
        Would import 3 (experience 2, knowledge 1); already here 4, conflicts 30, rejected 1.
        Not imported, since something else is here:
          knowledge knowledge-20260305-a1b2: x[2J
          … and 29 more; --json shows more of them
        Rejected:
          line 7: experience.score: must be 1 to 5
        Renumbered:
          experience-1 is experience-8 here
          experience-3 to experience-6 are experience-9 and so on here
          … and 12 more experiences, whose new numbers are not listed
    "#]]
    .assert_eq(&text(&output.stdout));
    let asked = hub.asked();
    assert_eq!(asked[0].query, "dry_run=true");
    assert_eq!(asked[0].headers["content-type"], "application/x-ndjson");
    assert!(!asked[0].headers.contains_key("x-allow-likely-secret"));

    let hub = Hub::start(importing).await;
    let output = knowhub(&hub.api, &relay, &["import", name, "--allow-likely-secrets"]).await;
    assert!(text(&output.stdout).starts_with("Imported 3 (experience 2, knowledge 1);"));
    assert_eq!(hub.asked()[0].query, "dry_run=false");
    assert_eq!(hub.asked()[0].headers["x-allow-likely-secret"], "true");
}

#[tokio::test]
async fn what_an_export_lacked_is_told_when_it_is_imported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.ndjson");
    fs::write(&file, without(&["knowledge-20260305-a1b2"])).unwrap();
    let (hub, relay) = (Hub::start(importing_a_gap).await, dead_url().await);
    let output = knowhub(&hub.api, &relay, &["import", file.to_str().unwrap()]).await;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = text(&output.stdout);
    assert!(told.contains("12 records: knowledge knowledge-20260305-a1b2, …"), "{told}");
}

#[tokio::test]
async fn a_wrong_file_is_told_before_anything_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let (hub, relay) = (Hub::start(importing).await, dead_url().await);
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let cut = whole().lines().next().unwrap().to_owned();
    let database = write("old.db", b"SQLite format 3\0 and more");
    write("busy.db-wal", b"x");
    let busy = write("busy.db", b"SQLite format 3\0 and more");
    write("hot.db-journal", b"x");
    let hot = write("hot.db", b"SQLite format 3\0 and more");
    for (args, code, told) in [
        (vec![write("cut", cut.as_bytes())], 1, "cut off after line 1"),
        (vec![write("gz", b"\x1f\x8b\x08")], 1, "compressed"),
        (vec![write("empty", b"")], 1, "is empty"),
        (vec![database.clone()], 1, "import --from"),
        (vec!["--from".into(), write("whole", whole().as_bytes())], 1, "no SQLite file"),
        (vec!["--from".into(), busy], 1, "busy.db-wal holds writes"),
        (vec!["--from".into(), hot], 1, "hot.db-journal holds writes"),
        (vec![folder.path().join("none").to_str().unwrap().into()], 1, "cannot read"),
        (vec![], 2, "<FILE|--from <DB>>"),
        (vec!["--from".into(), database.clone(), database.clone()], 2, "cannot be used with"),
    ] {
        let mut all = vec!["import"];
        all.extend(args.iter().map(String::as_str));
        let output = knowhub(&hub.api, &relay, &all).await;
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(text(&output.stderr).contains(told), "{output:?}");
    }
    assert!(hub.asked().is_empty());
    knowhub(&hub.api, &relay, &["import", "--from", &database]).await;
    assert_eq!(hub.asked()[0].headers["content-type"], "application/vnd.sqlite3");
}
