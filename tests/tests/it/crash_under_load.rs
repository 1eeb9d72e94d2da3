//! Writers and readers of all kinds, and a hub that dies among them: nothing acknowledged is lost, nothing is there twice.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use protocol::MessageId;
use reqwest::{Client, Method, StatusCode};
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
    method: Method,
    path: String,
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

impl Write {
    /// Returns what a writer writes at its turn `index`, after the answer `last`.
    fn next(writer: usize, index: usize, last: &Value) -> Self {
        let name = format!("tool-{writer}");
        let key = MessageId::random().to_string();
        let text = format!("{WORD} {key}");
        let post = |path: &str, body| Self {
            method: Method::POST,
            path: path.to_owned(),
            key: key.clone(),
            body,
        };
        let id = last["id"].as_str().unwrap_or_default();
        match index % 6 {
            0 => {
                let score = index / 6 % 5 + 1;
                post("/api/experience", json!({ "name": name, "task": text, "score": score }))
            }
            1 => post("/api/knowledge", json!({ "task": text, "content": name })),
            2 => Self {
                method: Method::PUT,
                path: format!("/api/knowledge/{id}"),
                key,
                body: json!({ "add_helpful_case": { "reason": text } }),
            },
            5 => Self {
                method: Method::DELETE,
                path: format!("/api/resource/{id}"),
                key,
                body: Value::Null,
            },
            _ => post("/api/resource", json!({ "id": format!("tools/{key}"), "title": text })),
        }
    }
}

/// Sends a write and returns its answer, and whether it was given before; `None` when the connection was lost.
async fn send(client: &Client, api: &str, write: &Write) -> Option<(Value, bool)> {
    let request = client.request(write.method.clone(), format!("{api}{}", write.path));
    let request = match write.method {
        Method::DELETE => request,
        _ => request.header("idempotency-key", &write.key).json(&write.body),
    };
    let answer = request.send().await.ok()?;
    let status = answer.status();
    let is_replay = answer.headers().contains_key("idempotent-replay");
    let body = answer.json().await.ok()?;
    let is_done = match write.method {
        Method::POST => status == StatusCode::CREATED,
        // A deletion that is sent again finds nothing any more.
        Method::DELETE => status == StatusCode::OK || status == StatusCode::NOT_FOUND,
        _ => status == StatusCode::OK,
    };
    assert!(is_done, "{write:?}: {status} {body}");
    Some((body, is_replay))
}

/// Writes until the hub is gone.
async fn write_on(client: Client, api: String, ledger: Arc<Ledger>, writer: usize) {
    let mut last = Value::Null;
    for index in 0.. {
        let write = Write::next(writer, index, &last);
        let Some((answer, _)) = send(&client, &api, &write).await else {
            return ledger.unanswered.lock().unwrap().push(write);
        };
        last.clone_from(&answer);
        ledger.acknowledge(write, answer);
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

/// What the hub must hold.
#[derive(Default)]
struct Expected<'a> {
    /// Of each name, how many experiences there are and the sum of their scores.
    names: BTreeMap<&'a str, (u64, u64)>,
    /// Ids of records, each with its task.
    knowledge: Vec<(&'a str, &'a Value)>,
    /// Ids of records that were judged helpful.
    helpful: BTreeSet<&'a str>,
    resources: BTreeSet<&'a str>,
    deleted: BTreeSet<&'a str>,
}

impl<'a> Expected<'a> {
    fn of(acknowledged: &'a [(Write, Value)]) -> Self {
        let mut expected = Self::default();
        for (write, answer) in acknowledged {
            match write.path.as_str() {
                "/api/experience" => {
                    let name = write.body["name"].as_str().unwrap();
                    let (count, sum) = expected.names.entry(name).or_default();
                    *count += 1;
                    *sum += write.body["score"].as_u64().unwrap();
                }
                "/api/knowledge" => {
                    let id = answer["id"].as_str().unwrap();
                    expected.knowledge.push((id, &write.body["task"]));
                }
                "/api/resource" => {
                    expected.resources.insert(write.body["id"].as_str().unwrap());
                }
                path if write.method == Method::PUT => {
                    expected.helpful.insert(path.strip_prefix("/api/knowledge/").unwrap());
                }
                path => {
                    expected.deleted.insert(path.strip_prefix("/api/resource/").unwrap());
                }
            }
        }
        expected.resources.retain(|id| !expected.deleted.contains(id));
        expected
    }
}

/// Asks the hub for `path`; `None` when there is nothing.
async fn get(client: &Client, api: &str, path: &str, query: &[(&str, &str)]) -> Option<Value> {
    let answer = client.get(format!("{api}{path}")).query(query).send().await.unwrap();
    let status = answer.status();
    let body = answer.json().await.unwrap();
    assert!(status.is_success() || status == StatusCode::NOT_FOUND, "{path} {query:?}: {body}");
    status.is_success().then_some(body)
}

/// Checks that the hub holds what was acknowledged, once; looks at each record of `latest`, the end of it.
async fn check(client: &Client, api: &str, all: &[(Write, Value)], latest: &[(Write, Value)]) {
    let expected = Expected::of(all);
    let found = get(client, api, "/api/search", &[("q", WORD), ("limit", "100")]).await.unwrap();
    let names = found["results"].as_array().unwrap();
    assert_eq!(names.len(), expected.names.len());
    for found in names {
        let (count, sum) = expected.names[found["name"].as_str().unwrap()];
        assert_eq!(found["experience_count"], count, "{}", found["name"]);
        let average = found["avg_score"].as_f64().unwrap();
        assert!((average - sum as f64 / count as f64).abs() < 1e-9, "{}", found["name"]);
    }
    let total = async |path: &str| get(client, api, path, &[]).await.unwrap()["total"].as_u64();
    assert_eq!(total("/api/knowledge").await, Some(expected.knowledge.len() as u64));
    assert_eq!(total("/api/resource").await, Some(expected.resources.len() as u64));

    let latest_expected = Expected::of(latest);
    for (id, task) in &latest_expected.knowledge {
        let record = get(client, api, &format!("/api/knowledge/{id}"), &[]).await.unwrap();
        assert_eq!(record["task"], **task);
        let helpful = u64::from(expected.helpful.contains(id));
        assert_eq!(record["eval"]["helpful"], helpful, "{record}");
    }
    for id in &latest_expected.resources {
        assert!(get(client, api, &format!("/api/content/{id}"), &[]).await.is_some(), "{id}");
    }
    for id in &latest_expected.deleted {
        assert!(get(client, api, &format!("/api/content/{id}"), &[]).await.is_none(), "{id}");
    }
    // Some are found by a word of their own.
    let searches =
        [("/api/experience", "/api/search"), ("/api/knowledge", "/api/knowledge/search")];
    for (written, search) in searches {
        for (write, _) in latest.iter().filter(|(write, _)| write.path == written).take(WRITERS) {
            let found = get(client, api, search, &[("q", &write.key)]).await.unwrap();
            assert_eq!(found["results"].as_array().unwrap().len(), 1, "{write:?}: {found}");
        }
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
        check(&client, &api, &acknowledged, &acknowledged[first..]).await;
        system.hub.take().unwrap().kill().await.unwrap();
    }
    assert!(replays > 0, "no death fell between a commit and its answer");
}
