//! A disk that is full or read-only: a clear answer, nothing lost, and work goes on when there is room again.

use std::path::Path;

use anyhow::ensure;
use futures_util::future::join_all;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tests::{binary, process::Process, small_disk::SmallDisk, wait};

use super::fixtures::{hub_settings, skip};

const DISK_BYTES: u64 = 16 * 1024 * 1024;

/// A hub on a small disk, and what it acknowledged.
struct FullHub {
    process: Process,
    client: Client,
    acknowledged: Vec<String>,
    sent: usize,
}

impl FullHub {
    async fn start(disk: &SmallDisk, logs: &Path, db: &Path) -> Self {
        let settings = hub_settings(db);
        let process = Process::start_on(disk, "knowhub-server", logs, &settings).await.unwrap();
        let client = Client::builder().timeout(wait::PATIENCE).build().unwrap();
        Self { process, client, acknowledged: Vec::new(), sent: 0 }
    }

    async fn get(&self, path: &str) -> (StatusCode, Value) {
        let url = format!("http://{}{path}", self.process.addr());
        let answer = self.client.get(url).send().await.unwrap();
        (answer.status(), answer.json().await.unwrap())
    }

    /// Sends this many large records at once, notes which were acknowledged, and returns how many were put off.
    async fn write(&mut self, count: usize) -> usize {
        let url = format!("http://{}/api/knowledge", self.process.addr());
        let answers = (0..count).map(|index| {
            let task = format!("large record {}", self.sent + index);
            let body = json!({ "task": task, "content": "很长的内容".repeat(4_000) });
            let request = self.client.post(&url).json(&body).send();
            async {
                let answer = request.await.unwrap();
                (answer.status(), answer.json::<Value>().await.unwrap())
            }
        });
        let answers = join_all(answers).await;
        self.sent += count;
        let mut put_off = 0;
        for (status, body) in answers {
            if status == StatusCode::CREATED {
                self.acknowledged.push(body["id"].as_str().unwrap().to_owned());
                continue;
            }
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{body}");
            let message = body["error"]["message"].as_str().unwrap();
            assert!(message.contains("disk"), "{message}");
            put_off += 1;
        }
        put_off
    }

    /// Checks that all that was acknowledged can be read.
    async fn check(&self) {
        for id in &self.acknowledged {
            let (status, body) = self.get(&format!("/api/knowledge/{id}")).await;
            assert_eq!(status, StatusCode::OK, "{body}");
        }
    }

    async fn until_ready(&self) {
        let ready = async || {
            let (status, body) = self.get("/readyz").await;
            ensure!(status == StatusCode::OK, "{body}");
            Ok(())
        };
        wait::until("the hub's readiness", ready).await.unwrap();
    }
}

/// Mounts a small disk, or says that the test is skipped.
async fn small_disk(test: &str, folder: &Path) -> Option<SmallDisk> {
    match SmallDisk::mount(folder, DISK_BYTES).await.unwrap() {
        Ok(disk) => Some(disk),
        Err(reason) => {
            skip(test, &format!("no small disk can be mounted here: {reason}"));
            None
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_loses_nothing_and_work_goes_on_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = small_disk("full_disk", &folder.path().join("disk")).await else { return };
    let db = disk.folder().join("knowhub.db");
    let mut hub = FullHub::start(&disk, folder.path(), &db).await;
    assert_eq!(hub.write(8).await, 0);

    disk.fill().unwrap();
    let mut put_off = 0;
    // What the engine had reserved may still take some.
    while put_off == 0 {
        disk.fill().unwrap();
        put_off = hub.write(32).await;
    }
    hub.check().await;
    let (status, body) = hub.get("/api/knowledge/search?q=large%20record%201").await;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert_eq!(hub.get("/healthz").await.0, StatusCode::OK);

    disk.free().unwrap();
    assert_eq!(hub.write(8).await, 0, "there is room again");
    hub.until_ready().await;
    hub.check().await;

    let acknowledged = hub.acknowledged;
    assert!(hub.process.terminate(wait::PATIENCE).await.unwrap().success());
    let mut hub = FullHub::start(&disk, folder.path(), &db).await;
    hub.acknowledged = acknowledged;
    hub.check().await;
    hub.process.kill().await.unwrap();
    disk.unmount().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_on_a_full_disk_stops_no_write_and_catches_up() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("knowhub.db");
    let index = folder.path().join("knowhub.db.index");
    let Some(disk) = small_disk("full_index", &index).await else { return };
    let mut hub = FullHub::start(&disk, folder.path(), &db).await;
    disk.fill().unwrap();
    assert_eq!(hub.write(8).await, 0);
    let unready = async || {
        let (status, body) = hub.get("/readyz").await;
        ensure!(status == StatusCode::SERVICE_UNAVAILABLE, "{body}");
        Ok(body)
    };
    let said = wait::until("the word that the index is behind", unready).await.unwrap();
    assert!(said.to_string().contains("cannot be written"), "{said}");
    let (_, found) = hub.get("/api/knowledge/search?q=large%20record%201").await;
    assert_ne!(found["count"], 0, "what is in no index yet is found");

    disk.free().unwrap();
    hub.until_ready().await;
    hub.check().await;
    let (_, found) = hub.get("/api/knowledge/search?q=large%20record%201").await;
    assert_ne!(found["count"], 0);
    assert!(hub.process.terminate(wait::PATIENCE).await.unwrap().success());
    disk.unmount().await.unwrap();
}

#[tokio::test]
async fn a_read_only_disk_is_named_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = small_disk("read_only", &folder.path().join("disk")).await else { return };
    let db = disk.folder().join("knowhub.db");
    let hub = FullHub::start(&disk, folder.path(), &db).await;
    assert!(hub.process.terminate(wait::PATIENCE).await.unwrap().success());
    disk.make_read_only().await.unwrap();
    let backup = disk
        .command(binary::find("knowhub-server").unwrap())
        .arg("backup")
        .arg(folder.path().join("copy.db"))
        .env_clear()
        .envs(hub_settings(&db))
        .output();
    let said = String::from_utf8(backup.await.unwrap().stderr).unwrap();
    assert!(said.contains("cannot read") && said.contains("KNOWHUB_DB"), "{said}");
    for db in [db, disk.folder().join("new.db"), disk.folder().join("new/hub.db")] {
        let settings = hub_settings(&db);
        let refused = Process::start_on(&disk, "knowhub-server", folder.path(), &settings).await;
        let said = format!("{:#}", refused.err().unwrap());
        assert!(said.contains("cannot write") && said.contains("KNOWHUB_DB"), "{said}");
        assert!(said.contains("Read-only file system"), "{said}");
    }
    disk.unmount().await.unwrap();
}
