//! Experiences: what `LIKE` would find comes first, grouped by name, with aggregates over all.

use serde_json::{Value, json};

use crate::harness::{TestHub, strings};

async fn hub_with(tasks: &[(&str, &str)]) -> TestHub {
    let hub = TestHub::start().await;
    for (name, task) in tasks {
        hub.add_experience(json!({ "name": name, "task": task })).await;
    }
    hub
}

#[tokio::test]
async fn finds_what_like_would_find() {
    let hub = hub_with(&[
        ("pdf", "Extract TABLES from a PDF"),
        ("disk", "清理C盘空间"),
        ("rate", "100% of under_score"),
        ("tabs", "表格识别"),
    ])
    .await;
    for (q, expected) in [
        ("pd", &["pdf"][..]),
        ("Ables", &["pdf"]),
        ("tables pdf", &["pdf"]),
        ("C盘", &["disk"]),
        ("盘空", &["disk"]),
        ("理", &["disk"]),
        ("100%", &["rate"]),
        ("%", &["rate"]),
        ("_", &["rate"]),
        ("r_s", &["rate"]),
        ("格识", &["tabs"]),
        ("disk", &["disk"]),
        ("1%0", &[]),
        ("under%score", &["rate"]),
        ("格表", &[]),
        ("[", &[]),
        ("'; DROP TABLE experiences; --", &[]),
        ("name:pdf", &["pdf"]),
        ("* OR NOT \"", &[]),
    ] {
        assert_eq!(hub.names(q).await, expected, "{q:?} in memory");
    }
    let hub = TestHub::start_in(hub.stop().await).await;
    for (q, expected) in
        [("pd", &["pdf"]), ("C盘", &["disk"]), ("100%", &["rate"]), ("理", &["disk"])]
    {
        assert_eq!(hub.names(q).await, expected, "{q:?} on disk");
    }
    hub.stop().await;
}

#[tokio::test]
async fn each_word_may_stand_in_another_field() {
    let hub = TestHub::start().await;
    let report =
        json!({ "name": "camelot", "task": "论文", "outcome": "速度快", "tips": "Use lattice" });
    hub.add_experience(report).await;
    assert_eq!(hub.names("LATTICE 论文 度快 came").await, ["camelot"]);
    assert_eq!(hub.names("lattice 冰箱 洗衣机 电视机").await, [""; 0]);
    hub.stop().await;
}

#[tokio::test]
async fn partial_matches_come_after_full_ones_and_only_when_relevant() {
    let hub = hub_with(&[
        ("partial", "从论文里提取图片和表格"),
        ("full", "提取 PDF 表格"),
        ("other", "部署网站"),
    ])
    .await;
    assert_eq!(hub.names("提取 PDF 表格").await, ["full", "partial"]);
    assert_eq!(hub.names("怎么提取表格？").await, ["full", "partial"]);
    assert_eq!(hub.names("怎么做红烧肉？").await, [""; 0]);
    assert_eq!(hub.names("extracting of website").await, [""; 0]);
    hub.stop().await;
}

#[tokio::test]
async fn aggregates_speak_of_all_experiences_of_a_name() {
    let hub = TestHub::start().await;
    for report in [
        json!({ "task": "提取表格", "score": 5, "url": "https://old.example" }),
        json!({ "task": "合并文件", "score": 2, "url": "https://new.example" }),
        json!({ "task": "渲染页面" }),
        json!({ "name": "PyMuPDF", "task": "提取表格", "score": 1 }),
    ] {
        hub.add_experience(report).await;
    }
    let found = hub.find("/api/search", &[("q", "合并")]).await.body;
    let result = &found["results"][0];
    assert_eq!(result["name"], "pymupdf");
    assert_eq!(result["avg_score"], 3.5);
    assert_eq!(result["experience_count"], 3);
    assert_eq!(result["url"], "https://new.example");
    assert_eq!(result["relevant_experiences"].as_array().unwrap().len(), 1);
    assert_eq!(result["relevant_experiences"][0]["score"], 2);

    hub.add_experience(json!({ "name": "unrated", "task": "没有分数" })).await;
    let found = hub.find("/api/search", &[("q", "没有分数")]).await.body;
    assert_eq!(found["results"][0]["avg_score"], Value::Null);
    assert_eq!(found["results"][0]["url"], "");
    hub.stop().await;
}

#[tokio::test]
async fn a_category_is_exact_and_a_limit_counts_names() {
    let hub = TestHub::start().await;
    for index in 0..12 {
        let category = if index % 2 == 0 { "library" } else { "Library" };
        let report = json!({ "name": format!("lib-{index}"), "category": category });
        hub.add_experience(report).await;
    }
    let count = async |params: &[(&str, &str)]| {
        let found = hub.find("/api/search", params).await.body;
        found["results"].as_array().unwrap().len()
    };
    assert_eq!(count(&[("q", "表格")]).await, 10);
    assert_eq!(count(&[("q", "表格"), ("limit", "100")]).await, 12);
    assert_eq!(count(&[("q", "表格"), ("limit", "3")]).await, 3);
    assert_eq!(count(&[("q", "表格"), ("category", "library")]).await, 6);
    assert_eq!(count(&[("q", "表格"), ("category", "lib")]).await, 0);
    assert_eq!(count(&[("q", "表格"), ("category", "")]).await, 10);
    hub.stop().await;
}

#[tokio::test]
async fn a_name_with_many_rows_hides_no_other() {
    let hub = TestHub::start().await;
    hub.add_experience(json!({ "name": "rare", "task": "提取表格，以及许多别的事情要做" })).await;
    for _ in 0..150 {
        hub.add_experience(json!({ "name": "popular" })).await;
    }
    let found = hub.find("/api/search", &[("q", "提取表格")]).await.body;
    assert_eq!(strings(&found["results"], "name"), ["popular", "rare"]);
    let shown = found["results"][0]["relevant_experiences"].as_array().unwrap();
    assert_eq!(shown.len(), 10, "cut, while the count is not");
    assert_eq!(found["results"][0]["experience_count"], 150);
    hub.stop().await;
}

/// Returns the tasks that the only name a search finds is shown with.
async fn tasks_of_the_name(hub: &TestHub, q: &str) -> Vec<String> {
    let found = hub.find("/api/search", &[("q", q)]).await.body;
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found}");
    strings(&found["results"][0]["relevant_experiences"], "task")
}

#[tokio::test]
async fn a_name_is_shown_with_the_row_that_it_was_found_by() {
    let hub = hub_with(&[("pdfminer", "parse PDFs")]).await;
    // `parsing` has the same stem, and does not stand in the row.
    assert_eq!(tasks_of_the_name(&hub, "parsing").await, ["parse PDFs"], "in memory");
    let hub = TestHub::start_in(hub.stop().await).await;
    assert_eq!(tasks_of_the_name(&hub, "parsing").await, ["parse PDFs"], "on disk");
    hub.stop().await;
}

#[tokio::test]
async fn rows_with_the_words_stem_alone_hide_none_that_has_the_word() {
    let long = |task: &str| format!("{task} and a good many other things that make the row long");
    let full = [long("parsing invoices"), long("parsing letters, which is still longer")];
    let mut reports = vec![("pdfminer", "parse, parse, parse"); 14];
    reports.extend(full.iter().map(|task| ("pdfminer", task.as_str())));
    let hub = hub_with(&reports).await;
    let expected = [&full[0], &full[1], reports[0].1, reports[0].1, reports[0].1];
    assert_eq!(tasks_of_the_name(&hub, "parsing").await, expected, "in memory");
    let hub = TestHub::start_in(hub.stop().await).await;
    assert_eq!(tasks_of_the_name(&hub, "parsing").await, expected, "on disk");
    hub.stop().await;
}

#[tokio::test]
async fn rows_with_traces_of_a_word_hide_none_that_has_it() {
    let mut rows = vec![("pdf", "datatables"); 3];
    rows.extend([("pdf", "stable files"); 100]);
    let hub = hub_with(&rows).await;
    assert_eq!(tasks_of_the_name(&hub, "tables").await, ["datatables"; 3], "in memory");
    let hub = TestHub::start_in(hub.stop().await).await;
    assert_eq!(tasks_of_the_name(&hub, "tables").await, ["datatables"; 3], "on disk");
    hub.stop().await;
}

#[tokio::test]
async fn a_long_question_finds_what_it_names() {
    let hub = hub_with(&[("pymupdf", "page.find_tables() 提取表格")]).await;
    let trace: Vec<String> = (0..200).map(|line| format!("frame{line}")).collect();
    let q = format!("why does find_tables crash? {}", trace.join(" "));
    assert_eq!(hub.names(&q).await, ["pymupdf"]);
    hub.stop().await;
}

#[tokio::test]
async fn a_fresh_report_stays_found_among_many_like_it() {
    let names: Vec<String> = (0..60).map(|number| format!("name{number}")).collect();
    let rows: Vec<_> = names.iter().map(|name| (name.as_str(), "datatables")).collect();
    let hub = hub_with(&rows).await;
    let newest: Vec<&str> = names.iter().rev().take(10).map(String::as_str).collect();
    assert_eq!(hub.names("atatab").await, newest, "in memory");
    let hub = TestHub::start_in(hub.stop().await).await;
    for q in ["atatab", "datatables"] {
        assert_eq!(hub.names(q).await, newest, "{q} on disk");
    }
    hub.stop().await;
}

#[tokio::test]
async fn a_whole_number_may_be_written_with_a_fraction() {
    let hub = TestHub::start().await;
    hub.add_experience(json!({ "score": 4.0 })).await;
    let found = hub.find("/api/search", &[("q", "表格")]).await.body;
    assert_eq!(found["results"][0]["relevant_experiences"][0]["score"], 4);
    hub.stop().await;
}
