//! Reporting, showing and searching knowledge.

pub(super) mod list;

use axum::{
    Json,
    extract::{Path, State, rejection::PathRejection},
};
use protocol::{
    KnowledgeId, Timestamp,
    hub::{
        DemandKind, FieldFault, Knowledge, KnowledgeCreated, KnowledgeSearch, MAX_TOP_K,
        NewKnowledge, TagFilter,
    },
};

use super::{
    Error, Handles,
    caller::{Reader, Writer},
    extract::{Created, IdempotencyKey, JsonBody, QueryParams},
    openapi::{BodyErrors, NotFound, ReadErrors},
    params::{FromParams, Params},
};
use crate::{knowledge::new_record, search::KnowledgeQuery};

/// How many results a search shows unless it says otherwise.
const DEFAULT_TOP_K: usize = 5;

/// The lowest score shown unless a search says otherwise.
const DEFAULT_MIN_SCORE: usize = 3;

/// Stores a knowledge record.
#[utoipa::path(
    post, path = "/api/knowledge", tag = "knowledge", request_body = NewKnowledge,
    responses((status = 201, body = KnowledgeCreated), ReadErrors, BodyErrors)
)]
pub(super) async fn create_knowledge(
    State(handles): State<Handles>,
    Writer(by): Writer,
    key: IdempotencyKey,
    JsonBody(report): JsonBody<NewKnowledge>,
) -> Result<Created<KnowledgeCreated>, Error> {
    let request = key.request(&by, &report);
    let stamp = by.stamp(report.on_behalf_of.as_ref())?;
    let now = Timestamp::now();
    let draw = move || KnowledgeId::new(now, rand::random());
    let record = new_record(report, stamp, draw(), now);
    let written = handles.store.insert_knowledge(record, draw, request).await?;
    tracing::info!(knowledge.id = %written.answer.id, replayed = written.replayed, "knowledge stored");
    Ok(Created(written))
}

/// Shows one record.
#[utoipa::path(
    get, path = "/api/knowledge/{id}", tag = "knowledge",
    params(("id" = KnowledgeId, Path, description = "The record's id")),
    responses((status = 200, body = Knowledge), NotFound, ReadErrors)
)]
pub(super) async fn show_knowledge(
    State(handles): State<Handles>,
    _: Reader,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<Knowledge>, Error> {
    let id = id.map(|Path(id)| id).unwrap_or_default();
    // What is no id names no record.
    let record = match id.parse() {
        Ok(id) => handles.store.find_knowledge(id).await?,
        Err(_) => None,
    };
    record.map(Json).ok_or(Error::NoKnowledge { id })
}

/// Finds knowledge that answers a question.
#[utoipa::path(
    get, path = "/api/knowledge/search", tag = "knowledge",
    params(
        ("q" = String, Query, description = "A question or words", min_length = 1, max_length = 4_000, pattern = r"[^\s\x85]"),
        ("top_k" = Option<u8>, Query, description = "How many results", minimum = 1, maximum = 20),
        ("min_score" = Option<u8>, Query, description = "The lowest score", minimum = 1, maximum = 5),
        ("types" = Option<Vec<String>>, Query, description = "A record must have all of them", max_items = 100),
        ("owner" = Option<Vec<String>>, Query, description = "A record must have one of them", max_items = 100),
        ("scopes" = Option<Vec<String>>, Query, description = "A record must have one of them", max_items = 100),
        ("tags" = Option<Vec<TagFilter>>, Query, description = "name:value; a record must have all of them", max_items = 100),
        ("all" = Option<bool>, Query, description = "Show what is judged irrelevant, marked"),
    ),
    responses((status = 200, body = KnowledgeSearch), ReadErrors)
)]
pub(super) async fn search_knowledge(
    State(handles): State<Handles>,
    _: Reader,
    QueryParams(query): QueryParams<KnowledgeQuery>,
) -> Result<Json<KnowledgeSearch>, Error> {
    let found = handles.search.knowledge(&query).await?;
    let relevant = found.results.iter().filter(|hit| hit.relevant).count();
    handles.lookups.searched(DemandKind::KnowledgeSearch, &query.q, relevant, found.withheld);
    Ok(Json(found))
}

impl FromParams for KnowledgeQuery {
    fn from_params(params: &Params) -> Result<Self, FieldFault> {
        Ok(Self {
            q: params.query_text()?,
            top_k: params.number("top_k", DEFAULT_TOP_K, 1..=MAX_TOP_K)?,
            min_score: params.number("min_score", DEFAULT_MIN_SCORE, 1..=5)? as u8,
            types: params.list("types")?,
            owners: params.list("owner")?,
            scopes: params.list("scopes")?,
            tags: params.pairs("tags")?,
            all: params.flag("all")?,
        })
    }
}
