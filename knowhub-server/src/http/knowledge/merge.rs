//! How far the processing of a record is, and taking back that it was merged into another.

use axum::{Json, extract::State, response::IntoResponse};
use protocol::{
    KnowledgeId,
    hub::{MergeUndone, Processing, UndoMerge},
};

use super::{PathKnowledge, author, tagged, unknown};
use crate::http::{
    Error, Handles,
    caller::{Admin, Reader},
    etag::IfMatch,
    extract::{IdempotencyKey, JsonBodyIfAny},
    openapi::{BodyErrors, NotFound, OtherVersion, ReadErrors},
};

/// Shows how far the processing of a record is, and what it was merged into.
#[utoipa::path(
    get, path = "/api/knowledge/{id}/processing", tag = "knowledge",
    params(("id" = KnowledgeId, Path, description = "The record's id")),
    responses((status = 200, body = Processing), NotFound, ReadErrors)
)]
pub(in crate::http) async fn show_processing(
    State(handles): State<Handles>,
    _: Reader,
    PathKnowledge(id): PathKnowledge,
) -> Result<Json<Processing>, Error> {
    let found = handles.store.find_processing(id.clone()).await?;
    found.map(Json).ok_or_else(|| unknown(id.to_string()))
}

/// Lets a record back in that was merged into another, and ends what the merge said of both.
///
/// Needs the role admin.
#[utoipa::path(
    post, path = "/api/knowledge/{id}/undo_merge", tag = "knowledge",
    request_body = Option<UndoMerge>,
    params(
        ("id" = KnowledgeId, Path, description = "The record's id"),
        ("if-match" = Option<String>, Header, description = "The version that is let back in, as its ETag"),
    ),
    responses((status = 200, body = MergeUndone), NotFound, OtherVersion, BodyErrors, ReadErrors)
)]
pub(in crate::http) async fn undo_merge(
    State(handles): State<Handles>,
    Admin(by): Admin,
    PathKnowledge(id): PathKnowledge,
    IfMatch(expected): IfMatch,
    key: IdempotencyKey,
    JsonBodyIfAny(body): JsonBodyIfAny<UndoMerge>,
) -> Result<impl IntoResponse, Error> {
    let request = key.request(&by.name, &body);
    let written =
        handles.store.undo_merge(id.clone(), body.reason, expected, author(by), request).await?;
    if !written.replayed {
        handles.metrics.merge_undone();
    }
    tracing::info!(knowledge.id = %id, "a merge of knowledge taken back");
    Ok(tagged(written))
}
