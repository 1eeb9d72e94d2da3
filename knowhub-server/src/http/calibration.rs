//! Telling when a search takes a record for an answer.

use axum::{Json, extract::State};
use protocol::hub::Calibration;

use super::{Handles, caller::Reader, openapi::ReadErrors};

/// Tells how the hub decides on relevance: by vectors too where it has an embedding model, else by words.
///
/// Records in another script than the question are judged by weights of their own.
#[utoipa::path(
    get, path = "/api/calibration", tag = "operations",
    responses((status = 200, body = Calibration), ReadErrors)
)]
pub(super) async fn show_calibration(
    State(handles): State<Handles>,
    _: Reader,
) -> Json<Calibration> {
    Json(handles.search.calibration().clone())
}
