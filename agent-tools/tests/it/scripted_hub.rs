//! A hub that answers what a test tells it to, and remembers what it was asked.

use std::sync::{Arc, Mutex};

use agent_tools::hub::{Client, Config};
use axum::{
    Router,
    body::Bytes,
    http::{HeaderMap, Method, StatusCode, Uri, header},
    response::IntoResponse,
};
use serde_json::{Value, json};

/// One request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) call: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

/// A running hub; it ends with the test's runtime.
pub(crate) struct Hub {
    pub(crate) api: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

/// Returns the status and body for a call such as `GET /api/search`.
pub(crate) type Script = fn(&str) -> (u16, String);

impl Hub {
    pub(crate) async fn start(script: Script) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let answer = move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| async move {
            let call = format!("{method} {}", uri.path());
            let (status, text) = script(&call);
            log.lock().unwrap().push(Asked {
                call,
                query: uri.query().unwrap_or_default().to_owned(),
                headers,
                body: serde_json::from_slice(&body).unwrap_or_default(),
            });
            let kind = [
                (header::CONTENT_TYPE, "application/json"),
                (header::LOCATION, "http://127.0.0.1:9/elsewhere"),
                (header::RETRY_AFTER, "0"),
            ];
            (StatusCode::from_u16(status).unwrap(), kind, text).into_response()
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let api = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            axum::serve(listener, Router::new().fallback(answer)).await.unwrap();
        });
        Self { api, asked }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn client(&self) -> Client {
        client(&self.api)
    }
}

pub(crate) fn client(api: &str) -> Client {
    Client::new(Config { api: api.parse().unwrap(), token: Some("hub-secret".into()) }).unwrap()
}

/// A hub with one knowledge record and one experience.
pub(crate) fn with_records(call: &str) -> (u16, String) {
    let body = match call {
        "GET /api/knowledge/search" => json!({
            "results": [record()], "count": 1, "reranked": false, "withheld": 2,
        }),
        "GET /api/search" => json!({ "results": [{
            "name": "pymupdf", "url": "https://github.com/pymupdf/PyMuPDF",
            "relevant_experiences": [{
                "id": 7, "task": "extract tables", "score": 4, "tips": "page.find_tables()",
                "outcome": "fast", "content_id": "", "submitted_by": "",
                "authenticated_as": "local", "on_behalf_of": "",
                "created_at": "2026-03-20T10:00:00.000Z",
            }],
            "avg_score": 4.5, "experience_count": 2,
        }]}),
        "POST /api/knowledge" => {
            return (
                201,
                json!({ "id": "knowledge-20260305-c3d4", "status": "approved" }).to_string(),
            );
        }
        "POST /api/experience" => return (201, json!({ "id": 8 }).to_string()),
        "POST /api/resource" => {
            let stored = json!({ "id": "pymupdf/tables", "version": 1, "created": true });
            return (201, stored.to_string());
        }
        "GET /api/experience/7" => json!({
            "id": 7, "name": "pymupdf", "url": "https://github.com/pymupdf/PyMuPDF",
            "category": "library", "task": "extract tables", "score": 4, "outcome": "fast",
            "tips": "page.find_tables()", "content_id": "", "submitted_by": "",
            "authenticated_as": "local", "on_behalf_of": "",
            "created_at": "2026-03-20T10:00:00.000Z",
        }),
        "GET /api/knowledge/knowledge-20260305-a1b2" => record(),
        "GET /api/demand" => json!({
            "results": [{
                "kind": "experience_search", "wanted": "pdf\u{1b}[2J table", "count": 12,
                "first_at": "2026-03-20T10:00:00.000Z", "last_at": "2026-03-21T10:00:00.000Z",
            }],
            "total": 2, "page": 1, "page_size": 1,
        }),
        "GET /readyz" => json!({ "status": "ready" }),
        "GET /api/whoami" => json!({ "name": "ci", "role": "writer", "needs_token": true }),
        _ => return refusal(404, "not_found", "no such record"),
    };
    (200, body.to_string())
}

/// A hub that knows nothing.
pub(crate) fn empty(call: &str) -> (u16, String) {
    let body = match call {
        "GET /api/knowledge/search" => {
            json!({ "results": [], "count": 0, "reranked": false, "withheld": 3 })
        }
        _ => json!({ "results": [] }),
    };
    (200, body.to_string())
}

pub(crate) fn record() -> Value {
    json!({
        "id": "knowledge-20260305-a1b2", "task": "从论文 PDF 里提取表格",
        "content": "pdfplumber 适合有线表格", "types": ["tool"], "tags": {}, "scopes": [],
        "owner": "", "resource_ids": [], "source": {}, "eval": {}, "status": "approved",
        "relationships": [], "message_id": "", "created_at": "2026-03-20T10:00:00.000Z",
        "updated_at": "2026-03-20T10:00:00.000Z", "relevant": true, "signals": {},
    })
}

pub(crate) fn refusal(status: u16, code: &str, message: &str) -> (u16, String) {
    (status, json!({ "error": { "code": code, "message": message } }).to_string())
}
