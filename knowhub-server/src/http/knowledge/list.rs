//! Listing knowledge page by page.

use axum::{Json, extract::State};
use protocol::hub::{FieldFault, Knowledge, KnowledgeStatus, Page, StatusFilter, TagFilter};

use crate::{
    http::{
        Error, Handles,
        caller::Reader,
        extract::QueryParams,
        openapi::ReadErrors,
        params::{FromParams, Paging, Params},
    },
    store::KnowledgeFilter,
};

/// The statuses that a list shows unless it is asked for others: those that search finds.
const DEFAULT_STATUSES: [KnowledgeStatus; 2] =
    [KnowledgeStatus::Approved, KnowledgeStatus::Checked];

/// What a list of knowledge is asked for.
pub(in crate::http) struct KnowledgeList {
    filter: KnowledgeFilter,
    paging: Paging,
}

/// Lists records, newest first.
#[utoipa::path(
    get, path = "/api/knowledge", tag = "knowledge",
    params(
        ("page" = Option<u32>, Query, description = "Counted from 1", minimum = 1, maximum = 1_000_000),
        ("page_size" = Option<u8>, Query, description = "Records of a page", minimum = 1, maximum = 100),
        ("types" = Option<Vec<String>>, Query, description = "A record must have all of them", max_items = 100),
        ("owner" = Option<Vec<String>>, Query, description = "A record must have one of them", max_items = 100),
        ("scopes" = Option<Vec<String>>, Query, description = "A record must have one of them", max_items = 100),
        ("tags" = Option<Vec<TagFilter>>, Query, description = "name:value; a record must have all of them", max_items = 100),
        ("status" = Option<Vec<StatusFilter>>, Query, description = "A record must have one of them; approved and checked unless given", max_items = 100),
    ),
    responses((status = 200, body = Page<Knowledge>), ReadErrors)
)]
pub(in crate::http) async fn list_knowledge(
    State(handles): State<Handles>,
    _: Reader,
    QueryParams(list): QueryParams<KnowledgeList>,
) -> Result<Json<Page<Knowledge>>, Error> {
    let paging = list.paging;
    let (results, total) = handles
        .store
        .list_filtered_knowledge(list.filter, paging.offset(), paging.page_size)
        .await?;
    Ok(Json(paging.page_of(results, total)))
}

impl FromParams for KnowledgeList {
    fn from_params(params: &Params) -> Result<Self, FieldFault> {
        let filter = KnowledgeFilter {
            types: params.list("types")?,
            tags: params.pairs("tags")?,
            scopes: params.list("scopes")?,
            owners: params.list("owner")?,
            statuses: statuses(params)?,
        };
        Ok(Self { filter, paging: params.paging()? })
    }
}

fn statuses(params: &Params) -> Result<Vec<KnowledgeStatus>, FieldFault> {
    let statuses = params.list("status")?;
    if statuses.is_empty() {
        return Ok(DEFAULT_STATUSES.to_vec());
    }
    statuses.iter().map(|status| status.parse()).collect()
}
