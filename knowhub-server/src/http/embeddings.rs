//! Telling how far the knowledge is embedded.

use axum::{Json, extract::State};
use protocol::hub::Embeddings;

use super::{Error, Handles, caller::Reader, openapi::ReadErrors};

/// Tells how many records are embedded, and how many are still to be.
#[utoipa::path(
    get, path = "/api/embeddings", tag = "operations",
    responses((status = 200, body = Embeddings), ReadErrors)
)]
pub(super) async fn show_embeddings(
    State(handles): State<Handles>,
    _: Reader,
) -> Result<Json<Embeddings>, Error> {
    let counts = handles.store.count_vectors(handles.search.embedding_space()).await?;
    Ok(Json(Embeddings {
        progress: handles.search.embedding_progress(),
        records: counts.records,
        embedded: counts.embedded,
        cut: counts.cut,
        refused: counts.refused,
    }))
}
