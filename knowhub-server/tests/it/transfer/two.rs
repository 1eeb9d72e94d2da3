//! Two hubs, both with tokens, and what was imported from the one into the other.

use axum::{
    body::{Body, to_bytes},
    http::{Method, Request, StatusCode},
};
use protocol::Timestamp;
use serde_json::{Value, json};

use crate::harness::{Answer, TestHub, until};

const TOKENS: &str = "reader:reader:reads-and-nothing-else,admin:admin:does-all-there-is";

/// What an admin sends along.
pub(super) const ADMIN: &str = "Bearer does-all-there-is";

/// A resource that both hubs know, or one of them.
pub(super) const RESOURCE: &str = "/api/resource/x/y";

/// Two hubs, one of which is imported into the other.
pub(super) struct Two {
    pub(super) here: TestHub,
    pub(super) there: TestHub,
}

impl Two {
    pub(super) async fn start() -> Self {
        let start = || TestHub::with_flags(&["--knowhub-tokens", TOKENS]);
        Self { here: start().await, there: start().await }
    }

    fn hub(&self, name: &str) -> &TestHub {
        match name {
            "here" => &self.here,
            "there" => &self.there,
            _ => panic!("{name} is neither here nor there"),
        }
    }

    /// Does something as an admin, and returns what must be an answer to a good request.
    pub(super) async fn call(
        &self,
        hub: &str,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Value {
        // No two things happen at the same time.
        let before = Timestamp::now();
        until(async || Timestamp::now() > before).await;
        let headers = [("authorization", ADMIN)];
        let answer = self.hub(hub).call(method.clone(), path, &headers, body.as_ref()).await;
        assert!(answer.status.is_success(), "{hub}: {method} {path}: {answer:?}");
        answer.body
    }

    /// Does what a line of a case says, to the resource of all cases.
    pub(super) async fn step(&self, step: &str) -> Value {
        let (hub, what) = step.split_once(' ').unwrap_or(("here", step));
        let (method, path) = match what.split_once(' ').unwrap_or((what, "")) {
            ("import", "") => return self.import().await,
            ("make", body) => {
                let body = json!({ "id": "x/y", "body": body });
                return self.call(hub, Method::POST, "/api/resource", Some(body)).await;
            }
            ("change", body) => {
                let body = json!({ "body": body });
                return self.call(hub, Method::PATCH, RESOURCE, Some(body)).await;
            }
            ("delete", "") => (Method::DELETE, RESOURCE.to_owned()),
            ("erase", "") => (Method::DELETE, format!("{RESOURCE}?erase=true")),
            (unknown, _) => panic!("{unknown} is nothing to do"),
        };
        self.call(hub, method, &path, None).await
    }

    pub(super) async fn export(&self, hub: &str) -> String {
        let request = Request::get("/api/export").header("authorization", ADMIN);
        let response = self.hub(hub).raw(request.body(Body::empty()).unwrap()).await;
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    /// Imports all from there, and returns the report.
    pub(super) async fn import(&self) -> Value {
        let report = self.import_text(self.export("there").await).await;
        assert_eq!(report["rejected"], json!([]));
        report
    }

    /// Imports this export here, and returns the report.
    pub(super) async fn import_text(&self, export: String) -> Value {
        let request = Request::post("/api/import")
            .header("authorization", ADMIN)
            .header("content-type", "application/x-ndjson");
        let answer = self.here.send(request.body(export.into()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        answer.body
    }

    pub(super) async fn get(&self, role: &str, path: &str) -> Answer {
        let token = match role {
            "reader" => "Bearer reads-and-nothing-else",
            _ => ADMIN,
        };
        self.here.call(Method::GET, path, &[("authorization", token)], None).await
    }

    /// Returns the numbers of the earlier versions that a role sees here, newest first.
    pub(super) async fn versions(&self, role: &str) -> Vec<i64> {
        let answer = self.get(role, "/api/versions/resource/x/y").await;
        if answer.status == StatusCode::NOT_FOUND {
            return vec![];
        }
        let versions = answer.body["results"].as_array().unwrap().clone();
        versions.iter().map(|one| one["record"]["version"].as_i64().unwrap()).collect()
    }

    pub(super) async fn stop(self) {
        self.here.stop().await;
        self.there.stop().await;
    }
}

/// Returns `kind id: reason` of each conflict.
pub(super) fn conflicts(report: &Value) -> Vec<String> {
    let conflicts = report["conflicts"].as_array().unwrap().iter();
    let text = |one: &Value, field: &str| one[field].as_str().unwrap().to_owned();
    conflicts
        .map(|one| format!("{} {}: {}", text(one, "kind"), text(one, "id"), text(one, "reason")))
        .collect()
}
