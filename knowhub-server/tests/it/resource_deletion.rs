//! Deleting a resource: exactly the one that was named, whatever its id looks like.

use std::collections::BTreeSet;

use axum::http::{Method, StatusCode};
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::json;
use tempfile::TempDir;

use crate::harness::{TestHub, encoded, strings};

async fn all_ids(hub: &TestHub) -> BTreeSet<String> {
    strings(&hub.get("/api/resource?page_size=100").await.body["results"], "id")
        .into_iter()
        .collect()
}

#[tokio::test]
async fn deleting_touches_nothing_else() {
    let ids = [
        "a", "a/b", "a/bc", "a/b/c", "A", "A/B", "a_b", "a%b", "%", "_", "a/%", "a/_", "*", "a/*",
        "表", "表/格",
    ];
    let hub = TestHub::start().await;
    for id in ids {
        hub.post("/api/resource", &json!({ "id": id, "body": id })).await;
    }
    let mut left: BTreeSet<String> = ids.map(str::to_owned).into();
    for id in ids {
        let path = format!("/api/resource/{}?reason=test", encoded(id));
        let answer = hub.call(Method::DELETE, &path, &[], None).await;
        assert_eq!((answer.status, &answer.body["id"]), (StatusCode::OK, &json!(id)));
        left.remove(id);
        assert_eq!(all_ids(&hub).await, left, "after {id}");
    }
    hub.stop().await;
}

#[test]
fn deleting_touches_nothing_else_in_any_set_of_ids() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let id = proptest::string::string_regex("[aA%_./]{1,4}").unwrap();
    let sets = proptest::collection::btree_set(id, 1..8);
    let config = ProptestConfig { cases: 12, ..ProptestConfig::default() };
    let deleting =
        TestRunner::new(config).run(&(sets, any::<prop::sample::Index>()), |(ids, at)| {
            runtime.block_on(async {
                let hub = TestHub::start().await;
                let mut stored = BTreeSet::new();
                for id in ids {
                    let answer = hub.post("/api/resource", &json!({ "id": id, "body": "x" })).await;
                    if answer.status == StatusCode::CREATED {
                        stored.insert(id);
                    }
                }
                if !stored.is_empty() {
                    let id = stored.iter().nth(at.index(stored.len())).unwrap().clone();
                    hub.call(
                        Method::DELETE,
                        &format!("/api/resource/{}?erase=true", encoded(&id)),
                        &[],
                        None,
                    )
                    .await;
                    stored.remove(&id);
                    assert_eq!(all_ids(&hub).await, stored, "without {id}");
                }
                hub.stop().await;
            });
            Ok(())
        });
    deleting.unwrap();
}

#[tokio::test]
async fn a_reason_is_bounded() {
    let hub = TestHub::start().await;
    let path = format!("/api/resource/a?reason={}", "x".repeat(2_001));
    let answer = hub.call(Method::DELETE, &path, &[], None).await;
    assert_eq!(answer.body["error"]["field"], "reason");
    let answer = hub.call(Method::DELETE, "/api/resource/a?erase=maybe", &[], None).await;
    assert_eq!(answer.body["error"]["field"], "erase");
    hub.stop().await;
}

/// Returns what one number in the stopped hub's file is.
fn number(folder: &TempDir, sql: &str) -> i64 {
    let db = rusqlite::Connection::open(folder.path().join("hub.db")).unwrap();
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn an_index_that_missed_a_deletion_keeps_no_row_of_what_was_made_anew() {
    let hub = TestHub::start().await;
    hub.post("/api/resource", &json!({ "id": "a", "body": "旧" })).await;
    let folder = hub.stop().await;
    let indexed = number(&folder, "SELECT row FROM resources");

    let hub = TestHub::start_in(folder).await;
    hub.call(Method::DELETE, "/api/resource/a", &[], None).await;
    hub.post("/api/resource", &json!({ "id": "a", "body": "新" })).await;
    hub.post("/api/resource", &json!({ "id": "b", "body": "新" })).await;
    hub.call(Method::DELETE, "/api/resource/a", &[], None).await;
    let folder = hub.stop().await;
    assert_eq!(
        number(&folder, "SELECT row FROM tombstones"),
        indexed,
        "the one tombstone tells of the row"
    );
    assert_ne!(number(&folder, "SELECT row FROM resources"), indexed);

    let hub = TestHub::start_in(folder).await;
    let found = hub.find("/api/resource", &[("q", "旧")]).await.body;
    assert_eq!(found["total"], 0, "{found}");
    hub.stop().await;
}
