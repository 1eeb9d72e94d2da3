//! Showing and listing resources.

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, header},
    response::IntoResponse,
};
use protocol::{
    Timestamp,
    hub::{
        self, ContentType, DemandKind, FieldFault, Page, ResourceEntry, ResourcePrefix,
        ResourceReading,
    },
};

use crate::{
    http::{
        Error, Handles,
        caller::Reader,
        etag::Tagged,
        extract::QueryParams,
        openapi::{NotFound, ReadErrors},
        org_key::OrgKey,
        params::{FromParams, Paging, Params},
        path::PathText,
    },
    resource,
    search::{ResourceQuery, shown_experience},
    store::{Reading, Resource, ResourceFilter},
    vault::ShownKey,
};

/// Shows the stored resource of an id together with the experiences of that name.
#[utoipa::path(
    get, path = "/api/resource/{*id}", tag = "resources",
    params(
        ("id" = String, Path, description = "A resource's id or the name of experiences; slashes may stand as they are"),
        ("page" = Option<u32>, Query, description = "Which page of experiences, counted from 1", minimum = 1, maximum = 1_000_000),
        ("page_size" = Option<u8>, Query, description = "Experiences of a page", minimum = 1, maximum = 100),
        ("x-org-key" = Option<String>, Header, description = "The org's key, base64; opens the secret"),
    ),
    responses((status = 200, body = ResourceReading), NotFound, ReadErrors)
)]
pub(in crate::http) async fn show_resource(
    State(handles): State<Handles>,
    _: Reader,
    PathText(name): PathText,
    OrgKey(shown): OrgKey,
    QueryParams(paging): QueryParams<Paging>,
) -> Result<impl IntoResponse, Error> {
    let reading =
        handles.store.find_reading(name.clone(), paging.offset(), paging.page_size).await?;
    let Some(Reading { resource, aggregate, experiences, contents }) = reading else {
        handles.lookups.missing(DemandKind::Resource, &name);
        return Err(Error::NoResource { id: name });
    };
    let answer = ResourceReading {
        resource: resource.map(|stored| show(&handles, stored, shown.as_ref())).transpose()?,
        name,
        url: aggregate.url,
        avg_score: aggregate.avg_score,
        experience_count: aggregate.experience_count,
        experiences: experiences.iter().map(shown_experience).collect(),
        contents,
        page: paging.page.into(),
        page_size: paging.page_size.into(),
    };
    let version = answer.resource.as_ref().map(|resource| resource.version);
    // A secret must not stay in any cache on its way.
    let private = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    Ok((private, Tagged { version, answer }))
}

/// Returns what a reader sees, with the secret opened for who shows the org's key.
fn show(
    handles: &Handles,
    stored: Resource,
    shown: Option<&ShownKey>,
) -> Result<hub::Resource, Error> {
    let record = stored.record();
    let opened = handles.vault.show(&record.id, record.secure_body.expose(), shown)?;
    Ok(resource::shown(record, opened, Timestamp::now()))
}

/// What a list of resources is asked for.
pub(in crate::http) struct ResourceList {
    q: Option<String>,
    filter: ResourceFilter,
    paging: Paging,
}

/// Lists resources by id, or finds those that answer a query, best first.
#[utoipa::path(
    get, path = "/api/resource", tag = "resources",
    params(
        ("q" = Option<String>, Query, description = "Words or a question", min_length = 1, max_length = 4_000, pattern = r"[^\s\x85]"),
        ("prefix" = Option<ResourcePrefix>, Query, description = "Only this id and those below it"),
        ("content_type" = Option<ContentType>, Query, description = "Only this type"),
        ("page" = Option<u32>, Query, description = "Counted from 1", minimum = 1, maximum = 1_000_000),
        ("page_size" = Option<u8>, Query, description = "Resources of a page", minimum = 1, maximum = 100),
    ),
    responses((status = 200, body = Page<ResourceEntry>), ReadErrors)
)]
pub(in crate::http) async fn list_resources(
    State(handles): State<Handles>,
    _: Reader,
    QueryParams(list): QueryParams<ResourceList>,
) -> Result<Json<Page<ResourceEntry>>, Error> {
    let ResourceList { q, filter, paging } = list;
    let (rows, total) = match q {
        Some(q) => {
            let (offset, limit) = (paging.offset() as usize, paging.page_size as usize);
            let query = ResourceQuery { q, filter, offset, limit };
            let found = handles.search.resources(&query).await?;
            handles.lookups.searched(DemandKind::ResourceSearch, &query.q, found.1 as usize, 0);
            found
        }
        None => handles.store.list_resource_page(filter, paging.offset(), paging.page_size).await?,
    };
    let now = Timestamp::now();
    let entries = rows.into_iter().map(|row| row.entry(now)).collect();
    Ok(Json(paging.page_of(entries, total)))
}

impl FromParams for ResourceList {
    fn from_params(params: &Params) -> Result<Self, FieldFault> {
        let prefix =
            params.text("prefix")?.map(|prefix| prefix.strip_suffix('/').unwrap_or(prefix));
        let prefix = prefix.filter(|prefix| !prefix.is_empty()).map(str::parse).transpose();
        let q = params.text("q")?.map(|_| params.query_text()).transpose()?;
        Ok(Self {
            q,
            filter: ResourceFilter {
                prefix: prefix.map_err(|err: protocol::ids::IdFault| {
                    FieldFault::new("prefix", err.to_string())
                })?,
                content_type: params.text("content_type")?.map(str::parse).transpose()?,
            },
            paging: params.paging()?,
        })
    }
}

impl FromParams for Paging {
    fn from_params(params: &Params) -> Result<Self, FieldFault> {
        params.paging()
    }
}
