//! Telling a caller whom the hub takes it for.

use axum::{Json, extract::State};
use protocol::hub::Whoami;

use super::{Handles, caller::Reader, openapi::ReadErrors};

/// Tells under which name and role the caller's token counts, and whether one is needed.
#[utoipa::path(
    get, path = "/api/whoami", tag = "operations",
    responses((status = 200, body = Whoami), ReadErrors)
)]
pub(super) async fn show_caller(
    State(handles): State<Handles>,
    Reader(by): Reader,
) -> Json<Whoami> {
    let needs_token = handles.gate.asks_for_tokens();
    Json(Whoami { name: by.name, role: by.role, needs_token })
}
