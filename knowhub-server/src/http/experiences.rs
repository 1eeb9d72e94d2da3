//! Reporting, searching, showing and deleting experiences.

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::request::Parts,
};
use protocol::{
    ExperienceId, Timestamp,
    hub::{
        DEFAULT_NAMES, DemandKind, EarlierVersion, Experience, ExperienceCreated,
        ExperienceDeleted, ExperienceSearch, FieldFault, MAX_NAMES, NewExperience, Page,
    },
};

use super::{
    Error, Handles,
    caller::{Admin, Reader, Writer},
    deletion::{Erase, Reason},
    etag::{IfMatch, Tagged},
    extract::{Created, IdempotencyKey, JsonBody, QueryParams},
    openapi::{BodyErrors, NotFound, OtherVersion, ReadErrors, Unreadable},
    params::{FromParams, Params},
    path::PathText,
    versions::{self, VersionParams},
};
use crate::{
    search::ExperienceQuery,
    store::{Deletion, ONLY_VERSION, RecordKind},
};

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
    let request = key.request(&by.name, &report);
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

/// Shows one experience, as `[experience-N]` cites it.
#[utoipa::path(
    get, path = "/api/experience/{id}", tag = "experiences",
    params(("id" = ExperienceId, Path, description = "The experience's number")),
    responses((status = 200, body = Experience), NotFound, ReadErrors)
)]
pub(super) async fn show_experience(
    State(handles): State<Handles>,
    _: Reader,
    PathExperience(id): PathExperience,
) -> Result<Tagged<Experience>, Error> {
    let row = handles.store.find_experience(id).await?.ok_or_else(|| none(id))?;
    Ok(Tagged { version: Some(ONLY_VERSION), answer: row.into() })
}

/// Deletes an experience; what it said stays readable to an admin unless it is erased.
///
/// Needs the role admin.
#[utoipa::path(
    delete, path = "/api/experience/{id}", tag = "experiences",
    params(
        ("id" = ExperienceId, Path, description = "The experience's number"),
        ("reason" = Option<String>, Query, description = "Why; kept with the tombstone", max_length = 2_000),
        ("erase" = Option<bool>, Query, description = "Remove for good what it said"),
        ("if-match" = Option<String>, Header, description = "The version that is to be deleted, as its ETag"),
    ),
    responses((status = 200, body = ExperienceDeleted), NotFound, OtherVersion, Unreadable, ReadErrors)
)]
pub(super) async fn delete_experience(
    State(handles): State<Handles>,
    Admin(by): Admin,
    PathExperience(id): PathExperience,
    IfMatch(expected): IfMatch,
    Reason(reason): Reason,
    QueryParams(Erase(erase)): QueryParams<Erase>,
) -> Result<Json<ExperienceDeleted>, Error> {
    let deletion = Deletion { by: by.name, reason, at: Timestamp::now() };
    let deleted = handles.store.delete_experience(id, expected, deletion, erase).await?;
    let deleted = deleted.ok_or_else(|| none(id))?;
    tracing::info!(experience.id = %id, erased = deleted.erased, "experience deleted");
    Ok(Json(deleted))
}

/// Shows what a deleted experience said; only to an admin.
#[utoipa::path(
    get, path = "/api/versions/experience/{id}", tag = "experiences",
    params(
        ("id" = ExperienceId, Path, description = "The experience's number"),
        ("version" = Option<i64>, Query, description = "Only this version", minimum = 1),
        ("page" = Option<u32>, Query, description = "Counted from 1", minimum = 1, maximum = 1_000_000),
        ("page_size" = Option<u8>, Query, description = "Versions of a page", minimum = 1, maximum = 100),
    ),
    responses((status = 200, body = Page<EarlierVersion<Experience>>), NotFound, ReadErrors)
)]
pub(super) async fn list_experience_versions(
    State(handles): State<Handles>,
    Reader(by): Reader,
    PathExperience(id): PathExperience,
    QueryParams(params): QueryParams<VersionParams>,
) -> Result<Json<Page<EarlierVersion<Experience>>>, Error> {
    let kind = RecordKind::Experience;
    let page = versions::list(&handles, kind, id.to_string(), &by, params).await?;
    page.map(Json).ok_or_else(|| none(id))
}

/// The experience that a path names; what is no number names none.
pub(super) struct PathExperience(ExperienceId);

impl<S: Send + Sync> FromRequestParts<S> for PathExperience {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let id = PathText::from_request_parts(parts, state).await;
        let id = id.map(|PathText(id)| id).unwrap_or_default();
        id.parse().map(Self).map_err(|_| Error::NoExperience { id })
    }
}

fn none(id: ExperienceId) -> Error {
    Error::NoExperience { id: id.to_string() }
}

impl FromParams for ExperienceQuery {
    fn from_params(params: &Params) -> Result<Self, FieldFault> {
        let category = params.text("category")?.filter(|category| !category.is_empty());
        Ok(Self {
            q: params.query_text()?,
            category: category.map(str::to_owned),
            limit: params.number("limit", DEFAULT_NAMES, 1..=MAX_NAMES)?,
        })
    }
}
