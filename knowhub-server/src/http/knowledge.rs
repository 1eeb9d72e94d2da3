//! Reporting, showing and searching knowledge.

pub(super) mod batch;
pub(super) mod change;
pub(super) mod history;
pub(super) mod list;
pub(super) mod merge;
pub(super) mod slim;

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::{header, request::Parts},
    response::IntoResponse,
};
use protocol::{
    ContactId, KnowledgeId, Timestamp,
    hub::{
        DEFAULT_MIN_SCORE, DEFAULT_TOP_K, DemandKind, FieldFault, Knowledge, KnowledgeCreated,
        KnowledgeSearch, KnowledgeStatus, MAX_TOP_K, NewKnowledge, TagFilter,
    },
};
use serde::Serialize;

use super::{
    Error, Handles,
    caller::{Reader, Writer},
    etag::{self, Tagged},
    extract::{Answered, Created, IdempotencyKey, JsonBody, QueryParams},
    openapi::{BodyErrors, NotFound, ReadErrors},
    params::{FromParams, Params},
    path::PathText,
};
use crate::{
    access::Principal,
    knowledge::{Author, Refusal, new_record},
    search::{KnowledgeQuery, Means},
    store::Written,
};

/// Stores a knowledge record; one that says what another says already is `rejected` for the sake of that.
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
    let request = key.request(&by.name, &report);
    let stamp = by.stamp(report.on_behalf_of.as_ref())?;
    let now = Timestamp::now();
    let draw = move || KnowledgeId::new(now, rand::random());
    let record = new_record(report, stamp, draw(), handles.pipeline.first_status(), now);
    let served_from = handles.pipeline.served_from(&record).await?;
    let written = handles.store.insert_knowledge(record, served_from, draw, request).await?;
    let KnowledgeCreated { id, status, .. } = &written.answer;
    if *status == KnowledgeStatus::Pending {
        handles.pipeline.reported();
    }
    if written.answer.duplicate_of.is_some() && !written.replayed {
        handles.metrics.merged("report");
    }
    let (status, replayed) = (status.as_str(), written.replayed);
    tracing::info!(knowledge.id = %id, status, replayed, "knowledge stored");
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
    PathKnowledge(id): PathKnowledge,
) -> Result<Tagged<Knowledge>, Error> {
    let row = handles.store.find_knowledge(id.clone()).await?;
    let row = row.ok_or_else(|| unknown(id.to_string()))?;
    Ok(Tagged { version: Some(row.version), answer: row.record })
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

/// The record that a path names; what is no id names none.
pub(super) struct PathKnowledge(KnowledgeId);

impl<S: Send + Sync> FromRequestParts<S> for PathKnowledge {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let text = PathText::from_request_parts(parts, state).await;
        let text = text.map(|PathText(text)| text).unwrap_or_default();
        text.parse().map(Self).map_err(|_| unknown(text))
    }
}

fn unknown(id: String) -> Error {
    Error::Store(Refusal::Unknown { id }.into())
}

/// Returns who changes a record, now.
fn author(by: Principal) -> Author {
    Author { name: by.name, now: Timestamp::now() }
}

/// Returns who judges a record, now: the caller, or through it a contact.
fn judge(by: &Principal, on_behalf_of: Option<&ContactId>) -> Result<Author, Error> {
    Ok(Author { name: by.judge(on_behalf_of)?, now: Timestamp::now() })
}

/// Returns the answer to a change, with the version that the record has now.
fn tagged<T: Serialize>(written: Written<(i64, T)>) -> impl IntoResponse {
    let version = etag::tag(written.answer.0);
    ([(header::ETAG, version)], Answered(written.map(|(_, answer)| answer)))
}

impl FromParams for KnowledgeQuery {
    fn from_params(params: &Params) -> Result<Self, FieldFault> {
        Ok(Self {
            q: params.query_text()?,
            top_k: params.number("top_k", DEFAULT_TOP_K, 1..=MAX_TOP_K)?,
            min_score: params.number("min_score", DEFAULT_MIN_SCORE.into(), 1..=5)? as u8,
            types: params.list("types")?,
            owners: params.list("owner")?,
            scopes: params.list("scopes")?,
            tags: params.pairs("tags")?,
            all: params.flag("all")?,
            means: Means::Model,
        })
    }
}
