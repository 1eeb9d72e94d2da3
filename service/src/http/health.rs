//! The two routes by which others learn how a daemon is.

use axum::{Json, Router, http::StatusCode, routing::get};
use serde::Serialize;

/// How a daemon is.
#[derive(Serialize)]
struct Health<D> {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(flatten)]
    details: Option<D>,
}

/// Returns the routes `/healthz` (the process lives) and `/readyz` (it can do its work).
///
/// `ready` gives the reason why it cannot, or what else is to be told, as fields beside the status, `()` for nothing;
/// it is called for each request and must not block.
pub fn health_routes<F, D>(ready: F) -> Router
where
    F: Fn() -> Result<D, String> + Clone + Send + Sync + 'static,
    D: Serialize + Send + 'static,
{
    let readyz = move || {
        let health = match ready() {
            Ok(details) => {
                (StatusCode::OK, Health { status: "ready", reason: None, details: Some(details) })
            }
            Err(reason) => (
                StatusCode::SERVICE_UNAVAILABLE,
                Health { status: "unready", reason: Some(reason), details: None },
            ),
        };
        async move { (health.0, Json(health.1)) }
    };
    Router::new()
        .route(
            "/healthz",
            get(async || Json(Health::<()> { status: "ok", reason: None, details: None })),
        )
        .route("/readyz", get(readyz))
}
