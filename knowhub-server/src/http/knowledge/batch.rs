//! Judging and deleting several knowledge records in one call.

use axum::extract::State;
use protocol::{
    Timestamp,
    hub::{BatchDelete, BatchResults, BatchUpdate, BatchVerify, Knowledge, NewEvaluations},
};

use super::{author, judge};
use crate::{
    http::{
        Error, Handles,
        caller::{Admin, Writer},
        deletion::Reason,
        extract::{Answered, IdempotencyKey, JsonBody},
        openapi::{BodyErrors, ReadErrors},
    },
    knowledge,
    store::{Deletion, Written},
};

/// Approves records; what holds for one holds for each.
///
/// Needs the role admin.
#[utoipa::path(
    post, path = "/api/knowledge/batch_verify", tag = "knowledge", request_body = BatchVerify,
    responses((status = 200, body = BatchResults), BodyErrors, ReadErrors)
)]
pub(in crate::http) async fn batch_verify(
    State(handles): State<Handles>,
    Admin(by): Admin,
    key: IdempotencyKey,
    JsonBody(batch): JsonBody<BatchVerify>,
) -> Result<Answered<BatchResults>, Error> {
    let request = key.request(&by.name, &batch);
    let author = author(by);
    let verified_by = author.claimed(batch.verified_by);
    let edit = move |record: &mut Knowledge| knowledge::verify(record, batch.action, &verified_by);
    let ids = batch.knowledge_ids;
    let written = handles.store.update_each_knowledge(ids, author, request, edit).await?;
    Ok(answered(written, "knowledge verified"))
}

/// Takes in which records helped, and what they should say.
#[utoipa::path(
    post, path = "/api/knowledge/batch_update", tag = "knowledge", request_body = BatchUpdate,
    responses((status = 200, body = BatchResults), BodyErrors, ReadErrors)
)]
pub(in crate::http) async fn batch_update(
    State(handles): State<Handles>,
    Writer(by): Writer,
    key: IdempotencyKey,
    JsonBody(batch): JsonBody<BatchUpdate>,
) -> Result<Answered<BatchResults>, Error> {
    let author = judge(&by, batch.on_behalf_of.as_ref())?;
    let request = key.request(&author.name, &batch);
    let written = handles.editor.take_batch(batch, author, request).await?;
    Ok(answered(written, "knowledge updated"))
}

/// Deletes the records of a bare list of ids, and no other.
///
/// Needs the role admin.
#[utoipa::path(
    post, path = "/api/knowledge/batch_delete", tag = "knowledge", request_body = BatchDelete,
    params(("reason" = Option<String>, Query, description = "Why; kept with the tombstones", max_length = 2_000)),
    responses((status = 200, body = BatchResults), BodyErrors, ReadErrors)
)]
pub(in crate::http) async fn batch_delete(
    State(handles): State<Handles>,
    Admin(by): Admin,
    key: IdempotencyKey,
    Reason(reason): Reason,
    JsonBody(batch): JsonBody<BatchDelete>,
) -> Result<Answered<BatchResults>, Error> {
    let request = key.request(&by.name, &batch);
    let deletion = Deletion { by: by.name, reason, at: Timestamp::now() };
    let ids = batch.knowledge_ids;
    let written = handles.store.delete_each_knowledge(ids, deletion, request).await?;
    Ok(answered(written, "knowledge deleted"))
}

/// Takes in what agents found of the records that were injected into a trace; each verdict counts once.
#[utoipa::path(
    post, path = "/api/knowledge/evaluations", tag = "knowledge", request_body = NewEvaluations,
    responses((status = 200, body = BatchResults), BodyErrors, ReadErrors)
)]
pub(in crate::http) async fn create_evaluations(
    State(handles): State<Handles>,
    Writer(by): Writer,
    key: IdempotencyKey,
    JsonBody(reported): JsonBody<NewEvaluations>,
) -> Result<Answered<BatchResults>, Error> {
    let author = judge(&by, reported.on_behalf_of.as_ref())?;
    let request = key.request(&author.name, &reported);
    let written = handles.store.insert_evaluations(reported, author, request).await?;
    Ok(answered(written, "knowledge evaluated"))
}

fn answered(written: Written<BatchResults>, what: &str) -> Answered<BatchResults> {
    let results = &written.answer.results;
    let done = results.iter().filter(|result| result.ok).count();
    tracing::info!(items = results.len(), done, replayed = written.replayed, "{what}");
    Answered(written)
}
