//! The page that Prometheus reads.

use std::time::Duration;

use axum::{extract::State, response::Response};
use protocol::{Timestamp, hub::KnowledgeStatus};
use service::metrics::{CONTENT_TYPE, page};

use super::{Error, Handles, caller::Reader, openapi::ReadErrors};
use crate::metrics::Load;

/// The statuses of records that are not processed yet.
const WAITING: [KnowledgeStatus; 4] = [
    KnowledgeStatus::Pending,
    KnowledgeStatus::Processing,
    KnowledgeStatus::DedupPassed,
    KnowledgeStatus::Analyzing,
];

/// Tells what the hub counts of itself, for Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "operations",
    responses(
        (status = 200, body = String, content_type = CONTENT_TYPE, description = "In OpenMetrics' text format"),
        ReadErrors,
    )
)]
pub(super) async fn show_metrics(
    State(handles): State<Handles>,
    _: Reader,
) -> Result<Response, Error> {
    let (searches_running, searches_waiting) = handles.search.load();
    let load = Load { searches_running, searches_waiting, ..handles.store.load() };
    handles.metrics.load(load);
    for (kind, load) in handles.search.index_loads() {
        handles.metrics.index(kind, load);
    }
    let (queue, now) = (handles.store.count_waiting().await?, Timestamp::now());
    for status in WAITING {
        let found = queue.waiting.iter().find(|(waiting, _)| *waiting == status);
        handles.metrics.records_waiting(status.as_str(), found.map_or(0, |(_, count)| *count));
    }
    let wait = queue.oldest.map_or(Duration::ZERO, |oldest| now.since(oldest));
    handles.metrics.longest_wait(wait);
    Ok(page(&handles.registry))
}
