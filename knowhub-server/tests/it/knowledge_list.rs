//! Listing knowledge: filters, pages, order, and what a wrong parameter is told.

use serde_json::json;

use crate::harness::{TestHub, strings};

const LIST: &str = "/api/knowledge";

#[tokio::test]
async fn filters_hold_also_for_values_with_commas_and_quotes() {
    let hub = TestHub::start().await;
    let a = hub
        .add_knowledge(json!({
            "types": ["tool", "use, case"], "owner": "ann", "scopes": ["user:ann", "org:x"],
            "tags": { "project": "paper", "a \"b\"\n\\c": "d:e,f" },
        }))
        .await;
    let b = hub
        .add_knowledge(json!({ "types": ["tool"], "owner": "bo,b", "tags": { "project": "hub" } }))
        .await;
    for (params, expected) in [
        (&[][..], &[&b, &a][..]),
        (&[("types", "tool")], &[&b, &a]),
        (&[("types", r"tool,use\, case")], &[&a]),
        (&[("types", "tool"), ("types", r"use\, case")], &[&a]),
        (&[("types", "use")], &[]),
        (&[("owner", r"bo\,b")], &[&b]),
        (&[("owner", "ann"), ("owner", r"bo\,b")], &[&b, &a]),
        (&[("scopes", "org:x,org:none")], &[&a]),
        (&[("scopes", "org:cybertogether")], &[&b]),
        (&[("tags", "project:paper")], &[&a]),
        (&[("tags", "project:paper,project:hub")], &[]),
        (&[("tags", "a \"b\"\n\\\\c:d:e\\,f")], &[&a]),
        (&[("status", "approved")], &[&b, &a]),
        (&[("status", "rejected,checked")], &[]),
        (&[("owner", "' OR 1=1 --")], &[]),
        (&[("types", "tool"), ("owner", "ann"), ("scopes", "org:x")], &[&a]),
    ] {
        let page = hub.find(LIST, params).await.body;
        assert_eq!(
            strings(&page["results"], "id").iter().collect::<Vec<_>>(),
            expected,
            "{params:?}"
        );
        assert_eq!(page["total"], expected.len(), "{params:?}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn pages_are_newest_first_and_hold_each_record_once() {
    let hub = TestHub::start().await;
    let mut ids = Vec::new();
    for _ in 0..7 {
        ids.push(hub.add_knowledge(json!({})).await);
    }
    ids.reverse();
    let mut listed = Vec::new();
    for page in ["1", "2", "3", "4"] {
        let page = hub.find(LIST, &[("page", page), ("page_size", "3")]).await.body;
        assert_eq!((&page["total"], &page["page_size"]), (&json!(7), &json!(3)));
        listed.extend(strings(&page["results"], "id"));
    }
    assert_eq!(listed, ids);
    let first = hub.get(LIST).await.body;
    assert_eq!((&first["page"], &first["page_size"]), (&json!(1), &json!(20)));
    hub.stop().await;
}

#[tokio::test]
async fn a_wrong_parameter_is_named() {
    let hub = TestHub::start().await;
    for (name, value) in [
        ("page", "0"),
        ("page", "18446744073709551615"),
        ("page_size", "101"),
        ("page_size", "ten"),
        ("tags", "project"),
        ("status", "done"),
        ("status", "approved,Approved"),
    ] {
        let answer = hub.find(LIST, &[(name, value)]).await;
        assert_eq!(answer.status, 422, "{name}={value}");
        assert_eq!(answer.body["error"]["field"], name, "{answer:?}");
    }
    hub.stop().await;
}
