//! Changing one knowledge record: feedback, edits, decisions, relations, deletion.

use axum::{Json, extract::State, response::IntoResponse};
use protocol::{
    KnowledgeId, Timestamp,
    hub::{
        FieldFault, Knowledge, KnowledgeDeleted, KnowledgeFeedback, KnowledgePatch,
        KnowledgeUpdated, NewRelationship, Verified, Verify, check_bound, check_present,
    },
};

use super::{PathKnowledge, author, judge, tagged};
use crate::{
    http::{
        Error, Handles,
        caller::{Admin, Writer},
        deletion::{Erase, Reason},
        etag::IfMatch,
        extract::{IdempotencyKey, JsonBody, QueryParams},
        openapi::{BodyErrors, NotFound, OtherVersion, ReadErrors, Unreadable},
        params::{FromParams, Params},
    },
    knowledge,
    store::{Deletion, Edited},
};

/// Takes in what a user found of a record: cases, a score, what it should say.
#[utoipa::path(
    put, path = "/api/knowledge/{id}", tag = "knowledge", request_body = KnowledgeFeedback,
    params(
        ("id" = KnowledgeId, Path, description = "The record's id"),
        ("if-match" = Option<String>, Header, description = "The version it is about, as its ETag"),
    ),
    responses((status = 200, body = KnowledgeUpdated), NotFound, OtherVersion, BodyErrors, ReadErrors)
)]
pub(in crate::http) async fn update_knowledge(
    State(handles): State<Handles>,
    Writer(by): Writer,
    PathKnowledge(id): PathKnowledge,
    IfMatch(expected): IfMatch,
    key: IdempotencyKey,
    JsonBody(feedback): JsonBody<KnowledgeFeedback>,
) -> Result<impl IntoResponse, Error> {
    let author = judge(&by, feedback.on_behalf_of.as_ref())?;
    let request = key.request(&author.name, &feedback);
    let updated =
        handles.editor.take_feedback(id.clone(), feedback, expected, author, request).await?;
    tracing::info!(knowledge.id = %id, replayed = updated.replayed, "knowledge updated");
    Ok(tagged(updated))
}

/// Edits a record; what it said before is kept.
#[utoipa::path(
    patch, path = "/api/knowledge/{id}", tag = "knowledge", request_body = KnowledgePatch,
    params(
        ("id" = KnowledgeId, Path, description = "The record's id"),
        ("if-match" = Option<String>, Header, description = "The version that is edited, as its ETag"),
    ),
    responses((status = 200, body = Knowledge), NotFound, OtherVersion, BodyErrors, ReadErrors)
)]
pub(in crate::http) async fn patch_knowledge(
    State(handles): State<Handles>,
    Writer(by): Writer,
    PathKnowledge(id): PathKnowledge,
    IfMatch(expected): IfMatch,
    JsonBody(patch): JsonBody<KnowledgePatch>,
) -> Result<impl IntoResponse, Error> {
    let edit = move |record: &mut Knowledge| {
        knowledge::patch(record, patch);
        Ok(())
    };
    let written =
        handles.store.update_knowledge(id.clone(), expected, author(by), None, edit).await?;
    tracing::info!(knowledge.id = %id, "knowledge edited");
    Ok(tagged(written.map(Edited::into_parts)))
}

/// Approves or rejects a record.
///
/// Needs the role admin.
#[utoipa::path(
    post, path = "/api/knowledge/{id}/verify", tag = "knowledge", request_body = Verify,
    params(
        ("id" = KnowledgeId, Path, description = "The record's id"),
        ("if-match" = Option<String>, Header, description = "The version that is decided on, as its ETag"),
    ),
    responses((status = 200, body = Verified), NotFound, OtherVersion, BodyErrors, ReadErrors)
)]
pub(in crate::http) async fn verify_knowledge(
    State(handles): State<Handles>,
    Admin(by): Admin,
    PathKnowledge(id): PathKnowledge,
    IfMatch(expected): IfMatch,
    key: IdempotencyKey,
    JsonBody(verify): JsonBody<Verify>,
) -> Result<impl IntoResponse, Error> {
    let request = key.request(&by.name, &verify);
    let author = author(by);
    let verified_by = author.claimed(verify.verified_by);
    let edit = move |record: &mut Knowledge| knowledge::verify(record, verify.action, &verified_by);
    let written =
        handles.store.update_knowledge(id.clone(), expected, author, request, edit).await?;
    tracing::info!(knowledge.id = %id, action = ?verify.action, "knowledge verified");
    Ok(tagged(written.map(|edited| {
        let status = edited.record.status;
        (edited.version, Verified { id, status })
    })))
}

/// Relates a record to another, and the other to it.
#[utoipa::path(
    post, path = "/api/knowledge/{id}/relationships", tag = "knowledge",
    request_body = NewRelationship,
    params(
        ("id" = KnowledgeId, Path, description = "The record's id"),
        ("if-match" = Option<String>, Header, description = "The version that is edited, as its ETag"),
    ),
    responses((status = 200, body = Knowledge), NotFound, OtherVersion, BodyErrors, ReadErrors)
)]
pub(in crate::http) async fn create_relationship(
    State(handles): State<Handles>,
    Writer(by): Writer,
    PathKnowledge(id): PathKnowledge,
    IfMatch(expected): IfMatch,
    key: IdempotencyKey,
    JsonBody(new): JsonBody<NewRelationship>,
) -> Result<impl IntoResponse, Error> {
    let request = key.request(&by.name, &new);
    let written =
        handles.store.insert_relationship(id.clone(), new, expected, author(by), request).await?;
    tracing::info!(knowledge.id = %id, "knowledge related");
    Ok(tagged(written.map(Edited::into_parts)))
}

/// Ends a relation on both records.
#[utoipa::path(
    delete, path = "/api/knowledge/{id}/relationships", tag = "knowledge",
    params(
        ("id" = KnowledgeId, Path, description = "The record's id"),
        ("type" = String, Query, description = "The relation, as this record tells it", min_length = 1, max_length = 2_000),
        ("target" = KnowledgeId, Query, description = "The other record"),
        ("if-match" = Option<String>, Header, description = "The version that is edited, as its ETag"),
    ),
    responses((status = 200, body = Knowledge), NotFound, OtherVersion, Unreadable, ReadErrors)
)]
pub(in crate::http) async fn delete_relationship(
    State(handles): State<Handles>,
    Writer(by): Writer,
    PathKnowledge(id): PathKnowledge,
    IfMatch(expected): IfMatch,
    QueryParams(old): QueryParams<NewRelationship>,
) -> Result<impl IntoResponse, Error> {
    let written = handles.store.delete_relationship(id.clone(), old, expected, author(by)).await?;
    tracing::info!(knowledge.id = %id, "knowledge parted");
    Ok(tagged(written.map(Edited::into_parts)))
}

/// Deletes a record; what it said stays readable to an admin unless it is erased.
///
/// Needs the role admin.
#[utoipa::path(
    delete, path = "/api/knowledge/{id}", tag = "knowledge",
    params(
        ("id" = KnowledgeId, Path, description = "The record's id"),
        ("reason" = Option<String>, Query, description = "Why; kept with the tombstone", max_length = 2_000),
        ("erase" = Option<bool>, Query, description = "Remove for good whatever it said, and what was said of it"),
        ("if-match" = Option<String>, Header, description = "The version that is to be deleted, as its ETag"),
    ),
    responses((status = 200, body = KnowledgeDeleted), NotFound, OtherVersion, Unreadable, ReadErrors)
)]
pub(in crate::http) async fn delete_knowledge(
    State(handles): State<Handles>,
    Admin(by): Admin,
    PathKnowledge(id): PathKnowledge,
    IfMatch(expected): IfMatch,
    Reason(reason): Reason,
    QueryParams(Erase(erase)): QueryParams<Erase>,
) -> Result<Json<KnowledgeDeleted>, Error> {
    let deletion = Deletion { by: by.name, reason, at: Timestamp::now() };
    let deleted = handles.store.delete_knowledge(id, expected, deletion, erase).await?;
    tracing::info!(knowledge.id = %deleted.id, erased = deleted.erased, "knowledge deleted");
    Ok(Json(deleted))
}

impl FromParams for NewRelationship {
    fn from_params(params: &Params) -> Result<Self, FieldFault> {
        let required = |name| {
            let text = params.text(name)?;
            text.ok_or_else(|| FieldFault::new(name, "required"))
        };
        let target = required("target")?.parse::<KnowledgeId>();
        let target = target.map_err(|fault| FieldFault::new("target", fault.to_string()))?;
        // One that ends may be longer than one that is made: it may be the inverse of that.
        let kind = required("type")?;
        check_present("type", kind)?;
        check_bound("type", kind)?;
        Ok(Self { kind: kind.to_owned(), target })
    }
}
