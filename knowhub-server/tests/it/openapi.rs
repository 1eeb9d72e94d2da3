//! The OpenAPI document says what the routes do, and can be read in a browser.

use crate::harness::TestHub;
use axum::{
    body::{Body, to_bytes},
    http::Request,
};
use serde_json::{Map, Value};

async fn document(hub: &TestHub) -> Value {
    let answer = hub.get("/api/openapi.json").await;
    assert_eq!(answer.status, 200);
    answer.body
}

/// Returns each operation with its method and path.
fn operations(document: &Value) -> Vec<(String, &Map<String, Value>)> {
    let paths = document["paths"].as_object().unwrap();
    let of_path = |(path, item): (&String, &'_ Value)| {
        let item = item.as_object().unwrap();
        item.iter().map(|(method, _)| format!("{method} {path}")).collect::<Vec<_>>()
    };
    let named = |name: String| {
        let (method, path) = name.split_once(' ').unwrap();
        let operation = document["paths"][path][method].as_object().unwrap();
        (name.clone(), operation)
    };
    paths.iter().flat_map(of_path).map(named).collect()
}

#[tokio::test]
async fn every_operation_says_what_it_does_and_how_it_fails() {
    let hub = TestHub::start().await;
    let document = document(&hub).await;
    let known_tags: Vec<_> =
        document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].clone()).collect();
    let operations = operations(&document);
    assert!(operations.len() >= 5, "{operations:?}");
    let mut ids = Vec::new();
    for (name, operation) in operations {
        assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
        let tags = operation["tags"].as_array().unwrap();
        assert!(tags.len() == 1 && known_tags.contains(&tags[0]), "{name}: {tags:?}");
        ids.push(operation["operationId"].as_str().unwrap());
        let responses = operation["responses"].as_object().unwrap();
        let mut expected = vec!["401", "403", "429", "500", "503"];
        if operation.contains_key("requestBody") {
            expected.extend(["400", "413", "415", "422"]);
        }
        for status in expected {
            let kind =
                &responses.get(status).unwrap_or(&Value::Null)["content"]["application/json"];
            assert_eq!(kind["schema"]["$ref"], "#/components/schemas/ErrorBody", "{name} {status}");
        }
        for (status, response) in responses {
            assert!(response["headers"]["x-request-id"].is_object(), "{name} {status}");
        }
        assert!(responses["429"]["headers"]["retry-after"].is_object(), "{name}");
        let takes = |header: &str| {
            let parameters = operation.get("parameters").and_then(Value::as_array);
            parameters.is_some_and(|all| all.iter().any(|parameter| parameter["name"] == header))
        };
        let is_write = name.starts_with("post ") || name.starts_with("put ");
        assert_eq!(takes("idempotency-key"), is_write && name != "post /api/import", "{name}");
        let has_text = operation.contains_key("requestBody") || takes("reason");
        assert_eq!(takes("x-allow-likely-secret"), has_text, "{name}");
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "operation ids are unique");
    hub.stop().await;
}

#[tokio::test]
async fn the_head_names_this_version_and_the_token() {
    let hub = TestHub::start().await;
    let document = document(&hub).await;
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(document["components"]["securitySchemes"]["token"]["scheme"], "bearer");
    let bounds = &document["components"]["schemas"]["NewExperience"]["properties"]["name"];
    assert_eq!((&bounds["minLength"], &bounds["maxLength"]), (&1.into(), &2_000.into()));
    hub.stop().await;
}

#[tokio::test]
async fn an_import_says_what_it_takes_and_why_it_may_be_repeated() {
    let hub = TestHub::start().await;
    let document = document(&hub).await;
    let import = &document["paths"]["/api/import"]["post"];
    let kinds: Vec<_> = import["requestBody"]["content"].as_object().unwrap().keys().collect();
    assert_eq!(kinds, ["application/vnd.sqlite3", "application/x-ndjson"]);
    let description = import["description"].as_str().unwrap();
    assert!(description.contains("no `Idempotency-Key`: "), "{description}");
    hub.stop().await;
}

#[tokio::test]
async fn every_reference_leads_to_a_schema() {
    fn visit(value: &Value, document: &Value) {
        match value {
            Value::Object(map) => {
                if let Some(path) = map.get("$ref").and_then(Value::as_str) {
                    let found = document.pointer(path.strip_prefix('#').unwrap());
                    assert!(found.is_some(), "{path} leads nowhere");
                }
                map.values().for_each(|value| visit(value, document));
            }
            Value::Array(list) => list.iter().for_each(|value| visit(value, document)),
            _ => {}
        }
    }
    let hub = TestHub::start().await;
    let document = document(&hub).await;
    visit(&document, &document);
    hub.stop().await;
}

#[tokio::test]
async fn the_page_is_served_whole() {
    let hub = TestHub::start().await;
    for (path, kind, part) in [
        ("/docs/", "text/html", "swagger-ui"),
        ("/docs/swagger-initializer.js", "text/javascript", "/api/openapi.json"),
        ("/docs/swagger-ui.css", "text/css", ".swagger-ui"),
        ("/docs/swagger-ui-bundle.js", "text/javascript", "SwaggerUI"),
    ] {
        let response = hub.raw(Request::get(path).body(Body::empty()).unwrap()).await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(
            response.headers()["content-type"].to_str().unwrap().split(';').next(),
            Some(kind),
            "{path}"
        );
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let body = String::from_utf8_lossy(&body);
        assert!(body.contains(part), "{path}");
        if kind == "text/html" {
            assert!(
                !body.contains("//cdn") && !body.contains("https://"),
                "loads from elsewhere: {body}"
            );
        }
    }
    let response = hub.raw(Request::get("/docs").body(Body::empty()).unwrap()).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["location"]),
        (303, &"/docs/".parse().unwrap())
    );
    hub.stop().await;
}
