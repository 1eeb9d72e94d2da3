//! Knowledge: stored complete, found by relevance, filtered, held back when it does not answer.

use serde_json::json;

use crate::harness::{TestHub, strings};

#[tokio::test]
async fn a_record_is_stored_complete() {
    let hub = TestHub::start().await;
    let report = json!({
        "task": "从论文提取表格", "content": "用 find_tables()", "types": ["tool", "usecase"],
        "tags": { "project": "paper" }, "scopes": ["user:me"], "owner": "me",
        "resource_ids": ["tools/pymupdf"], "message_id": "m-1",
        "source": {
            "name": "pymupdf", "category": "library", "urls": ["https://pymupdf.io"],
            "agent_id": "research", "submitted_by": "me@example.com", "timestamp": "2026-03-05",
        },
        "unknown": "ignored",
    });
    let id = hub.add_knowledge(report.clone()).await;
    let record = hub.get(&format!("/api/knowledge/{id}")).await.body;
    for field in ["task", "content", "types", "tags", "scopes", "owner", "resource_ids"] {
        assert_eq!(record[field], report[field], "{field}");
    }
    for (field, value) in report["source"].as_object().unwrap() {
        assert_eq!(&record["source"][field], value, "{field}");
    }
    assert_eq!(record["source"]["authenticated_as"], "local");
    assert_eq!(record["id"], id);
    assert_eq!(record["status"], "approved");
    assert_eq!(record["message_id"], "m-1");
    assert_eq!(record["eval"]["score"], 3);
    assert_eq!(record["relationships"], json!([]));
    assert_eq!(record["created_at"], record["updated_at"]);

    let id = hub.add_knowledge(json!({ "source": { "agent_id": "research" } })).await;
    let record = hub.get(&format!("/api/knowledge/{id}")).await.body;
    assert_eq!(record["owner"], "agent:research");
    assert_eq!(record["scopes"], json!(["org:cybertogether"]));
    hub.stop().await;
}

#[tokio::test]
async fn a_question_finds_its_answer_and_nonsense_finds_nothing() {
    let hub = TestHub::start().await;
    let tables = hub
        .add_knowledge(json!({ "task": "从论文 PDF 提取表格", "content": "用 find_tables" }))
        .await;
    let docker = hub
        .add_knowledge(
            json!({ "task": "Shrink a Docker image", "content": "Use a multi-stage build." }),
        )
        .await;
    assert_eq!(hub.ids("怎么从论文 PDF 里提取表格？").await, [tables.as_str()]);
    assert_eq!(hub.ids("How can I shrink Docker images?").await, [docker.as_str()]);
    assert_eq!(hub.ids("表").await, [tables.as_str()], "one character");

    for q in ["怎么把表弟送到幼儿园？", "How do I bake a chocolate cake with a pan?", "!?"]
    {
        assert!(hub.ids(q).await.is_empty(), "{q}");
    }
    let q = "表格能不能放进微波炉里加热三分钟";
    let found = hub.find("/api/knowledge/search", &[("q", q)]).await.body;
    assert_eq!((&found["count"], &found["withheld"]), (&json!(0), &json!(1)));
    let shown = hub.find("/api/knowledge/search", &[("q", q), ("all", "true")]).await.body;
    assert_eq!((&shown["count"], &shown["withheld"]), (&json!(1), &json!(0)));
    assert_eq!(shown["results"][0]["relevant"], false);
    assert!(shown["results"][0]["signals"]["lexical"].as_f64().unwrap() > 0.0);
    hub.stop().await;
}

#[tokio::test]
async fn what_answers_does_not_depend_on_how_much_is_shown() {
    let hub = TestHub::start().await;
    for number in 0..30 {
        let content = format!("表格 {number} 的提取方法，第 {} 版工具", number * 7);
        hub.add_knowledge(json!({ "task": format!("第 {number} 篇论文"), "content": content }))
            .await;
    }
    for q in ["怎么从论文里提取表格？", "第三版工具怎么样", "如何给汽车更换机油和轮胎"]
    {
        let mut judged = Vec::new();
        for top_k in ["1", "5", "20"] {
            let params = [("q", q), ("top_k", top_k), ("all", "true")];
            let found = hub.find("/api/knowledge/search", &params).await.body;
            let first = &found["results"][0];
            let signal = |name: &str| first["signals"][name].clone();
            let signals = ["relevance", "lead_match", "share"].map(signal);
            judged.push((first["id"].clone(), first["relevant"].clone(), signals));
        }
        assert!(judged.iter().all(|one| *one == judged[0]), "{q}: {judged:?}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn an_exact_id_or_name_always_comes_back() {
    let hub = TestHub::start().await;
    let plumber = hub
        .add_knowledge(json!({ "task": "旋转的页面", "content": "先转正", "source": { "name": "PdfPlumber" } }))
        .await;
    hub.add_knowledge(json!({ "task": "比较 pdfplumber 与其他工具的速度", "content": "都一样" }))
        .await;
    assert_eq!(hub.ids("pdfplumber").await[0], plumber);
    assert_eq!(hub.ids(&plumber).await[0], plumber);
    assert!(hub.ids("怎么用 pdfplumber 打开加密文件然后发邮件").await.contains(&plumber));
    assert!(hub.ids(&format!("show me {plumber} again")).await.contains(&plumber));
    hub.stop().await;
}

#[tokio::test]
async fn filters_hold() {
    let hub = TestHub::start().await;
    let a = hub
        .add_knowledge(json!({
            "types": ["tool", "usecase"], "owner": "ann", "scopes": ["user:ann"],
            "tags": { "project": "paper", "lang": "zh:Hans" },
        }))
        .await;
    let b = hub
        .add_knowledge(json!({
            "types": ["tool"], "owner": "bob", "scopes": ["org:x", "user:bob"],
            "tags": { "project": "paper" },
        }))
        .await;
    let both: &[&String] = &[&a, &b];
    let (only_a, only_b, none): (&[&String], &[&String], &[&String]) = (&[&a], &[&b], &[]);
    for (name, value, expected) in [
        ("types", "tool", both),
        ("types", "tool,usecase", only_a),
        ("types", "usecase,strategy", none),
        ("owner", "bob", only_b),
        ("owner", "ann,bob", both),
        ("owner", "an", none),
        ("scopes", "user:ann,user:eve", only_a),
        ("scopes", "org:x", only_b),
        ("tags", "project:paper", both),
        ("tags", "project:paper,lang:zh:Hans", only_a),
        ("tags", "lang:zh", none),
        ("min_score", "3", both),
        ("min_score", "4", none),
        ("top_k", "20", both),
    ] {
        let found = hub.find("/api/knowledge/search", &[("q", "提取表格"), (name, value)]).await;
        let mut ids = strings(&found.body["results"], "id");
        ids.sort();
        let mut expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
        expected.sort();
        assert_eq!(ids, expected, "{name}={value}");
    }
    let repeated = hub.get("/api/knowledge/search?q=find_tables&owner=ann&owner=bob").await;
    assert_eq!(repeated.body["count"], 2);
    let few = hub.get("/api/knowledge/search?q=find_tables&top_k=1").await;
    assert_eq!(few.body["count"], 1);
    hub.stop().await;
}

#[tokio::test]
async fn ids_made_in_one_burst_differ() {
    let hub = TestHub::start().await;
    let mut ids = Vec::new();
    for _ in 0..600 {
        ids.push(hub.add_knowledge(json!({})).await);
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 600);
    hub.stop().await;
}
