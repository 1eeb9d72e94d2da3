//! Resources: stored, changed field by field, listed, and read together with the experiences of their name.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{TestHub, encoded, strings};

#[tokio::test]
async fn a_resource_is_stored_complete() {
    let hub = TestHub::start().await;
    let report = json!({
        "id": "acme/snippets/重试", "title": "Retry", "body": "fn retry() {}", "content_type": "code",
        "metadata": { "language": "rust", "tested": { "on": ["linux"] } }, "sort_order": -3,
        "submitted_by": "me@example.com", "unknown": "ignored",
    });
    let stored = hub.post("/api/resource", &report).await;
    assert_eq!(stored.status, StatusCode::CREATED, "{stored:?}");
    assert_eq!(stored.body, json!({ "id": "acme/snippets/重试", "version": 1, "created": true }));
    assert_eq!(stored.headers["etag"], "\"1\"");

    let shown = hub.get("/api/resource/acme/snippets/%E9%87%8D%E8%AF%95").await;
    assert_eq!(shown.headers["etag"], "\"1\"");
    assert_eq!(shown.headers["cache-control"], "no-store");
    for field in ["id", "title", "body", "content_type", "metadata", "sort_order", "submitted_by"] {
        assert_eq!(shown.body[field], report[field], "{field}");
    }
    assert_eq!(
        (&shown.body["secure_body"], &shown.body["authenticated_as"]),
        (&json!(""), &json!("local"))
    );
    assert_eq!(shown.body["created_at"], shown.body["updated_at"]);
    assert_eq!(shown.body["experience_count"], 0);
    hub.stop().await;
}

#[tokio::test]
async fn both_readings_come_in_one_answer() {
    let hub = TestHub::start().await;
    let name = "Attention Is All You Need";
    hub.post("/api/content", &json!({ "id": "attention-paper", "title": name, "body": "…" })).await;
    for (score, content_id) in
        [(json!(5), "attention-paper"), (json!(null), "nowhere"), (json!(2), "")]
    {
        let url = "https://arxiv.org/abs/1706.03762";
        hub.add_experience(
            json!({ "name": name, "url": url, "score": score, "content_id": content_id }),
        )
        .await;
    }
    hub.add_experience(json!({ "name": "attention is all you need" })).await;

    let read = hub.get("/api/resource/Attention%20Is%20All%20You%20Need").await.body;
    assert_eq!((&read["name"], &read["id"]), (&json!(name), &Value::Null));
    assert_eq!((&read["experience_count"], &read["avg_score"]), (&json!(3), &json!(3.5)));
    assert_eq!(read["url"], "https://arxiv.org/abs/1706.03762");
    assert_eq!(read["contents"], json!([{ "id": "attention-paper", "title": name }]));
    let numbers: Vec<i64> = read["experiences"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_i64().unwrap())
        .collect();
    assert_eq!(numbers, [3, 2, 1], "newest first");

    let page =
        hub.get("/api/resource/Attention%20Is%20All%20You%20Need?page=2&page_size=2").await.body;
    assert_eq!(page["experiences"].as_array().unwrap().len(), 1);
    assert_eq!((&page["page"], &page["page_size"]), (&json!(2), &json!(2)));

    hub.add_experience(json!({ "name": "attention-paper" })).await;
    let both = hub.get("/api/resource/attention-paper").await.body;
    assert_eq!((&both["title"], &both["experience_count"]), (&json!(name), &json!(1)));
    hub.stop().await;
}

#[tokio::test]
async fn any_text_may_be_a_name() {
    let hub = TestHub::start().await;
    for name in [
        "100% _sure_",
        "a/b c",
        "论文：注意力",
        "../etc",
        "a//b",
        "x?y=z&#",
        "'; DROP TABLE resources; --",
    ] {
        hub.add_experience(json!({ "name": name })).await;
        let read = hub.get(&format!("/api/resource/{}", encoded(name))).await;
        assert_eq!((read.status, &read.body["name"]), (StatusCode::OK, &json!(name)), "{name}");
    }
    for absent in ["nothing", "100%25", "%20", "a/b"] {
        let answer = hub.get(&format!("/api/resource/{absent}")).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{absent}: {answer:?}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn a_patch_changes_what_it_names() {
    let hub = TestHub::start().await;
    let first = json!({ "id": "notes", "title": "A", "body": "b", "metadata": { "language": "zh", "x": 1 } });
    hub.post("/api/resource", &first).await;
    let patch = json!({ "title": "B", "metadata": { "x": null, "y": 2 }, "body": null });
    let changed = hub.call(Method::PATCH, "/api/resource/notes", &[], Some(&patch)).await;
    assert_eq!(changed.status, StatusCode::OK, "{changed:?}");
    assert_eq!(changed.body, json!({ "id": "notes", "version": 2, "created": false }));
    let shown = hub.get("/api/resource/notes").await.body;
    assert_eq!((&shown["title"], &shown["body"]), (&json!("B"), &json!("b")));
    assert_eq!(shown["metadata"], json!({ "language": "zh", "y": 2 }));

    for (path, body, status, field) in [
        ("notes", json!({}), StatusCode::UNPROCESSABLE_ENTITY, json!(null)),
        ("notes", json!({ "unknown": 1 }), StatusCode::UNPROCESSABLE_ENTITY, json!(null)),
        ("notes", json!({ "body": 7 }), StatusCode::UNPROCESSABLE_ENTITY, json!("body")),
        (
            "notes",
            json!({ "content_type": "video" }),
            StatusCode::UNPROCESSABLE_ENTITY,
            json!("content_type"),
        ),
        (
            "notes",
            json!({ "secure_body": "[ENCRYPTED]" }),
            StatusCode::UNPROCESSABLE_ENTITY,
            json!("secure_body"),
        ),
        ("absent", json!({ "body": "x" }), StatusCode::NOT_FOUND, json!(null)),
        ("a%20b", json!({ "body": "x" }), StatusCode::NOT_FOUND, json!(null)),
    ] {
        let answer =
            hub.call(Method::PATCH, &format!("/api/resource/{path}"), &[], Some(&body)).await;
        assert_eq!(
            (answer.status, &answer.body["error"]["field"]),
            (status, &field),
            "{body}: {answer:?}"
        );
    }
    assert_eq!(hub.get("/api/resource/notes").await.body["version"], 2);
    hub.stop().await;
}

#[tokio::test]
async fn metadata_nests_to_a_bound() {
    let hub = TestHub::start().await;
    let metadata = |depth: usize| (1..depth).fold(json!({}), |inner, _| json!({ "a": inner }));
    let resource = |depth| json!({ "id": "deep", "metadata": metadata(depth) });
    assert_eq!(hub.post("/api/resource", &resource(32)).await.status, StatusCode::CREATED);
    for depth in [33, 120] {
        let refused = hub.post("/api/resource", &resource(depth)).await;
        assert_eq!(
            (refused.status.as_u16(), &refused.body["error"]["field"]),
            (422, &json!("metadata"))
        );
        let patch = json!({ "metadata": metadata(depth) });
        let refused = hub.call(Method::PATCH, "/api/resource/deep", &[], Some(&patch)).await;
        assert_eq!(
            (refused.status.as_u16(), &refused.body["error"]["field"]),
            (422, &json!("metadata"))
        );
    }
    assert_eq!(hub.get("/api/resource/deep").await.body["metadata"], metadata(32));
    hub.stop().await;
}

#[tokio::test]
async fn an_expired_cookie_is_said_to_be_expired() {
    let hub = TestHub::start().await;
    for (id, end) in [("old", "2020-01-01T00:00:00Z"), ("new", "2999-01-01T00:00:00+08:00")] {
        let metadata = json!({ "acquired_at": "2019-12-01T00:00:00Z", "expires_at": end });
        let body = json!({ "id": id, "content_type": "cookie", "metadata": metadata });
        assert_eq!(hub.post("/api/resource", &body).await.status, StatusCode::CREATED);
    }
    for (path, old) in [("resource", json!(true)), ("content", json!(true))] {
        assert_eq!(hub.get(&format!("/api/{path}/old")).await.body["expired"], old);
        assert_eq!(hub.get(&format!("/api/{path}/new")).await.body["expired"], Value::Null);
    }
    let list = hub.get("/api/resource?content_type=cookie").await.body;
    assert_eq!(strings(&list["results"], "id"), ["new", "old"]);
    assert_eq!(
        (&list["results"][0]["expired"], &list["results"][1]["expired"]),
        (&Value::Null, &json!(true))
    );
    let body = json!({ "id": "bad", "metadata": { "expires_at": "2026-03-05 10:00:00" } });
    let answer = hub.post("/api/resource", &body).await;
    assert_eq!(answer.body["error"]["field"], "metadata.expires_at", "{answer:?}");
    hub.stop().await;
}

#[tokio::test]
async fn a_prefix_is_a_path_and_no_pattern() {
    let hub = TestHub::start().await;
    for id in ["a", "a/b", "a/b/c", "ab", "a_", "a_/b", "a%/b", "A/b", "ax/b", "a-/b", "a0"] {
        hub.post("/api/resource", &json!({ "id": id, "body": "x".repeat(300) })).await;
    }
    for (prefix, expected) in [
        ("a", &["a", "a/b", "a/b/c"][..]),
        ("a/", &["a", "a/b", "a/b/c"]),
        ("a/b", &["a/b", "a/b/c"]),
        ("a_", &["a_", "a_/b"]),
        ("a%", &["a%/b"]),
        ("A", &["A/b"]),
        ("nothing", &[]),
    ] {
        let list = hub.find("/api/resource", &[("prefix", prefix)]).await.body;
        assert_eq!(strings(&list["results"], "id"), expected, "{prefix}");
        assert_eq!(list["total"], expected.len(), "{prefix}");
    }
    let all = hub.get("/api/resource?page=2&page_size=4").await.body;
    assert_eq!((&all["total"], &all["page"]), (&json!(11), &json!(2)));
    assert_eq!(strings(&all["results"], "id"), ["a/b", "a/b/c", "a0", "a_"]);
    assert_eq!(all["results"][0]["excerpt"], "x".repeat(200));
    assert_eq!(all["results"][0]["body"], Value::Null);
    for (name, value) in
        [("prefix", "a b"), ("content_type", "video"), ("page", "0"), ("page_size", "101")]
    {
        let answer = hub.find("/api/resource", &[(name, value)]).await;
        assert_eq!(answer.body["error"]["field"], name, "{answer:?}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn a_search_finds_titles_and_bodies_but_no_secret() {
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let hub = TestHub::with_flags(&["--org-keys", &format!("acme:{key}")]).await;
    for body in [
        json!({ "id": "acme/login", "title": "登录 Login", "secure_body": "zanzibar" }),
        json!({ "id": "acme/retry", "body": "retry with backoff", "content_type": "code" }),
        json!({ "id": "other/retry", "body": "never retry" }),
    ] {
        assert_eq!(hub.post("/api/resource", &body).await.status, StatusCode::CREATED);
    }
    for (params, expected) in [
        (&[("q", "登录")][..], &["acme/login"][..]),
        (&[("q", "zanzibar")], &[]),
        (&[("q", "retry"), ("prefix", "acme")], &["acme/retry"]),
        (&[("q", "retry"), ("content_type", "text")], &["other/retry"]),
    ] {
        let found = hub.find("/api/resource", params).await.body;
        assert_eq!(strings(&found["results"], "id"), expected, "{params:?}");
        assert_eq!(found["total"], expected.len());
    }
    hub.call(Method::DELETE, "/api/resource/acme/retry", &[], None).await;
    let found = hub.find("/api/resource", &[("q", "retry")]).await.body;
    assert_eq!(strings(&found["results"], "id"), ["other/retry"], "what is deleted is not found");
    let blank = hub.find("/api/resource", &[("q", " ")]).await;
    assert_eq!(blank.body["error"]["field"], "q", "{blank:?}");
    hub.stop().await;
}

#[tokio::test]
async fn nobody_overwrites_what_they_have_not_read() {
    let hub = TestHub::start().await;
    let body = |text: &str| json!({ "id": "notes", "body": text });
    let write = async |tag: &str, text: &str| {
        hub.post_with("/api/resource", &body(text), &[("if-match", tag)]).await
    };
    let none = write("*", "x").await;
    assert_eq!(none.status, StatusCode::PRECONDITION_FAILED, "there is none yet: {none:?}");
    hub.post("/api/resource", &body("one")).await;
    assert_eq!(write("\"1\"", "two").await.status, StatusCode::OK);
    let late = write("\"1\"", "three").await;
    assert_eq!(late.status, StatusCode::PRECONDITION_FAILED);
    assert_eq!(late.body["error"]["code"], "precondition_failed");
    assert!(late.body["error"]["message"].as_str().unwrap().contains("version 2"), "{late:?}");
    let deletion =
        hub.call(Method::DELETE, "/api/resource/notes", &[("if-match", "\"1\"")], None).await;
    assert_eq!(deletion.status, StatusCode::PRECONDITION_FAILED);
    let wrong = write("2", "three").await;
    assert_eq!(wrong.body["error"]["field"], "if-match");
    assert_eq!(write("\"9\", \"2\"", "three").await.status, StatusCode::OK);
    assert_eq!(hub.get("/api/content/notes").await.body["body"], "three");

    let race = (0..16).map(|n| {
        let (hub, body) = (&hub, body(&format!("racer {n}")));
        async move { hub.post_with("/api/content", &body, &[("if-match", "\"3\"")]).await.status }
    });
    let statuses = futures_util::future::join_all(race).await;
    assert_eq!(statuses.iter().filter(|status| **status == StatusCode::OK).count(), 1);
    hub.stop().await;
}

#[tokio::test]
async fn metadata_keeps_its_numbers() {
    let hub = TestHub::start().await;
    let text = r#"{"a":4.0,"b":-0.0,"c":18446744073709551615,"d":0.1,"e":[1e10,3]}"#;
    let metadata: Value = serde_json::from_str(text).unwrap();
    hub.post("/api/resource", &json!({ "id": "notes", "metadata": metadata })).await;
    let shown = hub.get("/api/content/notes").await.body["metadata"].to_string();
    assert_eq!(shown, text.replace("1e10", "10000000000.0"));
    let large: Value = serde_json::from_str(r#"{"n":12345678901234567890123}"#).unwrap();
    let patch = json!({ "metadata": large });
    let refused = hub.call(Method::PATCH, "/api/resource/notes", &[], Some(&patch)).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(refused.body["error"]["field"], "metadata", "{refused:?}");
    hub.stop().await;
}

#[tokio::test]
async fn likely_secrets_are_refused_in_plain_fields() {
    let hub = TestHub::start().await;
    let key = concat!("AKIA", "Z7KQ3WX5PLM2RT6V");
    for (body, field) in [
        (json!({ "id": "a", "body": format!("aws_access_key_id = {key}") }), "body"),
        (json!({ "id": "a", "metadata": { "note": key } }), "metadata.note"),
        (json!({ "id": "a", "metadata": { key: "x" } }), "metadata"),
        (json!({ "id": "a", "metadata": { "a": { key: 1 } } }), "metadata.a"),
        (
            json!({ "id": "a", "metadata": { "password": "f8d3Kx92mZpQ7vLw4TnB" } }),
            "metadata.password",
        ),
    ] {
        let answer = hub.post("/api/resource", &body).await;
        assert_eq!(answer.body["error"]["code"], "likely_secret", "{answer:?}");
        assert_eq!(answer.body["error"]["field"], field);
        assert!(!answer.body.to_string().contains(key));
    }
    let typo = json!({ "task": "t", "content": "c", "tags": { key: 5 } });
    let answer = hub.post("/api/knowledge", &typo).await;
    assert_eq!(answer.body["error"]["field"], "tags", "{answer:?}");
    assert!(!answer.body.to_string().contains(key));
    hub.stop().await;
}
