//! All routes of the relay's port.

mod upgrade;

use axum::{
    Json, Router,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::get,
};
use protocol::im::Contacts;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::upgrade::open_connection;
use crate::{config::Limits, relay::Handle};

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
        // Also for other methods, which it tells what is right.
        .route("/ws", get(open_connection).fallback(open_connection))
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
