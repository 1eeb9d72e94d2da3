//! Reporting and searching experiences.

use axum::{Json, extract::State};
use protocol::{
    Timestamp,
    hub::{DemandKind, ExperienceCreated, ExperienceSearch, FieldFault, NewExperience},
};

use super::{
    Error, Handles,
    caller::{Reader, Writer},
    extract::{Created, IdempotencyKey, JsonBody, QueryParams},
    openapi::{BodyErrors, ReadErrors},
    params::{FromParams, Params},
};
use crate::search::ExperienceQuery;

/// How many names a search shows unless it says otherwise.
const DEFAULT_LIMIT: usize = 10;

/// How many names a search may ask for; more is refused with 422.
const MAX_LIMIT: usize = 100;

/// Stores an experience with a resource.
#[utoipa::path(
    post, path = "/api/experience", tag = "experiences", request_body = NewExperience,
    responses((status = 201, body = ExperienceCreated), ReadErrors, BodyErrors)
)]
pub(super) async fn create_experience(
    State(handles): State<Handles>,
    Writer(by): Writer,
    key: IdempotencyKey,
    JsonBody(report): JsonBody<NewExperience>,
) -> Result<Created<ExperienceCreated>, Error> {
    let request = key.request(&by, &report);
    let stamp = by.stamp(report.on_behalf_of.as_ref())?;
    let written = handles.store.insert_experience(report, stamp, Timestamp::now(), request).await?;
    tracing::info!(experience.id = %written.answer.id, replayed = written.replayed, "experience stored");
    Ok(Created(written))
}

/// Finds experiences, grouped by resource name.
#[utoipa::path(
    get, path = "/api/search", tag = "experiences",
    params(
        ("q" = String, Query, description = "Words or a question", min_length = 1, max_length = 4_000, pattern = r"[^\s\x85]"),
        ("category" = Option<String>, Query, description = "Only this category"),
        ("limit" = Option<u8>, Query, description = "How many names", minimum = 1, maximum = 100),
    ),
    responses((status = 200, body = ExperienceSearch), ReadErrors)
)]
pub(super) async fn search_experiences(
    State(handles): State<Handles>,
    _: Reader,
    QueryParams(query): QueryParams<ExperienceQuery>,
) -> Result<Json<ExperienceSearch>, Error> {
    let found = handles.search.experiences(&query).await?;
    handles.lookups.searched(DemandKind::ExperienceSearch, &query.q, found.results.len(), 0);
    Ok(Json(found))
}

impl FromParams for ExperienceQuery {
    fn from_params(params: &Params) -> Result<Self, FieldFault> {
        let category = params.text("category")?.filter(|category| !category.is_empty());
        Ok(Self {
            q: params.query_text()?,
            category: category.map(str::to_owned),
            limit: params.number("limit", DEFAULT_LIMIT, 1..=MAX_LIMIT)?,
        })
    }
}
