//! A hub over a temporary folder, and requests into its router.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::{
    fmt::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{HeaderMap, Method, Request, StatusCode},
    response::Response,
};
use clap::Parser;
use knowhub_server::{Config, Hub};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running hub.
pub(crate) struct TestHub {
    folder: TempDir,
    hub: Hub,
    router: Router,
    /// How many records were stored that say nothing of their own.
    plain: AtomicUsize,
}

/// What the hub answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl TestHub {
    pub(crate) async fn start() -> Self {
        Self::start_in(tempfile::tempdir().unwrap()).await
    }

    /// Starts with these flags beside that of the store.
    pub(crate) async fn with_flags(flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = config_with(&folder, flags);
        Self::start_with(folder, &config).await
    }

    /// Starts on a folder that an earlier hub left, and waits until it is ready.
    pub(crate) async fn start_in(folder: TempDir) -> Self {
        let config = config(&folder);
        Self::start_with(folder, &config).await
    }

    /// The same with these settings, which name a store in the folder.
    pub(crate) async fn start_with(folder: TempDir, config: &Config) -> Self {
        let hub = Hub::open(config).unwrap();
        let router = hub.router();
        let started = Self { folder, hub, router, plain: AtomicUsize::new(0) };
        until(async || started.get("/readyz").await.status == StatusCode::OK).await;
        started
    }

    /// Stops the hub cleanly and hands back its folder.
    pub(crate) async fn stop(self) -> TempDir {
        self.hub.close().await;
        self.folder
    }

    pub(crate) fn config(&self) -> Config {
        config(&self.folder)
    }

    /// Returns what a crash at this moment would leave: a copy of the folder, with nothing saved or closed first.
    pub(crate) fn crashed(&self) -> TempDir {
        let copy = tempfile::tempdir().unwrap();
        copy_files(self.folder.path(), copy.path());
        copy
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path).body(Body::empty()).unwrap()).await
    }

    /// Gets `path` with these query parameters, encoded.
    pub(crate) async fn find(&self, path: &str, params: &[(&str, &str)]) -> Answer {
        let pairs: Vec<String> =
            params.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        self.get(&format!("{path}?{}", pairs.join("&"))).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_with(path, body, &[]).await
    }

    pub(crate) async fn post_with(
        &self,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> Answer {
        self.call(Method::POST, path, headers, Some(body)).await
    }

    /// Sends a request with these headers, and a JSON body if there is one.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = match body {
            Some(body) => request
                .header("content-type", "application/json")
                .body(Body::from(body.to_string())),
            None => request.body(Body::empty()),
        };
        self.send(request.unwrap()).await
    }

    /// Sends a request whose answer need not be JSON.
    pub(crate) async fn raw(&self, request: Request<Body>) -> Response {
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let is_head = request.method() == Method::HEAD;
        let response = self.raw(request).await;
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let body = if is_head { Value::Null } else { serde_json::from_slice(&bytes).unwrap() };
        Answer { status: parts.status, headers: parts.headers, body }
    }

    /// Stores an experience and returns its number.
    pub(crate) async fn add_experience(&self, report: Value) -> i64 {
        let mut body = json!({ "name": "pymupdf", "task": "提取表格" });
        merge(&mut body, report);
        let answer = self.post("/api/experience", &body).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
        answer.body["id"].as_i64().unwrap()
    }

    /// Stores a record and returns its id; no two say the same unless the test makes them.
    pub(crate) async fn add_knowledge(&self, report: Value) -> String {
        let earlier = self.plain.fetch_add(1, Ordering::Relaxed);
        let content = match earlier {
            0 => "用 find_tables".to_owned(),
            _ => format!("用 find_tables，{earlier}"),
        };
        let mut body = json!({ "task": "提取表格", "content": content });
        merge(&mut body, report);
        let answer = self.post("/api/knowledge", &body).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
        let id = answer.body["id"].as_str().unwrap().to_owned();
        if answer.body["status"] == "pending" {
            self.processed(&id).await;
        }
        id
    }

    /// Waits until a record is processed, and returns what became of it.
    pub(crate) async fn processed(&self, id: &str) -> Value {
        let path = format!("/api/knowledge/{id}/processing");
        until(async || self.get(&path).await.body["stage"] == "done").await;
        self.get(&path).await.body
    }

    /// Stores a record of each kind, and returns the kinds, as paths name them, with the ids.
    pub(crate) async fn add_one_of_each(&self) -> [(&'static str, String); 3] {
        let experience = self.add_experience(json!({})).await.to_string();
        let knowledge = self.add_knowledge(json!({})).await;
        let resource = self.post("/api/resource", &json!({ "id": "notes" })).await;
        assert_eq!(resource.status, StatusCode::CREATED, "{resource:?}");
        [("experience", experience), ("knowledge", knowledge), ("resource", "notes".to_owned())]
    }

    /// Returns the names that a search for experiences finds, best first.
    pub(crate) async fn names(&self, q: &str) -> Vec<String> {
        let answer = self.find("/api/search", &[("q", q)]).await;
        strings(&answer.body["results"], "name")
    }

    /// Returns the ids that a search for knowledge finds, best first.
    pub(crate) async fn ids(&self, q: &str) -> Vec<String> {
        let answer = self.find("/api/knowledge/search", &[("q", q)]).await;
        strings(&answer.body["results"], "id")
    }
}

/// Returns the settings of a hub in this folder.
pub(crate) fn config(folder: &TempDir) -> Config {
    config_with(folder, &[])
}

/// Returns the settings of a hub in this folder, with further flags.
pub(crate) fn config_with(folder: &TempDir, flags: &[&str]) -> Config {
    let db = folder.path().join("hub.db");
    let first = ["knowhub-server", "--knowhub-db", db.to_str().unwrap()];
    let config = Config::parse_from(first.iter().chain(flags));
    // Whatever model the environment names stays out of it.
    let (llm, embeddings) = (llm::Settings::default(), llm::embedding::Settings::default());
    Config { llm, embeddings, ..config }
}

/// Returns the folder of an index of a hub in this folder.
pub(crate) fn index_folder(folder: &TempDir, kind: &str) -> PathBuf {
    folder.path().join("hub.db.index").join(kind)
}

/// Returns one field of each element, as text.
pub(crate) fn strings(list: &Value, field: &str) -> Vec<String> {
    list.as_array().unwrap().iter().map(|one| one[field].as_str().unwrap().to_owned()).collect()
}

/// Asks again until the condition holds.
pub(crate) async fn until(condition: impl AsyncFn() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("what must come came in time");
}

fn copy_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_files(&from, &to);
        } else {
            std::fs::copy(from, to).unwrap();
        }
    }
}

fn merge(body: &mut Value, more: Value) {
    let (Value::Object(body), Value::Object(more)) = (body, more) else { panic!("two objects") };
    body.extend(more);
}

/// Returns the text with every byte percent-encoded.
pub(crate) fn encoded(value: &str) -> String {
    let mut encoded = String::new();
    for byte in value.bytes() {
        write!(encoded, "%{byte:02X}").unwrap();
    }
    encoded
}

/// Tells whether any file in the folder, or in those below it, has this text somewhere.
pub(crate) fn files_hold(folder: &TempDir, text: &str) -> bool {
    let mut folders = vec![folder.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if std::fs::read(&path)
                .unwrap()
                .windows(text.len())
                .any(|part| part == text.as_bytes())
            {
                return true;
            }
        }
    }
    false
}
