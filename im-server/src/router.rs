//! All routes of the relay's port.

use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{any, get},
};
use protocol::im::Contacts;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{config::Limits, relay::Handle, upgrade};

/// What handlers need.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) relay: Handle,
    pub(crate) limits: Limits,
    /// All WebSocket connections; waited for at the end.
    pub(crate) connections: TaskTracker,
    pub(crate) stop: CancellationToken,
}

/// Returns the routes.
pub(crate) fn router(app: App) -> Router {
    let relay = app.relay.clone();
    Router::new()
        .route("/ws", any(upgrade::open_connection))
        .route("/api/contacts", get(list_contacts))
        .with_state(app)
        .merge(service::http::health_routes(move || relay.check_ready()))
}

async fn list_contacts(State(app): State<App>) -> Response {
    match app.relay.list_contacts().await {
        Ok(contacts) => Json(Contacts { contacts }).into_response(),
        Err(_gone) => {
            let body = serde_json::json!({
                "error": { "code": "unavailable", "message": "the relay is going down" }
            });
            (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
        }
    }
}
