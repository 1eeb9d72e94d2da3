//! Secrets: sealed at rest, shown to who has the org's key, never anywhere else.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Answer, TestHub, config_with, files_hold};

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const NEW_KEY: &str = "Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA=";
const OTHER_KEY: &str = "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=";
const SECRET: &str = "correct horse 电池 staple";

async fn start(folder: TempDir, org_keys: &str) -> TestHub {
    let config = config_with(&folder, &["--org-keys", org_keys]);
    TestHub::start_with(folder, &config).await
}

/// A hub with a sealed login of the org `acme`.
async fn sealed() -> TestHub {
    let hub = start(tempfile::tempdir().unwrap(), &format!("acme:{KEY},other:{OTHER_KEY}")).await;
    let login = json!({
        "id": "acme/login", "title": "Login", "body": "user: ann", "secure_body": SECRET,
        "content_type": "credential",
    });
    let stored = hub.post("/api/resource", &login).await;
    assert_eq!(stored.status, StatusCode::CREATED, "{stored:?}");
    hub
}

async fn read(hub: &TestHub, key: Option<&str>) -> Answer {
    let headers: Vec<_> = key.iter().map(|key| ("x-org-key", *key)).collect();
    hub.call(Method::GET, "/api/resource/acme/login", &headers, None).await
}

async fn patch(hub: &TestHub, key: Option<&str>, body: Value) -> Answer {
    let headers: Vec<_> = key.iter().map(|key| ("x-org-key", *key)).collect();
    hub.call(Method::PATCH, "/api/resource/acme/login", &headers, Some(&body)).await
}

/// Returns what one value of the stopped hub's file is.
fn query(folder: &TempDir, sql: &str) -> String {
    let db = rusqlite::Connection::open(folder.path().join("hub.db")).unwrap();
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn execute(folder: &TempDir, sql: &str) {
    let db = rusqlite::Connection::open(folder.path().join("hub.db")).unwrap();
    assert_eq!(db.execute(sql, []).unwrap(), 1, "{sql}");
}

#[tokio::test]
async fn an_id_that_cannot_be_read_keeps_no_secret_from_being_sealed_anew() {
    let hub = sealed().await;
    hub.post("/api/resource", &json!({ "id": "acme/other", "secure_body": SECRET })).await;
    let folder = hub.stop().await;
    execute(&folder, "UPDATE resources SET id = '//' WHERE id = 'acme/login'");
    let hub = start(folder, &format!("acme:{NEW_KEY},acme:{KEY}")).await;
    let done = hub.post("/api/reseal", &json!({})).await;
    assert_eq!((&done.body["resealed"], &done.body["failed"]), (&json!(1), &json!(0)), "{done:?}");
    hub.stop().await;
}

#[tokio::test]
async fn a_secret_opens_only_under_its_orgs_key() {
    let hub = sealed().await;
    assert_eq!(read(&hub, None).await.body["secure_body"], "[ENCRYPTED]");
    assert_eq!(read(&hub, Some(KEY)).await.body["secure_body"], SECRET);
    for key in [OTHER_KEY, NEW_KEY, "", "no base64", "c2hvcnQ="] {
        let answer = read(&hub, Some(key)).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{key}");
        assert_eq!(answer.body["error"]["code"], "forbidden");
        assert!(!answer.body.to_string().contains(SECRET));
    }
    let twice = [("x-org-key", KEY), ("x-org-key", KEY)];
    let twice = hub.call(Method::GET, "/api/resource/acme/login", &twice, None).await;
    assert_eq!(twice.body["error"]["field"], "x-org-key");
    let content =
        hub.call(Method::GET, "/api/content/acme/login", &[("x-org-key", KEY)], None).await;
    assert_eq!(
        (&content.body["body"], &content.body["secure_body"]),
        (&json!("user: ann"), &Value::Null)
    );
    let list =
        hub.call(Method::GET, "/api/resource?prefix=acme", &[("x-org-key", KEY)], None).await;
    assert_eq!(list.body["results"][0]["secure_body"], "[ENCRYPTED]");
    hub.stop().await;
}

#[tokio::test]
async fn nothing_on_disk_tells_the_secret() {
    let hub = sealed().await;
    patch(&hub, Some(KEY), json!({ "title": "Login page" })).await;
    let folder = hub.stop().await;
    let cell = query(&folder, "SELECT secure_body FROM resources");
    assert!(cell.starts_with("encrypted:AES256-GCM:"), "{cell}");
    assert_eq!(query(&folder, "SELECT json_extract(record, '$.secure_body') FROM versions"), cell);
    assert!(files_hold(&folder, "user: ann"), "the search looks where texts are");
    assert!(!files_hold(&folder, SECRET));
}

#[tokio::test]
async fn an_org_without_a_key_takes_no_secret() {
    let hub = sealed().await;
    for id in ["tools/selenium/login", "acm/login", "acme2"] {
        let body = json!({ "id": id, "secure_body": SECRET });
        let answer = hub.post("/api/resource", &body).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(answer.body["error"]["field"], "secure_body");
        assert!(answer.body["error"]["message"].as_str().unwrap().contains("ORG_KEYS"));
        assert_eq!(hub.get(&format!("/api/resource/{id}")).await.status, StatusCode::NOT_FOUND);
    }
    let long = json!({ "id": "acme/long", "secure_body": "x".repeat(65_537) });
    let answer = hub.post("/api/resource", &long).await;
    assert_eq!(answer.body["error"]["field"], "secure_body", "{answer:?}");
    let number = json!({ "id": "acme/pin", "secure_body": 424_242 });
    let answer = hub.post("/api/resource", &number).await;
    assert_eq!(answer.body["error"]["field"], "secure_body");
    assert!(!answer.body.to_string().contains("424242"), "{answer:?}");
    hub.stop().await;
}

#[tokio::test]
async fn a_sealed_resource_is_changed_and_deleted_only_under_the_key() {
    let hub = sealed().await;
    let whole = json!({ "id": "acme/login", "title": "Mine" });
    for key in [None, Some(OTHER_KEY)] {
        assert_eq!(
            patch(&hub, key, json!({ "title": "Mine" })).await.status,
            StatusCode::FORBIDDEN
        );
        let headers: Vec<_> = key.iter().map(|key| ("x-org-key", *key)).collect();
        let overwritten = hub.post_with("/api/resource", &whole, &headers).await;
        assert_eq!(overwritten.status, StatusCode::FORBIDDEN);
        for path in ["/api/resource/acme/login", "/api/resource/acme/login?erase=true"] {
            let deleted = hub.call(Method::DELETE, path, &headers, None).await;
            assert_eq!(deleted.status, StatusCode::FORBIDDEN);
        }
    }
    assert_eq!(read(&hub, Some(KEY)).await.body["title"], "Login");

    let overwritten = hub.post_with("/api/resource", &whole, &[("x-org-key", KEY)]).await;
    assert_eq!(overwritten.status, StatusCode::OK);
    let after = read(&hub, Some(KEY)).await.body;
    assert_eq!((&after["title"], &after["secure_body"]), (&json!("Mine"), &json!(SECRET)), "kept");
    let content = json!({ "id": "acme/login", "body": "anybody may explain it" });
    assert_eq!(hub.post("/api/content", &content).await.status, StatusCode::OK);
    assert_eq!(read(&hub, Some(KEY)).await.body["secure_body"], SECRET);
    let deleted =
        hub.call(Method::DELETE, "/api/resource/acme/login", &[("x-org-key", KEY)], None).await;
    assert_eq!(deleted.status, StatusCode::OK);
    let erasing = hub.call(Method::DELETE, "/api/resource/acme/login?erase=true", &[], None).await;
    assert_eq!(erasing.status, StatusCode::FORBIDDEN, "its versions are sealed as well");
    hub.stop().await;
}

#[tokio::test]
async fn a_secret_of_an_earlier_version_is_erased_only_under_the_key() {
    let hub = sealed().await;
    assert_eq!(patch(&hub, Some(KEY), json!({ "secure_body": "" })).await.status, StatusCode::OK);
    let path = "/api/resource/acme/login";
    let key = [("x-org-key", KEY)];
    let erase = async |headers: &[(&str, &str)]| {
        hub.call(Method::DELETE, &format!("{path}?erase=true"), headers, None).await
    };
    assert_eq!(erase(&[]).await.status, StatusCode::FORBIDDEN, "it is plain now, and was sealed");
    let deleted = hub.call(Method::DELETE, path, &[], None).await;
    assert_eq!(deleted.status, StatusCode::OK, "what is only deleted keeps its versions");
    assert_eq!(erase(&[("x-org-key", OTHER_KEY)]).await.status, StatusCode::FORBIDDEN);
    assert_eq!(hub.get("/api/versions/resource/acme/login").await.body["total"], 2);
    assert_eq!(erase(&key).await.body["erased"], true);
    hub.stop().await;
}

#[tokio::test]
async fn the_placeholder_means_unchanged_and_empty_means_gone() {
    let hub = sealed().await;
    let kept = patch(&hub, Some(KEY), json!({ "secure_body": "[ENCRYPTED]", "title": "B" })).await;
    assert_eq!(kept.status, StatusCode::OK, "{kept:?}");
    assert_eq!(read(&hub, Some(KEY)).await.body["secure_body"], SECRET);
    patch(&hub, Some(KEY), json!({ "secure_body": "second" })).await;
    assert_eq!(read(&hub, Some(KEY)).await.body["secure_body"], "second");
    patch(&hub, Some(KEY), json!({ "secure_body": "" })).await;
    assert_eq!(read(&hub, None).await.body["secure_body"], "");
    assert_eq!(
        read(&hub, Some("whatever")).await.status,
        StatusCode::OK,
        "there is nothing to open"
    );
    let fresh = json!({ "id": "acme/new", "secure_body": "[ENCRYPTED]" });
    let answer = hub.post("/api/resource", &fresh).await;
    assert_eq!(answer.body["error"]["field"], "secure_body", "{answer:?}");

    let earlier = "/api/versions/resource/acme/login?version=1";
    assert_eq!(hub.get(earlier).await.body["results"][0]["record"]["secure_body"], "[ENCRYPTED]");
    let opened = hub.call(Method::GET, earlier, &[("x-org-key", KEY)], None).await;
    assert_eq!(opened.body["results"][0]["record"]["secure_body"], SECRET);
    let wrong = hub.call(Method::GET, earlier, &[("x-org-key", OTHER_KEY)], None).await;
    assert_eq!(wrong.status, StatusCode::FORBIDDEN);
    hub.stop().await;
}

#[tokio::test]
async fn a_changed_or_moved_cell_is_a_clear_error() {
    for change in [
        "UPDATE resources SET secure_body = substr(secure_body, 1, 40) || 'AAAA' || substr(secure_body, 45)",
        "UPDATE resources SET secure_body = 'encrypted:AES256-GCM:'",
        "UPDATE resources SET id = 'acme/login' WHERE id = 'acme/elsewhere'",
    ] {
        let hub = sealed().await;
        let moved = change.contains("elsewhere");
        if moved {
            hub.post("/api/resource", &json!({ "id": "acme/elsewhere", "secure_body": SECRET }))
                .await;
            hub.call(Method::DELETE, "/api/resource/acme/login", &[("x-org-key", KEY)], None).await;
        }
        let folder = hub.stop().await;
        execute(&folder, change);
        let hub = start(folder, &format!("acme:{KEY}")).await;
        let answer = read(&hub, Some(KEY)).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{change}");
        assert_eq!(answer.body["error"]["code"], "damaged_secret");
        let message = answer.body["error"]["message"].as_str().unwrap();
        assert!(message.contains("acme/login") && message.contains("ORG_KEYS"), "{message}");
        assert_eq!(
            read(&hub, None).await.body["secure_body"],
            "[ENCRYPTED]",
            "the rest is readable"
        );
        hub.stop().await;
    }
}

#[tokio::test]
async fn one_damaged_version_does_not_hide_the_others() {
    let hub = sealed().await;
    for title in ["second", "third"] {
        patch(&hub, Some(KEY), json!({ "title": title })).await;
    }
    let folder = hub.stop().await;
    execute(
        &folder,
        "UPDATE versions SET record = json_set(record, '$.secure_body', 'encrypted:AES256-GCM:AAAA')
         WHERE version = 1",
    );
    let hub = start(folder, &format!("acme:{KEY}")).await;
    let list = hub
        .call(Method::GET, "/api/versions/resource/acme/login", &[("x-org-key", KEY)], None)
        .await;
    assert_eq!(list.status, StatusCode::OK, "{list:?}");
    let secret =
        |index: usize| list.body["results"][index]["record"]["secure_body"].as_str().unwrap();
    assert_eq!((secret(0), secret(1)), (SECRET, "[DAMAGED]"));
    let copied = patch(&hub, Some(KEY), json!({ "secure_body": secret(1) })).await;
    assert_eq!(
        (copied.status.as_u16(), &copied.body["error"]["field"]),
        (422, &json!("secure_body"))
    );
    hub.stop().await;
}

#[tokio::test]
async fn keys_are_changed_without_losing_a_secret() {
    let hub = sealed().await;
    patch(&hub, Some(KEY), json!({ "title": "Login page" })).await;
    for id in ["other/lost", "other/more"] {
        hub.post("/api/resource", &json!({ "id": id, "secure_body": "lost" })).await;
        let (path, key) = (format!("/api/resource/{id}"), [("x-org-key", OTHER_KEY)]);
        let edited = hub.call(Method::PATCH, &path, &key, Some(&json!({ "title": "t" }))).await;
        assert_eq!(edited.status, StatusCode::OK, "{edited:?}");
    }

    let hub = start(hub.stop().await, &format!("acme:{NEW_KEY},acme:{KEY}")).await;
    let older = read(&hub, Some(KEY)).await;
    assert_eq!(older.status, StatusCode::FORBIDDEN);
    assert!(older.body["error"]["message"].as_str().unwrap().contains("older key"), "{older:?}");
    assert_eq!(read(&hub, Some(NEW_KEY)).await.body["secure_body"], SECRET);
    let orgless =
        hub.call(Method::GET, "/api/resource/other/lost", &[("x-org-key", OTHER_KEY)], None).await;
    assert_eq!(orgless.status, StatusCode::FORBIDDEN, "the hub has no key of this org any more");

    let tag = read(&hub, None).await.headers["etag"].clone();
    let elsewhere = hub.post("/api/reseal", &json!({ "org": "acm" })).await;
    assert_eq!(elsewhere.status, StatusCode::UNPROCESSABLE_ENTITY, "a typing error: {elsewhere:?}");
    assert_eq!(elsewhere.body["error"]["field"], "org", "{elsewhere:?}");
    let key = [("idempotency-key", "k")];
    let first = hub.post_with("/api/reseal", &json!({}), &key).await;
    let lost = ["other/lost", "other/more"];
    let expected = json!({ "resealed": 2, "unchanged": 0, "failed": 4, "failed_ids": lost });
    assert_eq!((first.status, &first.body), (StatusCode::OK, &expected), "version and current one");
    let replayed = hub.post_with("/api/reseal", &json!({}), &key).await;
    assert_eq!(
        (&replayed.body, replayed.headers["idempotent-replay"].as_bytes()),
        (&expected, &b"true"[..])
    );
    let second = hub.post("/api/reseal", &json!({ "org": "acme" })).await;
    assert_eq!((&second.body["resealed"], &second.body["unchanged"]), (&json!(0), &json!(2)));
    assert_eq!(read(&hub, None).await.headers["etag"], tag, "nobody else's edit is in the way");

    let hub = start(hub.stop().await, &format!("acme:{NEW_KEY}")).await;
    assert_eq!(read(&hub, Some(NEW_KEY)).await.body["secure_body"], SECRET);
    let earlier = "/api/versions/resource/acme/login";
    let opened = hub.call(Method::GET, earlier, &[("x-org-key", NEW_KEY)], None).await;
    assert_eq!(opened.body["results"][0]["record"]["secure_body"], SECRET);
    hub.stop().await;
}

#[tokio::test]
async fn a_repeated_secret_is_recognized_without_its_plain_hash() {
    let hub = sealed().await;
    let pin = |pin: &str| json!({ "id": "acme/pin", "secure_body": pin });
    let key = [("idempotency-key", "k"), ("x-org-key", KEY)];
    let first = hub.post_with("/api/resource", &pin("4711"), &key).await;
    assert_eq!(first.status, StatusCode::CREATED);
    let again = hub.post_with("/api/resource", &pin("4711"), &key).await;
    assert_eq!((again.status, &again.body), (StatusCode::CREATED, &first.body));
    assert_eq!(again.headers["idempotent-replay"], "true");
    let other = hub.post_with("/api/resource", &pin("4712"), &key).await;
    assert_eq!(other.status, StatusCode::CONFLICT);

    // The same body's hash under another key of the org must be another one.
    let folder = hub.stop().await;
    let stored = query(&folder, "SELECT hex(body_hash) FROM idempotent_answers");
    let hub = start(tempfile::tempdir().unwrap(), &format!("acme:{NEW_KEY}")).await;
    hub.post_with("/api/resource", &pin("4711"), &[("idempotency-key", "k")]).await;
    let folder = hub.stop().await;
    assert_ne!(query(&folder, "SELECT hex(body_hash) FROM idempotent_answers"), stored);
}

#[tokio::test]
async fn a_wrong_setting_stops_the_start_without_showing_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let setting = format!("acme:{KEY},other:{}", &OTHER_KEY[4..]);
    let config = config_with(&folder, &["--org-keys", &setting]);
    assert!(!format!("{config:?}").contains(KEY));
    let Err(err) = knowhub_server::Hub::open(&config) else { panic!("it started") };
    assert!(err.to_string().starts_with("ORG_KEYS: entry 2 "), "{err}");
    assert!(!format!("{err} {err:?}").contains("AAEC"), "{err:?}");
}
