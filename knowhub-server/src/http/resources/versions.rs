//! Showing what a resource said before it was changed or deleted.

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, header},
    response::IntoResponse,
};
use protocol::{
    ResourceId, Timestamp,
    hub::{DAMAGED_PLACEHOLDER, EarlierVersion, Page, Resource, SecretText},
};

use crate::{
    http::{
        Error, Handles,
        caller::Reader,
        extract::QueryParams,
        openapi::{NotFound, ReadErrors},
        org_key::OrgKey,
        path::PathId,
        versions::{self, VersionParams},
    },
    resource,
    store::RecordKind,
    vault::ShowError,
};

/// Lists what a resource said before, newest first.
#[utoipa::path(
    get, path = "/api/versions/resource/{*id}", tag = "resources",
    params(
        ("id" = ResourceId, Path, description = "The resource's id; slashes may stand as they are"),
        ("version" = Option<i64>, Query, description = "Only this one", minimum = 1),
        ("page" = Option<u32>, Query, description = "Counted from 1", minimum = 1, maximum = 1_000_000),
        ("page_size" = Option<u8>, Query, description = "Versions of a page", minimum = 1, maximum = 100),
        ("x-org-key" = Option<String>, Header, description = "The org's key, base64; opens the secrets"),
    ),
    responses((status = 200, body = Page<EarlierVersion<Resource>>), NotFound, ReadErrors)
)]
pub(in crate::http) async fn list_resource_versions(
    State(handles): State<Handles>,
    Reader(by): Reader,
    PathId(id): PathId,
    OrgKey(shown): OrgKey,
    QueryParams(params): QueryParams<VersionParams>,
) -> Result<impl IntoResponse, Error> {
    let kind = RecordKind::Resource;
    let page = versions::list::<Resource>(&handles, kind, id.to_string(), &by, params).await?;
    let Some(Page { results, total, page, page_size }) = page else {
        return Err(Error::NoResource { id: id.to_string() });
    };
    let now = Timestamp::now();
    let results = results.into_iter().map(|earlier| {
        let cell = earlier.record.secure_body.expose();
        let opened = match handles.vault.show(&id, cell, shown.as_ref()) {
            // One that was sealed with a lost key must not hide the others.
            Err(ShowError::Damaged(_)) => Some(SecretText::from(DAMAGED_PLACEHOLDER.to_owned())),
            opened => opened?,
        };
        let record = resource::shown(earlier.record, opened, now);
        Ok(EarlierVersion { record, ..earlier })
    });
    let results = results.collect::<Result<_, Error>>()?;
    let private = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((private, Json(Page { results, total, page, page_size })))
}
