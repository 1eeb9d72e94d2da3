//! What a knowledge record said before, and what its users said it should say.

use axum::{Json, extract::State};
use protocol::{
    KnowledgeId,
    hub::{EarlierVersion, Feedback, Knowledge, Page},
};

use super::{PathKnowledge, unknown};
use crate::{
    http::{
        Error, Handles,
        caller::Reader,
        extract::QueryParams,
        openapi::{NotFound, ReadErrors, Unreadable},
        params::Paging,
        versions::{self, VersionParams},
    },
    store::RecordKind,
};

/// Lists what a record said before, newest first; of a deleted one only an admin sees it.
#[utoipa::path(
    get, path = "/api/versions/knowledge/{id}", tag = "knowledge",
    params(
        ("id" = KnowledgeId, Path, description = "The record's id"),
        ("version" = Option<i64>, Query, description = "Only this one", minimum = 1),
        ("page" = Option<u32>, Query, description = "Counted from 1", minimum = 1, maximum = 1_000_000),
        ("page_size" = Option<u8>, Query, description = "Versions of a page", minimum = 1, maximum = 100),
    ),
    responses((status = 200, body = Page<EarlierVersion<Knowledge>>), NotFound, ReadErrors)
)]
pub(in crate::http) async fn list_knowledge_versions(
    State(handles): State<Handles>,
    Reader(by): Reader,
    PathKnowledge(id): PathKnowledge,
    QueryParams(params): QueryParams<VersionParams>,
) -> Result<Json<Page<EarlierVersion<Knowledge>>>, Error> {
    let kind = RecordKind::Knowledge;
    let page = versions::list(&handles, kind, id.to_string(), &by, params).await?;
    page.map(Json).ok_or_else(|| unknown(id.to_string()))
}

/// Lists what users said a record should say, newest first.
#[utoipa::path(
    get, path = "/api/knowledge/{id}/feedback", tag = "knowledge",
    params(
        ("id" = KnowledgeId, Path, description = "The record's id"),
        ("page" = Option<u32>, Query, description = "Counted from 1", minimum = 1, maximum = 1_000_000),
        ("page_size" = Option<u8>, Query, description = "Entries of a page", minimum = 1, maximum = 100),
    ),
    responses((status = 200, body = Page<Feedback>), NotFound, Unreadable, ReadErrors)
)]
pub(in crate::http) async fn list_feedback(
    State(handles): State<Handles>,
    _: Reader,
    PathKnowledge(id): PathKnowledge,
    QueryParams(paging): QueryParams<Paging>,
) -> Result<Json<Page<Feedback>>, Error> {
    let (feedback, total) =
        handles.store.list_feedback(id, paging.offset(), paging.page_size).await?;
    Ok(Json(paging.page_of(feedback, total)))
}
