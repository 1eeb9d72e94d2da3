//! Content nodes: stored under path ids, shown with the way through them.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::harness::{TestHub, strings};

/// Stores a node and returns the answer's status.
async fn put(hub: &TestHub, id: &str, title: &str, sort_order: i64) -> StatusCode {
    let body = json!({ "id": id, "title": title, "body": "# …", "sort_order": sort_order });
    let answer = hub.post("/api/content", &body).await;
    assert_eq!(answer.body["id"], id, "{answer:?}");
    answer.status
}

async fn show(hub: &TestHub, id: &str) -> Value {
    let answer = hub.get(&format!("/api/content/{id}")).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    answer.body
}

/// A paper: a root with three sections.
async fn paper() -> TestHub {
    let hub = TestHub::start().await;
    put(&hub, "attention-paper", "Attention Is All You Need", 0).await;
    put(&hub, "attention-paper/section-3-3", "3.3 Position-wise Feed-Forward Networks", 3).await;
    put(&hub, "attention-paper/section-3-1", "3.1 Encoder and Decoder Stacks", 1).await;
    put(&hub, "attention-paper/section-3-2", "3.2 Scaled Dot-Product Attention", 2).await;
    hub
}

#[tokio::test]
async fn a_node_knows_the_way_up_down_and_sideways() {
    let hub = paper().await;
    let root = show(&hub, "attention-paper").await;
    assert_eq!(
        (&root["toc"], &root["prev"], &root["next"]),
        (&json!(null), &json!(null), &json!(null))
    );
    let sections = ["section-3-1", "section-3-2", "section-3-3"];
    let ids: Vec<_> = sections.iter().map(|part| format!("attention-paper/{part}")).collect();
    assert_eq!(strings(&root["children"], "id"), ids);
    assert_eq!(root["children_count"], 3);

    let middle = show(&hub, &ids[1]).await;
    assert_eq!(
        middle["toc"],
        json!({ "id": "attention-paper", "title": "Attention Is All You Need" })
    );
    assert_eq!(middle["prev"], json!({ "id": ids[0], "title": "3.1 Encoder and Decoder Stacks" }));
    assert_eq!(middle["next"]["id"], ids[2]);
    assert_eq!(middle["children"], json!([]));
    let (first, last) = (show(&hub, &ids[0]).await, show(&hub, &ids[2]).await);
    assert_eq!(
        (&first["prev"], &last["next"]),
        (&json!(null), &json!(null)),
        "the root is in no list"
    );
    hub.stop().await;
}

#[tokio::test]
async fn equal_places_go_by_id_and_deeper_nodes_stand_in_the_roots_list() {
    let hub = paper().await;
    put(&hub, "attention-paper/section-3-2/figure", "Figure 2", 2).await;
    put(&hub, "attention-paper/a", "A", 2).await;
    let all = show(&hub, "attention-paper").await;
    let order = ["section-3-1", "a", "section-3-2", "section-3-2/figure", "section-3-3"];
    let order: Vec<_> = order.iter().map(|part| format!("attention-paper/{part}")).collect();
    assert_eq!(strings(&all["children"], "id"), order);
    let section = show(&hub, "attention-paper/section-3-2").await;
    assert_eq!(strings(&section["children"], "id"), [order[3].as_str()]);
    assert_eq!(
        (&section["prev"]["id"], &section["next"]["id"]),
        (&json!(order[1]), &json!(order[3]))
    );
    hub.stop().await;
}

#[tokio::test]
async fn a_child_does_without_its_root() {
    let hub = TestHub::start().await;
    put(&hub, "book/one", "One", 1).await;
    put(&hub, "book/two", "Two", 2).await;
    let one = show(&hub, "book/one").await;
    assert_eq!((&one["toc"], &one["next"]["id"]), (&json!(null), &json!("book/two")));
    assert_eq!(hub.get("/api/content/book").await.status, StatusCode::NOT_FOUND);
    hub.stop().await;
}

#[tokio::test]
async fn no_character_of_an_id_is_a_wildcard() {
    let hub = TestHub::start().await;
    let roots = ["a_b", "axb", "a%b", "a", "A", "a-b", "论文", "a.b"];
    for root in roots {
        put(&hub, root, root, 0).await;
        put(&hub, &format!("{root}/第%一_节"), root, 0).await;
    }
    for root in roots {
        let path = root.replace('%', "%25").replace("论文", "%E8%AE%BA%E6%96%87");
        let node = show(&hub, &path).await;
        assert_eq!(strings(&node["children"], "id"), [format!("{root}/第%一_节")], "{root}");
        let child = show(&hub, &format!("{path}%2F%E7%AC%AC%25%E4%B8%80_%E8%8A%82")).await;
        assert_eq!(child["toc"]["id"], root);
    }
    hub.stop().await;
}

#[tokio::test]
async fn what_is_written_again_keeps_what_it_said() {
    let hub = TestHub::start().await;
    assert_eq!(put(&hub, "notes", "First", 0).await, StatusCode::CREATED);
    assert_eq!(put(&hub, "notes", "Second", 0).await, StatusCode::OK);
    let again =
        hub.post("/api/content", &json!({ "id": "notes", "title": "Second", "body": "# …" })).await;
    assert_eq!(
        again.body,
        json!({ "id": "notes", "version": 2, "created": false }),
        "nothing changed"
    );
    assert_eq!(again.headers["etag"], "\"2\"");
    let versions = hub.get("/api/versions/resource/notes").await.body;
    assert_eq!(versions["total"], 1);
    assert_eq!(versions["results"][0]["record"]["title"], "First");
    assert_eq!(versions["results"][0]["replaced_by"], "local");
    hub.stop().await;
}

#[tokio::test]
async fn writing_the_content_of_a_resource_leaves_the_rest_alone() {
    let hub = TestHub::start().await;
    let metadata = json!({ "language": "rust" });
    hub.post(
        "/api/resource",
        &json!({ "id": "snippets/retry", "body": "loop {}", "content_type": "code", "metadata": metadata }),
    )
    .await;
    put(&hub, "snippets/retry", "Retry", 7).await;
    let node = show(&hub, "snippets/retry").await;
    assert_eq!((&node["content_type"], &node["metadata"]), (&json!("code"), &metadata));
    assert_eq!((&node["title"], &node["sort_order"]), (&json!("Retry"), &json!(7)));
    assert_eq!(
        node["content_hash"],
        "4f0a4ffe52e6c8eb42fa5ced0629c3ecca3f879be23475c6c30c0589f3a0cf76"
    );
    hub.stop().await;
}

#[tokio::test]
async fn wrong_nodes_are_refused_by_field() {
    let hub = TestHub::start().await;
    let long = "字".repeat(100_001);
    for (body, field) in [
        (json!({ "body": "x" }), "id"),
        (json!({ "id": "a//b", "body": "x" }), "id"),
        (json!({ "id": "a b", "body": "x" }), "id"),
        (json!({ "id": "a/../b", "body": "x" }), "id"),
        (json!({ "id": "a" }), "body"),
        (json!({ "id": "a", "body": " \n" }), "body"),
        (json!({ "id": "a", "body": long }), "body"),
        (json!({ "id": "a", "body": "x", "sort_order": 1.5 }), "sort_order"),
        (json!({ "id": "a", "body": "x", "title": null }), "title"),
    ] {
        let answer = hub.post("/api/content", &body).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{answer:?}");
        assert_eq!(answer.body["error"]["field"], field, "{answer:?}");
    }
    for path in ["a", "a//b", "a%20b", "a/", "..%2Fetc"] {
        let answer = hub.get(&format!("/api/content/{path}")).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}: {answer:?}");
        assert_eq!(answer.body["error"]["code"], "not_found");
    }
    let answer = hub.get("/api/content/%ff").await;
    assert_eq!(
        (answer.status, &answer.body["error"]["field"]),
        (StatusCode::UNPROCESSABLE_ENTITY, &json!("id"))
    );
    hub.stop().await;
}
