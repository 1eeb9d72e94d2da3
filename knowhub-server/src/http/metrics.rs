//! The page that Prometheus reads.

use axum::{extract::State, response::Response};
use service::metrics::{CONTENT_TYPE, page};

use super::{Error, Handles, caller::Reader, openapi::ReadErrors};
use crate::metrics::Load;

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
    Ok(page(&handles.registry))
}
