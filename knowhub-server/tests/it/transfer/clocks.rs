//! Clocks that are wrong or were set back: what was deleted stays deleted, and an export stays whole.

use axum::http::Method;
use protocol::{
    Timestamp,
    export::{Line, RecordKind, Resource},
    hub::ContentType,
};
use serde_json::json;

use super::{export, import, records, tombstone, written};
use crate::harness::{TestHub, strings};

/// A time that this hub's clock does not reach.
const AHEAD: i64 = 4_000_000_000_000;

fn resource(version: i64) -> Line {
    let at = Timestamp::from_millis(AHEAD);
    Line::Resource(Resource {
        id: "x/y".parse().unwrap(),
        title: String::new(),
        body: "从前".into(),
        secure_body: String::new(),
        content_type: ContentType::Text,
        metadata: serde_json::Map::new(),
        sort_order: 0,
        submitted_by: String::new(),
        authenticated_as: "local".into(),
        on_behalf_of: String::new(),
        version,
        created_at: at,
        updated_at: at,
    })
}

#[tokio::test]
async fn what_was_erased_stays_away_when_it_was_made_by_a_clock_ahead() {
    let there = TestHub::start().await;
    let id = there.add_knowledge(json!({})).await;
    let whole = export(&there).await;
    there.stop().await;
    let Ok(Line::Knowledge(mut knowledge)) = Line::parse(whole.lines().nth(1).unwrap().as_bytes())
    else {
        panic!("the second line is the knowledge record")
    };
    knowledge.record.created_at = Timestamp::from_millis(AHEAD);
    let whole = written(&[resource(1), Line::Knowledge(knowledge)]);

    let hub = TestHub::start().await;
    assert_eq!(import(&hub, &whole).await["conflicts"], json!([]));
    for path in ["/api/resource/x/y".to_owned(), format!("/api/knowledge/{id}")] {
        let erased = hub.call(Method::DELETE, &format!("{path}?erase=true"), &[], None).await;
        assert_eq!(erased.status, 200, "{erased:?}");
    }
    let report = import(&hub, &whole).await;
    assert_eq!(strings(&report["conflicts"], "reason"), ["it was deleted here"; 2], "{report}");
    hub.stop().await;
}

#[tokio::test]
async fn the_lives_of_an_id_follow_one_another_whatever_the_clock_says() {
    for first in [tombstone(RecordKind::Resource, "x/y", AHEAD), resource(3)] {
        let hub = TestHub::start().await;
        import(&hub, &written(std::slice::from_ref(&first))).await;
        let (path, made) = ("/api/resource/x/y", json!({ "id": "x/y", "body": "今" }));
        for (method, path, body) in [
            (Method::POST, "/api/resource", Some(&made)),
            (Method::PATCH, path, Some(&json!({ "body": "后" }))),
            (Method::DELETE, path, None),
            (Method::POST, "/api/resource", Some(&made)),
            (Method::PATCH, path, Some(&json!({ "title": "又" }))),
        ] {
            let answer = hub.call(method, path, &[], body).await;
            assert!(answer.status.is_success(), "{answer:?}");
            let whole = export(&hub).await;
            let other = TestHub::start().await;
            assert_eq!(import(&other, &whole).await["conflicts"], json!([]), "{whole}");
            assert_eq!(records(&export(&other).await), records(&whole));
            other.stop().await;
        }
        hub.stop().await;
    }
}
