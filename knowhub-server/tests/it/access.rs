//! Who may do what: tokens, roles, rates, likely secrets, and where the settings of all that are wrong.

use std::{fs, path::Path};

use axum::{
    body::Body,
    http::{Method, Request, StatusCode},
};
use clap::Parser;
use knowhub_server::{Config, Error, Hub};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Answer, TestHub, until};

const READER: &str = "reader-token-0001";
const WRITER: &str = "writer-token-0001";
const DELEGATE: &str = "delegate-token-0001";
const ADMIN: &str = "admin-token-0001";

/// Calls that need no token: they tell how the hub is, and what it can do.
const OPEN: [&str; 4] = ["/healthz", "/readyz", "/api/openapi.json", "/docs/"];

fn tokens() -> String {
    format!("r:reader:{READER},w:writer:{WRITER},d:delegate:{DELEGATE},a:admin:{ADMIN}")
}

async fn guarded() -> TestHub {
    TestHub::with_flags(&["--knowhub-tokens", &tokens()]).await
}

/// Sends a request with this `Authorization` header, unless it is empty.
async fn call(hub: &TestHub, method: &str, path: &str, token: &str, body: &Value) -> Answer {
    let mut request = Request::builder().method(method).uri(path);
    if !token.is_empty() {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    request = request.header("content-type", "application/json");
    hub.send(request.body(Body::from(body.to_string())).unwrap()).await
}

/// Returns each documented call as method and path, with something in place of path parameters.
async fn documented_calls(hub: &TestHub) -> Vec<(String, String)> {
    let document = hub.get("/api/openapi.json").await.body;
    let mut calls = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let parts = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
        let path = parts.collect::<Vec<_>>().join("/");
        for method in item.as_object().unwrap().keys() {
            calls.push((method.to_ascii_uppercase(), path.clone()));
        }
    }
    calls
}

#[tokio::test]
async fn no_documented_call_is_open_without_a_token() {
    let hub = guarded().await;
    let calls = documented_calls(&hub).await;
    assert!(calls.len() >= 5, "{calls:?}");
    for (method, path) in calls.iter().filter(|(_, path)| !OPEN.contains(&path.as_str())) {
        for token in ["", "not-a-known-token"] {
            let answer = call(&hub, method, path, token, &json!({})).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{method} {path} {answer:?}");
            assert_eq!(answer.body["error"]["code"], "unauthorized");
            assert_eq!(answer.headers["www-authenticate"], "Bearer");
            assert!(answer.headers.contains_key("x-request-id"));
            assert!(!answer.body.to_string().contains("not-a-known-token"));
        }
    }
    for path in OPEN {
        let request = Request::get(path).body(Body::empty()).unwrap();
        assert_eq!(hub.raw(request).await.status(), StatusCode::OK, "{path}");
    }
    hub.stop().await;
}

/// Returns each call of the API page with the role that stands beside it.
fn calls_with_roles() -> Vec<(&'static str, &'static str, &'static str)> {
    let table = include_str!("../../../docs/knowhub-api.md").lines();
    let rows = table.filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    rows.filter_map(|(call, rest)| {
        let (method, path) = call.split_once(" /")?;
        let (role, _) = rest.split_once(" | ")?;
        Some((method, path, role))
            .filter(|(method, ..)| method.chars().all(|c| c.is_ascii_uppercase()))
    })
    .collect()
}

#[tokio::test]
async fn each_call_needs_the_role_that_stands_beside_it() {
    let hub = guarded().await;
    let document = hub.get("/api/openapi.json").await.body;
    let status = async |method: &str, path: &str, token: &str| {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("authorization", format!("Bearer {token}"));
        let request = request.header("content-type", "application/json");
        hub.raw(request.body(Body::from("{}")).unwrap()).await.status()
    };
    let mut checked = 0;
    for (method, path, role) in calls_with_roles() {
        let described = &document["paths"][format!("/{path}")][method.to_ascii_lowercase()];
        let says_admin = described["description"]
            .as_str()
            .is_some_and(|text| text.contains("Needs the role admin."));
        let path = format!("/{}", path.replace("{id}", "x"));
        let (denied, allowed) = match role {
            "reader" => (None, READER),
            "writer" => (Some(READER), WRITER),
            "admin" => (Some(DELEGATE), ADMIN),
            // Open to everybody, or of another table.
            _ => continue,
        };
        assert_eq!(says_admin, role == "admin", "{method} {path}");
        if let Some(token) = denied {
            assert_eq!(
                status(method, &path, token).await,
                StatusCode::FORBIDDEN,
                "{method} {path}"
            );
        }
        assert_ne!(status(method, &path, allowed).await, StatusCode::FORBIDDEN, "{method} {path}");
        checked += 1;
    }
    assert_eq!(checked, documented_calls(&hub).await.len(), "each call is in the table");
    hub.stop().await;
}

#[tokio::test]
async fn a_role_that_does_not_do_is_told_which_would() {
    let hub = guarded().await;
    for (token, method, path, needed) in [
        (READER, "POST", "/api/experience", "writer"),
        (WRITER, "DELETE", "/api/experience/1", "admin"),
        (DELEGATE, "GET", "/api/export", "admin"),
    ] {
        let answer = call(&hub, method, path, token, &json!({})).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{answer:?}");
        let message = answer.body["error"]["message"].as_str().unwrap();
        assert!(message.contains(&format!("needs the role {needed}")), "{message}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn each_role_may_do_what_those_before_it_may() {
    let hub = guarded().await;
    let report = json!({ "name": "uv", "task": "安装依赖" });
    let for_other = json!({ "name": "uv", "task": "安装依赖", "on_behalf_of": "agent/1" });
    for (token, reads, writes, delegates) in [
        (READER, 200, 403, 403),
        (WRITER, 200, 201, 403),
        (DELEGATE, 200, 201, 201),
        (ADMIN, 200, 201, 201),
    ] {
        let path = "/api/experience";
        let read = call(&hub, "GET", "/api/search?q=uv", token, &json!({})).await;
        assert_eq!(read.status, reads, "{token}");
        assert_eq!(call(&hub, "POST", path, token, &report).await.status, writes, "{token}");
        assert_eq!(call(&hub, "POST", path, token, &for_other).await.status, delegates, "{token}");
    }
    let found = call(&hub, "GET", "/api/search?q=uv", READER, &json!({})).await.body;
    let stored = &found["results"][0]["relevant_experiences"];
    let mut stamps: Vec<_> = stored
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (one["authenticated_as"].as_str().unwrap(), one["on_behalf_of"].as_str().unwrap())
        })
        .collect();
    stamps.sort_unstable();
    assert_eq!(stamps, [("a", ""), ("a", "im:agent/1"), ("d", ""), ("d", "im:agent/1"), ("w", "")]);
    hub.stop().await;
}

#[tokio::test]
async fn a_caller_is_told_whom_the_hub_takes_it_for() {
    let hub = guarded().await;
    for (token, name, role) in [
        (READER, "r", "reader"),
        (WRITER, "w", "writer"),
        (DELEGATE, "d", "delegate"),
        (ADMIN, "a", "admin"),
    ] {
        let answer = call(&hub, "GET", "/api/whoami", token, &json!({})).await;
        assert_eq!(answer.body, json!({ "name": name, "role": role, "needs_token": true }));
    }
    hub.stop().await;
    let hub = TestHub::start().await;
    let answer = hub.get("/api/whoami").await;
    assert_eq!(answer.body, json!({ "name": "local", "role": "admin", "needs_token": false }));
    hub.stop().await;
}

#[tokio::test]
async fn verdicts_of_two_contacts_that_one_delegate_tells_both_count() {
    let hub = guarded().await;
    let record = json!({ "task": "t", "content": "c" });
    let made = call(&hub, "POST", "/api/knowledge", WRITER, &record).await;
    let id = made.body["id"].as_str().unwrap();
    let path = format!("/api/knowledge/{id}");
    let evaluated = |verdict: &str, contact: &str| {
        json!({ "trace_id": "t", "on_behalf_of": contact, "evaluations": [{ "knowledge_id": id,
            "injected_at_sequence": 1, "eval_status": verdict, "reason": "r" }] })
    };
    for (contact, duplicate) in [("agent/1", false), ("agent/2", false), ("agent/1", true)] {
        let body = evaluated("helpful", contact);
        let answer = call(&hub, "POST", "/api/knowledge/evaluations", DELEGATE, &body).await;
        let result = &answer.body["results"][0];
        assert_eq!((&result["ok"], result["duplicate"] == true), (&json!(true), duplicate));
    }
    let batch = json!({ "feedback_list": [{ "knowledge_id": id, "is_effective": true }],
        "on_behalf_of": "agent/1" });
    let feedback =
        json!({ "add_helpful_case": "x", "evolve_feedback": "y", "on_behalf_of": "agent/2" });
    for (method, path, body) in [
        ("POST", "/api/knowledge/batch_update", &batch),
        ("PUT", &path, &feedback),
        ("POST", "/api/knowledge/evaluations", &evaluated("helpful", "agent/3")),
    ] {
        assert_eq!(call(&hub, method, path, WRITER, body).await.status, 403, "{method} {path}");
        assert_eq!(call(&hub, method, path, DELEGATE, body).await.status, 200, "{method} {path}");
    }
    let stored = call(&hub, "GET", &path, READER, &json!({})).await.body;
    let judges: Vec<_> = stored["eval"]["helpful_history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| case["by"].as_str().unwrap())
        .collect();
    let (one, two, three) = ("d for im:agent/1", "d for im:agent/2", "d for im:agent/3");
    assert_eq!(judges, [one, two, one, two, three]);
    let said = call(&hub, "GET", &format!("{path}/feedback"), READER, &json!({})).await.body;
    assert_eq!(said["results"][0]["authenticated_as"], two);
    hub.stop().await;
}

#[tokio::test]
async fn a_repeated_verdict_is_that_of_its_contact() {
    let hub = guarded().await;
    let record = json!({ "task": "t", "content": "c" });
    let made = call(&hub, "POST", "/api/knowledge", WRITER, &record).await;
    let path = format!("/api/knowledge/{}", made.body["id"].as_str().unwrap());
    let authorization = format!("Bearer {DELEGATE}");
    let headers = [("authorization", authorization.as_str()), ("idempotency-key", "k")];
    for contact in ["agent/1", "agent/2", "agent/1"] {
        let body = json!({ "add_helpful_case": "x", "on_behalf_of": contact });
        assert_eq!(hub.call(Method::PUT, &path, &headers, Some(&body)).await.status, 200);
    }
    let stored = call(&hub, "GET", &path, READER, &json!({})).await.body;
    assert_eq!(stored["eval"]["helpful"], 2, "one of each contact");
    hub.stop().await;
}

#[tokio::test]
async fn a_contact_is_refused_where_it_would_be_passed_over() {
    let hub = guarded().await;
    let id = "knowledge-20260305-a1b2";
    let path = format!("/api/knowledge/{id}");
    for (method, path, mut body) in [
        ("PATCH", path.clone(), json!({ "content": "c" })),
        ("POST", format!("{path}/verify"), json!({ "action": "approve" })),
        ("POST", format!("{path}/relationships"), json!({ "type": "conflict", "target": id })),
        (
            "POST",
            "/api/knowledge/batch_verify".to_owned(),
            json!({ "knowledge_ids": [id], "action": "approve" }),
        ),
        ("POST", "/api/reseal".to_owned(), json!({})),
    ] {
        body["on_behalf_of"] = json!("agent/1");
        let answer = call(&hub, method, &path, ADMIN, &body).await;
        let field = &answer.body["error"]["field"];
        assert_eq!((answer.status.as_u16(), field), (422, &json!("on_behalf_of")), "{answer:?}");
        body["on_behalf_of"] = Value::Null;
        let absent = call(&hub, method, &path, ADMIN, &body).await;
        assert_ne!(absent.body["error"]["field"], "on_behalf_of", "{absent:?}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn without_tokens_everybody_is_local() {
    let hub = TestHub::start().await;
    let report = json!({ "name": "uv", "task": "安装依赖", "authenticated_as": "somebody" });
    let answer = call(&hub, "POST", "/api/experience", "whatever", &report).await;
    assert_eq!(answer.status, StatusCode::CREATED);
    let found = hub.get("/api/search?q=uv").await.body;
    assert_eq!(found["results"][0]["relevant_experiences"][0]["authenticated_as"], "local");
    hub.stop().await;
}

#[tokio::test]
async fn an_idempotency_key_belongs_to_its_principal() {
    let hub = guarded().await;
    let post = async |token: &str, body: Value| {
        let request = Request::post("/api/experience")
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .header("idempotency-key", "k-1");
        hub.send(request.body(Body::from(body.to_string())).unwrap()).await
    };
    let mine = post(WRITER, json!({ "name": "uv", "task": "mine" })).await;
    let theirs = post(ADMIN, json!({ "name": "uv", "task": "theirs" })).await;
    assert_eq!((mine.status, theirs.status), (StatusCode::CREATED, StatusCode::CREATED));
    assert_ne!(mine.body["id"], theirs.body["id"]);
    let again = post(WRITER, json!({ "name": "uv", "task": "mine" })).await;
    assert_eq!(again.body, mine.body);
    assert_eq!(again.headers["idempotent-replay"], "true");
    let for_other = json!({ "name": "uv", "task": "theirs", "on_behalf_of": "agent/1" });
    let again = post(ADMIN, for_other).await;
    assert_eq!(again.body, theirs.body, "for whom it is sent does not make it another");
    hub.stop().await;
}

#[tokio::test]
async fn who_comes_too_often_is_told_when_to_come_back() {
    let tokens = tokens();
    let hub = TestHub::with_flags(&[
        "--knowhub-tokens",
        &tokens,
        "--knowhub-rate-limit",
        "1",
        "--knowhub-rate-burst",
        "3",
    ])
    .await;
    let mut answers = Vec::new();
    for _ in 0..8 {
        answers.push(call(&hub, "GET", "/api/search?q=a", READER, &json!({})).await);
    }
    let limited = answers.iter().find(|answer| answer.status == 429).expect("the burst is 3");
    assert_eq!(limited.body["error"]["code"], "rate_limited");
    assert_eq!(limited.headers["retry-after"], "1");
    let other = call(&hub, "GET", "/api/search?q=a", WRITER, &json!({})).await;
    assert_eq!(other.status, StatusCode::OK, "another name is not held up");
    assert_eq!(hub.get("/readyz").await.status, StatusCode::OK);
    hub.stop().await;
}

#[tokio::test]
async fn tokens_follow_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    let line = |token: &str| format!("# agents\nci:writer:{token}\n");
    fs::write(&path, line(WRITER)).unwrap();
    // Probing for the change asks more often than strangers may.
    let no_limit = ["--knowhub-rate-limit", "0"];
    let tokens_file = ["--knowhub-tokens-file", path.to_str().unwrap()];
    let hub = TestHub::with_flags(&[tokens_file, no_limit].concat()).await;
    let status =
        async |token: &str| call(&hub, "GET", "/api/search?q=a", token, &json!({})).await.status;
    assert_eq!(status(WRITER).await, StatusCode::OK);
    // Two tokens are in force while clients change over.
    fs::write(&path, format!("{}other:writer:{DELEGATE}\n", line(WRITER))).unwrap();
    until(async || status(DELEGATE).await == StatusCode::OK).await;

    fs::write(&path, line(ADMIN)).unwrap();
    until(async || status(ADMIN).await == StatusCode::OK).await;
    assert_eq!(status(WRITER).await, StatusCode::UNAUTHORIZED);
    assert_eq!(status(DELEGATE).await, StatusCode::UNAUTHORIZED);
    hub.stop().await;
}

fn refusal(folder: &TempDir, more: &[&str]) -> String {
    let db = folder.path().join("hub.db");
    let args = ["knowhub-server", "--knowhub-db", db.to_str().unwrap()];
    let config = match Config::try_parse_from(args.iter().chain(more)) {
        Ok(config) => config,
        Err(err) => return err.to_string(),
    };
    match Hub::open(&config) {
        Ok(_) => panic!("opened with {more:?}"),
        Err(err) => chain(&err),
    }
}

fn chain(err: &Error) -> String {
    service::logging::chain(err)
}

#[tokio::test]
async fn a_bad_setting_stops_the_start_and_shows_no_token() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens");
    let file = file.to_str().unwrap();
    fs::write(Path::new(file), "a:writer:short\n").unwrap();
    let two = format!("a:writer:{WRITER},b:owner:{READER}");
    for (args, told) in [
        (&["--knowhub-tokens", ""][..], "KNOWHUB_TOKENS"),
        (&["--knowhub-tokens", &two], "entry 2: a role must be"),
        (&["--knowhub-tokens", &two, "--knowhub-tokens-file", file], "both set"),
        (&["--knowhub-tokens-file", "/no/such/file"], "KNOWHUB_TOKENS_FILE"),
        (&["--knowhub-tokens-file", file], "line 1: a token must be 16"),
        (&["--knowhub-rate-limit=-1"], "KNOWHUB_RATE_LIMIT"),
        (&["--knowhub-rate-burst", "0"], "KNOWHUB_RATE_BURST"),
        (&["--knowhub-origins", "https://ui.example/"], "KNOWHUB_ORIGINS"),
        (&["--knowhub-origins", "*"], "KNOWHUB_ORIGINS"),
        (&["--knowhub-hosts", "hub.example:8000"], "KNOWHUB_HOSTS"),
    ] {
        let text = refusal(&folder, args);
        assert!(text.contains(told), "{args:?}: {text}");
        assert!(!text.contains(READER) && !text.contains("short"), "shows a token: {text}");
    }
}

#[tokio::test]
async fn a_likely_secret_is_refused_before_anything_is_stored() {
    let hub = TestHub::start().await;
    let secret = format!("ghp_{}", "q7Zk2XvB9mRt4WnC8pLs5HgD3fJy6TaE1uVi");
    for (path, field, change) in [
        ("/api/experience", "name", json!({ "name": secret })),
        ("/api/experience", "tips", json!({ "tips": format!("用 {secret}") })),
        ("/api/experience", "url", json!({ "url": "https://me:Xk29fjQp7wZ@git.example" })),
        ("/api/knowledge", "content", json!({ "content": secret })),
        ("/api/knowledge", "tags.key", json!({ "tags": { "key": secret } })),
        ("/api/knowledge", "source.urls[1]", json!({ "source": { "urls": ["x", secret] } })),
        ("/api/knowledge", "source.agent_id", json!({ "source": { "agent_id": secret } })),
        ("/api/knowledge", "resource_ids[0]", json!({ "resource_ids": [secret] })),
    ] {
        let content = format!("见 {field}");
        let mut body = json!({ "name": "gh", "task": "部署服务", "content": content });
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let answer = hub.post(path, &body).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{field}");
        let error = &answer.body["error"];
        assert_eq!((&error["code"], &error["field"]), (&json!("likely_secret"), &json!(field)));
        assert!(error["message"].as_str().unwrap().contains("secure_body"), "{error}");
        assert!(!error.to_string().contains(&secret), "{error}");

        let allowed = hub.post_with(path, &body, &[("x-allow-likely-secret", "true")]).await;
        assert_eq!(allowed.status, StatusCode::CREATED, "{field}");
        let odd = hub.post_with(path, &body, &[("x-allow-likely-secret", "yes")]).await;
        assert_eq!(odd.body["error"]["field"], "x-allow-likely-secret");
    }
    assert_eq!(hub.ids("部署服务").await.len(), 5, "only what was let in");
    hub.stop().await;
}

#[tokio::test]
async fn a_likely_secret_is_refused_as_a_reason_too() {
    let hub = TestHub::start().await;
    let secret = format!("ghp_{}", "q7Zk2XvB9mRt4WnC8pLs5HgD3fJy6TaE1uVi");
    let experience = hub.add_experience(json!({})).await;
    let (one, other) = (hub.add_knowledge(json!({})).await, hub.add_knowledge(json!({})).await);
    hub.post("/api/resource", &json!({ "id": "notes" })).await;
    for (method, path, body) in [
        (Method::DELETE, format!("/api/experience/{experience}"), None),
        (Method::DELETE, format!("/api/knowledge/{one}"), None),
        (Method::DELETE, "/api/resource/notes".to_owned(), None),
        (Method::POST, "/api/knowledge/batch_delete".to_owned(), Some(json!([other]))),
    ] {
        let path = format!("{path}?reason=leaked%20{secret}");
        let delete = async |headers: &[(&str, &str)]| {
            hub.call(method.clone(), &path, headers, body.as_ref()).await
        };
        let refused = delete(&[]).await;
        let error = &refused.body["error"];
        assert_eq!((&error["code"], &error["field"]), (&json!("likely_secret"), &json!("reason")));
        let allowed = delete(&[("x-allow-likely-secret", "true")]).await;
        assert_eq!(allowed.status, StatusCode::OK, "{path}: it was there until now");
    }
    hub.stop().await;
}

#[tokio::test]
async fn listed_pages_may_ask_and_read_without_cookies() {
    let hub = TestHub::with_flags(&["--knowhub-origins", "https://ui.example"]).await;
    let preflight = |origin: &'static str| {
        Request::options("/api/experience")
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "authorization,content-type,x-org-key")
            .body(Body::empty())
            .unwrap()
    };
    let answer = hub.raw(preflight("https://ui.example")).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let header = |name: &str| answer.headers()[name].to_str().unwrap().to_ascii_lowercase();
    assert_eq!(header("access-control-allow-origin"), "https://ui.example");
    assert!(header("access-control-allow-methods").contains("patch"));
    for name in [
        "authorization",
        "content-type",
        "x-org-key",
        "if-match",
        "if-none-match",
        "idempotency-key",
    ] {
        assert!(header("access-control-allow-headers").contains(name), "{name}");
    }
    assert!(!answer.headers().contains_key("access-control-allow-credentials"));
    assert!(answer.headers().contains_key("x-request-id"));

    let request = Request::get("/api/search?q=a").header("origin", "https://ui.example");
    let answer = hub.raw(request.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.headers()["access-control-allow-origin"], "https://ui.example");
    let exposed = answer.headers()["access-control-expose-headers"].to_str().unwrap();
    for name in ["etag", "x-request-id", "idempotent-replay"] {
        assert!(exposed.contains(name), "{exposed}");
    }
    let answer = hub.raw(preflight("https://evil.example")).await;
    assert!(!answer.headers().contains_key("access-control-allow-origin"));
    hub.stop().await;
}
