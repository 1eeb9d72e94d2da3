//! Writers and readers of all kinds, and a hub that dies among them: nothing acknowledged is lost, nothing is there twice.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use protocol::MessageId;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tests::{system::System, wait};
use tokio::{sync::Notify, task::JoinSet};

const ROUNDS: usize = 10;
const WRITERS: usize = 32;
const READERS: usize = 32;

/// A word that stands in everything that is written.
const WORD: &str = "光谱仪";

/// A write, as it is sent again when it got no answer.
#[derive(Clone, Debug)]
struct Write {
    path: &'static str,
    key: String,
    body: Value,
}

/// What the writers were told.
#[derive(Default)]
struct Ledger {
    acknowledged: Mutex<Vec<(Write, Value)>>,
    unanswered: Mutex<Vec<Write>>,
    /// How many acknowledgments are to come before the hub is killed.
    until_kill: AtomicUsize,
    kill: Notify,
}

impl Ledger {
    fn acknowledge(&self, write: Write, answer: Value) {
        self.acknowledged.lock().unwrap().push((write, answer));
        if self.until_kill.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.kill.notify_one();
        }
    }
}

/// Returns the `index`-th write of a writer.
fn nth_write(writer: usize, index: usize) -> Write {
    let name = format!("tool-{writer}");
    let key = MessageId::random().to_string();
    let (path, body) = match index % 2 {
        0 => (
            "/api/experience",
            json!({ "name": name, "task": format!("{WORD} {key}"), "score": index % 5 + 1 }),
        ),
        _ => ("/api/knowledge", json!({ "task": format!("{WORD} {key}"), "content": name })),
    };
    Write { path, key, body }
}

/// Sends a write and returns its answer, and whether it was given before; `None` when the connection was lost.
async fn send(client: &Client, api: &str, write: &Write) -> Option<(Value, bool)> {
    let request = client.post(format!("{api}{}", write.path)).header("idempotency-key", &write.key);
    let answer = request.json(&write.body).send().await.ok()?;
    let status = answer.status();
    let is_replay = answer.headers().contains_key("idempotent-replay");
    let body = answer.json().await.ok()?;
    assert_eq!(status, StatusCode::CREATED, "{write:?}: {body}");
    Some((body, is_replay))
}

/// Writes until the hub is gone.
async fn write_on(client: Client, api: String, ledger: Arc<Ledger>, writer: usize) {
    for index in 0.. {
        let write = nth_write(writer, index);
        match send(&client, &api, &write).await {
            Some((answer, _)) => ledger.acknowledge(write, answer),
            None => return ledger.unanswered.lock().unwrap().push(write),
        }
    }
}

/// Searches until the hub is gone.
async fn read_on(client: Client, api: String, reader: usize) {
    let paths = ["/api/search", "/api/knowledge/search"];
    loop {
        let request = client.get(format!("{api}{}", paths[reader % 2])).query(&[("q", WORD)]);
        let Ok(answer) = request.send().await else { return };
        let status = answer.status();
        let Ok(body) = answer.text().await else { return };
        assert_eq!(status, StatusCode::OK, "{body}");
    }
}

/// Checks that the hub holds exactly what was acknowledged; looks at each record from number `first` on.
async fn check(client: &Client, api: &str, acknowledged: &[(Write, Value)], first: usize) {
    let get = async |path: &str, query: &[(&str, &str)]| {
        let answer = client.get(format!("{api}{path}")).query(query).send().await.unwrap();
        let status = answer.status();
        let body: Value = answer.json().await.unwrap();
        assert_eq!(status, StatusCode::OK, "{path} {query:?}: {body}");
        body
    };
    let mut records = 0;
    // name → how many, and the sum of the scores.
    let mut expected = BTreeMap::new();
    for (number, (write, answer)) in acknowledged.iter().enumerate() {
        if write.path == "/api/experience" {
            let (count, sum) =
                expected.entry(write.body["name"].as_str().unwrap()).or_insert((0, 0));
            *count += 1;
            *sum += write.body["score"].as_u64().unwrap();
        } else {
            records += 1;
            if number >= first {
                let id = answer["id"].as_str().unwrap();
                let record = get(&format!("/api/knowledge/{id}"), &[]).await;
                assert_eq!(record["task"], write.body["task"]);
            }
        }
    }
    assert_eq!(get("/api/knowledge", &[]).await["total"], records, "none is there twice");
    let found = get("/api/search", &[("q", WORD), ("limit", "100")]).await;
    let names = found["results"].as_array().unwrap();
    assert_eq!(names.len(), expected.len());
    for found in names {
        let (count, sum) = expected[found["name"].as_str().unwrap()];
        assert_eq!(found["experience_count"], count, "{}", found["name"]);
        let average = found["avg_score"].as_f64().unwrap();
        assert!((average - sum as f64 / f64::from(count)).abs() < 1e-9, "{}", found["name"]);
    }
    // The newest of each kind is found by its own word.
    for (write, _) in acknowledged.iter().rev().take(WRITERS) {
        let search =
            write.path.replace("experience", "search").replace("knowledge", "knowledge/search");
        let found = get(&search, &[("q", &write.key)]).await;
        assert_eq!(found["results"].as_array().unwrap().len(), 1, "{write:?}: {found}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_is_there_once_ten_deaths_later() {
    let client = Client::builder().timeout(wait::PATIENCE).build().unwrap();
    let mut system = System::stopped(vec![]).unwrap();
    let (mut acknowledged, mut replays) = (Vec::new(), 0);
    for round in 0..ROUNDS {
        system.start_hub().await.unwrap();
        let api = system.api();
        let ledger = Arc::new(Ledger::default());
        // Kills at no particular moment: somewhere within the commits of the next few hundred writes.
        let random = usize::from(MessageId::random().0.as_bytes()[0]);
        ledger.until_kill.store(WRITERS + random, Ordering::Relaxed);
        let mut clients = JoinSet::new();
        for writer in 0..WRITERS {
            clients.spawn(write_on(client.clone(), api.clone(), Arc::clone(&ledger), writer));
        }
        for reader in 0..READERS {
            clients.spawn(read_on(client.clone(), api.clone(), reader));
        }
        ledger.kill.notified().await;
        system.hub.take().unwrap().kill().await.unwrap();
        // A writer or reader that got a wrong answer fails the test here.
        clients.join_all().await;

        system.start_hub().await.unwrap();
        let first = if round + 1 == ROUNDS { 0 } else { acknowledged.len() };
        acknowledged.append(&mut ledger.acknowledged.lock().unwrap());
        let unanswered = std::mem::take(&mut *ledger.unanswered.lock().unwrap());
        assert!(!unanswered.is_empty(), "round {round} interrupted nobody");
        for write in unanswered {
            let (answer, is_replay) = send(&client, &api, &write).await.unwrap();
            replays += usize::from(is_replay);
            acknowledged.push((write, answer));
        }
        check(&client, &api, &acknowledged, first).await;
        system.hub.take().unwrap().kill().await.unwrap();
    }
    assert!(replays > 0, "no death fell between a commit and its answer");
}
