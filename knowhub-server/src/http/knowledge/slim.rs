//! Merging what is stored already, over HTTP.

use axum::extract::State;
use protocol::{
    Timestamp,
    hub::{Slim, Slimmed},
};

use crate::{
    http::{
        Error, Handles,
        caller::Admin,
        extract::{Answered, IdempotencyKey, JsonBodyIfAny},
        openapi::{BodyErrors, ReadErrors},
    },
    store::Written,
};

/// Merges records into older ones that say as much, or tells which would be.
///
/// Needs the role admin.
#[utoipa::path(
    post, path = "/api/knowledge/slim", tag = "knowledge", request_body = Option<Slim>,
    responses((status = 200, body = Slimmed), BodyErrors, ReadErrors)
)]
pub(in crate::http) async fn slim_knowledge(
    State(handles): State<Handles>,
    Admin(by): Admin,
    key: IdempotencyKey,
    JsonBodyIfAny(order): JsonBodyIfAny<Slim>,
) -> Result<Answered<Slimmed>, Error> {
    let (request, now) = (key.request(&by.name, &order), Timestamp::now());
    if let Some(request) = &request
        && let Some(answer) = handles.store.find_answer(request.clone(), now).await?
    {
        return Ok(Answered(Written { answer, replayed: true }));
    }
    let slimmed = handles.pipeline.slim(&order, &by.name).await?;
    let (examined, merges) = (slimmed.examined, slimmed.merges.len());
    tracing::info!(examined, merges, dry_run = slimmed.dry_run, "knowledge slimmed");
    Ok(Answered(handles.store.insert_answer(request, slimmed, now).await?))
}
