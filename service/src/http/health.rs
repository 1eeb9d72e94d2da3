//! The two routes by which others learn how a daemon is.

use axum::{Json, Router, http::StatusCode, routing::get};
use serde::Serialize;

/// How a daemon is.
#[derive(Serialize)]
struct Health {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Returns the routes `/healthz` (the process lives) and `/readyz` (it can do its work).
///
/// `ready` gives the reason why it cannot; it is called for each request and must not block.
pub fn health_routes<F>(ready: F) -> Router
where
    F: Fn() -> Result<(), String> + Clone + Send + Sync + 'static,
{
    let readyz = move || {
        let health = match ready() {
            Ok(()) => (StatusCode::OK, Health { status: "ready", reason: None }),
            Err(reason) => (
                StatusCode::SERVICE_UNAVAILABLE,
                Health { status: "unready", reason: Some(reason) },
            ),
        };
        async move { (health.0, Json(health.1)) }
    };
    Router::new()
        .route("/healthz", get(async || Json(Health { status: "ok", reason: None })))
        .route("/readyz", get(readyz))
}
