//! What Prometheus reads, and that it is true.

use std::collections::BTreeMap;

use axum::{
    body::{Body, to_bytes},
    http::Request,
};
use serde_json::json;

use crate::harness::TestHub;

/// Returns each sample of the page: its name with labels, and its value.
pub(crate) async fn samples(hub: &TestHub) -> BTreeMap<String, String> {
    let response = hub.raw(Request::get("/metrics").body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), 200);
    let kind = response.headers()["content-type"].to_str().unwrap();
    assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"), "{kind}");
    let page = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let page = String::from_utf8(page.to_vec()).unwrap();
    assert!(page.ends_with("# EOF\n"), "{page}");
    let lines = page.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &str| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), value.to_owned())
    };
    lines.map(sample).collect()
}

#[tokio::test]
async fn counts_requests_by_route_and_never_by_path() {
    let hub = TestHub::start().await;
    hub.add_experience(json!({})).await;
    assert!(hub.names("nothing of the kind").await.is_empty());
    assert_eq!(hub.names("表格").await, ["pymupdf"]);
    for path in ["/api/knowledge/knowledge-20260305-a1b2", "/api/knowledge/other", "/secret/path"] {
        assert_eq!(hub.get(path).await.status, 404);
    }
    assert_eq!(hub.get("/api/search").await.status, 422);
    let samples = samples(&hub).await;
    for (name, count) in [
        ("http_requests_total{method=\"POST\",route=\"/api/experience\",status=\"201\"}", "1"),
        ("http_requests_total{method=\"GET\",route=\"/api/knowledge/{id}\",status=\"404\"}", "2"),
        ("http_requests_total{method=\"GET\",route=\"unmatched\",status=\"404\"}", "1"),
        ("http_request_duration_seconds_count{route=\"/api/knowledge/{id}\"}", "2"),
        ("http_requests_in_flight", "1"),
        ("errors_total{code=\"not_found\"}", "3"),
        ("errors_total{code=\"invalid\"}", "1"),
        ("searches_total{kind=\"experience_search\",outcome=\"miss\"}", "1"),
        ("searches_total{kind=\"experience_search\",outcome=\"hit\"}", "1"),
        ("searches_running", "0"),
        ("index_current{kind=\"experiences\"}", "1"),
    ] {
        let counted = samples.get(&format!("knowhub_{name}")).map(String::as_str);
        assert_eq!(counted, Some(count), "{name} in {samples:#?}");
    }
    assert!(!samples.keys().any(|name| name.contains("secret") || name.contains("a1b2")));
    hub.stop().await;
}

#[tokio::test]
async fn tells_how_the_store_and_the_process_are() {
    let hub = TestHub::start().await;
    for _ in 0..3 {
        hub.add_experience(json!({})).await;
    }
    let samples = samples(&hub).await;
    assert_eq!(samples["knowhub_store_commit_writes_sum"], "3.0");
    assert_eq!(samples["knowhub_store_writes_waiting"], "0");
    let number = |name| samples[name].parse::<f64>().unwrap();
    assert!(number("knowhub_store_commit_duration_seconds_sum") > 0.0);
    assert!(number("process_start_time_seconds") > 1.0e9);
    let version = format!("knowhub_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(samples[&version], "1");
    hub.stop().await;
}

#[tokio::test]
async fn hubs_in_one_process_count_for_themselves() {
    let (one, other) = (TestHub::start().await, TestHub::start().await);
    one.add_experience(json!({})).await;
    assert_eq!(samples(&one).await["knowhub_store_commit_writes_sum"], "1.0");
    assert_eq!(samples(&other).await["knowhub_store_commit_writes_sum"], "0.0");
    one.stop().await;
    other.stop().await;
}
