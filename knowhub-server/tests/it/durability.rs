//! What is on disk: rows survive, indexes are rebuilt, a foreign or newer file is refused.

use std::{fs, path::Path};

use axum::{body::Body, http::Request};
use futures_util::future::join_all;
use knowhub_server::{Error, Hub, OpenError};
use protocol::{
    ExperienceId, Timestamp,
    export::{FORMAT, Header, Line, Writer},
};
use serde_json::json;
use tempfile::TempDir;
use tower::ServiceExt;

use crate::harness::{TestHub, config, index_folder, strings, until};

/// Every kind of row that has an index.
const KINDS: [&str; 3] = ["experiences", "knowledge", "resources"];

/// Stores one row of each kind.
async fn fill(hub: &TestHub, word: &str) {
    hub.add_experience(json!({ "name": word, "task": word })).await;
    hub.add_knowledge(json!({ "task": word, "content": word })).await;
    let resource = json!({ "id": word, "body": word });
    assert_eq!(hub.post("/api/resource", &resource).await.status, 201);
}

/// Stores one row of each kind and stops the hub, which commits all to their indexes first.
async fn filled_folder(word: &str) -> TempDir {
    let hub = TestHub::start().await;
    fill(&hub, word).await;
    hub.stop().await
}

async fn check_found(folder: TempDir, word: &str) {
    let hub = TestHub::start_in(folder).await;
    assert_eq!(hub.names(word).await, [word]);
    assert_eq!(hub.ids(word).await.len(), 1);
    assert_eq!(resources(&hub, word).await, [word]);
    hub.stop().await;
}

/// Returns the ids of the resources that a search finds.
async fn resources(hub: &TestHub, q: &str) -> Vec<String> {
    strings(&hub.find("/api/resource", &[("q", q)]).await.body["results"], "id")
}

#[tokio::test]
async fn a_restart_keeps_everything() {
    let folder = filled_folder("持久").await;
    check_found(folder, "持久").await;
}

#[tokio::test]
async fn what_an_index_lacks_is_read_from_the_rows() {
    let folder = filled_folder("较早").await;
    let kept = tempfile::tempdir().unwrap();
    let index = folder.path().join("hub.db.index");
    fs::rename(&index, kept.path().join("index")).unwrap();
    let hub = TestHub::start_in(folder).await;
    fill(&hub, "较晚").await;
    let folder = hub.stop().await;
    fs::remove_dir_all(&index).unwrap();
    fs::rename(kept.path().join("index"), &index).unwrap();
    check_found(folder, "较晚").await;
}

#[tokio::test]
async fn a_missing_index_is_rebuilt() {
    let folder = filled_folder("丢失").await;
    fs::remove_dir_all(folder.path().join("hub.db.index")).unwrap();
    check_found(folder, "丢失").await;
}

#[tokio::test]
async fn a_search_is_not_answered_from_a_part_of_the_rows() {
    let folder = filled_folder("全部").await;
    fs::remove_dir_all(folder.path().join("hub.db.index")).unwrap();
    let hub = Hub::open(&config(&folder)).unwrap();
    let paths = ["/api/search?q=a", "/api/knowledge/search?q=a", "/api/resource?q=a"];
    // All at once: the followers have their first turn only after these requests had theirs.
    let asked = paths.map(|path| {
        let request = Request::get(path).body(Body::empty()).unwrap();
        hub.router().oneshot(request)
    });
    for (path, response) in paths.iter().zip(join_all(asked).await) {
        assert_eq!(response.unwrap().status(), 503, "{path}");
    }
    hub.close().await;
    check_found(folder, "全部").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_go_on_while_an_index_cannot_be_written() {
    let hub = TestHub::start().await;
    let index = hub.config().knowhub_db.with_file_name("hub.db.index").join("experiences");
    fs::remove_dir_all(index).unwrap();
    // More than memory has room for.
    let request = Request::post("/api/import").header("content-type", "application/x-ndjson");
    let answer = hub.send(request.body(Body::from(export_of(4_500))).unwrap()).await;
    assert_eq!(answer.body["imported"], json!({ "experience": 4_500 }), "{answer:?}");
    hub.add_knowledge(json!({ "task": "别的索引" })).await;
    assert_eq!(hub.ids("别的索引").await.len(), 1);

    let search = hub.find("/api/search", &[("q", "名字7")]).await;
    assert_eq!(search.status, 503, "nothing is answered from a part of the rows: {search:?}");
    until(async || hub.get("/readyz").await.status == 503).await;
    let hub = TestHub::start_in(hub.stop().await).await;
    assert_eq!(hub.names("名字4499").await, ["名字4499"]);
    hub.stop().await;
}

/// Returns an export of so many experiences.
fn export_of(count: i64) -> String {
    let header = Header {
        knowhub_export: FORMAT,
        store_id: "elsewhere".into(),
        last_seq: 0,
        last_experience: ExperienceId(count),
        created_at: Timestamp::from_millis(0),
    };
    let mut out = Vec::new();
    let mut writer = Writer::start(&header, &mut out);
    for number in 0..count {
        let experience = json!({
            "id": number + 1, "name": format!("名字{number}"), "url": "", "category": "", "task": "任务",
            "score": null, "outcome": "", "tips": "", "content_id": "", "submitted_by": "",
            "authenticated_as": "local", "on_behalf_of": "", "created_at": "2026-01-01T00:00:00.000Z",
        });
        let line = json!({ "experience": experience }).to_string();
        writer.write(&Line::parse(line.as_bytes()).unwrap(), &mut out);
    }
    writer.finish(&mut out);
    String::from_utf8(out).unwrap()
}

#[tokio::test]
async fn a_damaged_index_is_rebuilt() {
    for suffix in ["meta.json", ".term", ".idx", ".fast"] {
        let folder = filled_folder("损坏").await;
        for kind in KINDS {
            damage(&index_folder(&folder, kind), suffix);
        }
        check_found(folder, "损坏").await;
    }
}

/// Turns over a byte in the middle of the files that end so.
fn damage(folder: &Path, suffix: &str) {
    let mut damaged = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.to_str().unwrap().ends_with(suffix) {
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0xff;
            fs::write(&path, bytes).unwrap();
            damaged += 1;
        }
    }
    assert!(damaged > 0, "there is a file that ends in {suffix}");
}

#[tokio::test]
async fn an_index_of_another_store_is_rebuilt() {
    let (folder, other) = (filled_folder("自己").await, filled_folder("别人").await);
    for kind in KINDS {
        let (to, from) = (index_folder(&folder, kind), index_folder(&other, kind));
        fs::remove_dir_all(&to).unwrap();
        fs::rename(from, to).unwrap();
    }
    check_found(folder, "自己").await;
}

#[tokio::test]
async fn an_index_ahead_of_its_store_is_rebuilt() {
    let hub = TestHub::start().await;
    fill(&hub, "早").await;
    let folder = hub.stop().await;
    let backup = fs::read(folder.path().join("hub.db")).unwrap();

    let hub = TestHub::start_in(folder).await;
    fill(&hub, "晚").await;
    let folder = hub.stop().await;
    fs::write(folder.path().join("hub.db"), backup).unwrap();

    let hub = TestHub::start_in(folder).await;
    assert_eq!(hub.names("早").await, ["早"]);
    assert_eq!(hub.names("晚").await, [""; 0]);
    assert_eq!(resources(&hub, "晚").await, [""; 0]);
    fill(&hub, "新").await;
    check_found(hub.stop().await, "早").await;
}

#[tokio::test]
async fn a_second_hub_on_one_file_is_refused() {
    let hub = TestHub::start().await;
    let refused = Hub::open(&hub.config()).err().expect("the second is refused");
    assert!(matches!(refused, Error::Store(OpenError::InUse { .. })), "{refused}");
    assert!(refused.to_string().contains("another hub is already using"), "{refused}");
    hub.add_experience(json!({})).await;
    let folder = hub.stop().await;
    TestHub::start_in(folder).await.stop().await;
}

#[tokio::test]
async fn another_spelling_of_the_same_file_is_refused_as_well() {
    let hub = TestHub::start().await;
    let db = hub.config().knowhub_db;
    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join("linked.db");
    std::os::unix::fs::symlink(&db, &link).unwrap();
    let folder_link = elsewhere.path().join("linked-folder");
    std::os::unix::fs::symlink(db.parent().unwrap(), &folder_link).unwrap();
    let dotted = db.parent().unwrap().join("./nothing/../hub.db");
    fs::create_dir(db.parent().unwrap().join("nothing")).unwrap();
    for spelling in [link, folder_link.join("hub.db"), dotted] {
        let mut config = hub.config();
        config.knowhub_db = spelling;
        let refused = Hub::open(&config).err().expect("the second is refused");
        assert!(matches!(refused, Error::Store(OpenError::InUse { .. })), "{refused}");
    }
    hub.add_experience(json!({})).await;
    hub.stop().await;
}

#[tokio::test]
async fn a_file_with_a_second_name_is_refused() {
    let folder = filled_folder("双名").await;
    let second = folder.path().join("second.db");
    fs::hard_link(folder.path().join("hub.db"), &second).unwrap();
    for name in ["hub.db", "second.db"] {
        let mut config = config(&folder);
        config.knowhub_db = folder.path().join(name);
        let refused = Hub::open(&config).err().expect("no lock would hold");
        assert!(matches!(refused, Error::Store(OpenError::HardLinked { .. })), "{refused}");
    }
    fs::remove_file(second).unwrap();
    check_found(folder, "双名").await;
}

#[tokio::test]
async fn a_store_behind_a_link_keeps_its_index_beside_the_file() {
    let folder = filled_folder("真身").await;
    let elsewhere = tempfile::tempdir().unwrap();
    let mut config = config(&folder);
    config.knowhub_db = elsewhere.path().join("linked.db");
    std::os::unix::fs::symlink(folder.path().join("hub.db"), &config.knowhub_db).unwrap();
    Hub::open(&config).unwrap().close().await;
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1, "nothing but the link");
    check_found(folder, "真身").await;
}

#[tokio::test]
async fn a_newer_file_is_refused_and_left_alone() {
    let folder = filled_folder("未来").await;
    let db = rusqlite::Connection::open(folder.path().join("hub.db")).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    let refused = Hub::open(&config(&folder)).err().expect("a newer file is refused");
    assert!(refused.to_string().contains("schema version 99"), "{refused}");
}

#[tokio::test]
async fn a_file_of_another_kind_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hub.db");
    let text = "this is a letter, not a database; ".repeat(100);
    fs::write(&path, &text).unwrap();
    let refused = Hub::open(&config(&folder)).err().expect("a letter is refused");
    assert!(refused.to_string().contains("not a KnowHub store"), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);

    fs::remove_file(&path).unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
    drop(db);
    let refused = Hub::open(&config(&folder)).err().expect("a recipe book is refused");
    assert!(refused.to_string().contains("not a KnowHub store"), "{refused}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("hub.db"), "").unwrap();
    let mut config = config(&folder);
    config.knowhub_db = folder.path().join("hub.db/below/hub.db");
    let refused = Hub::open(&config).err().expect("a file is no folder");
    assert!(refused.to_string().contains("KNOWHUB_DB"), "{refused}");
}
