//! Listing what was asked for and not found.

use axum::{Json, extract::State};
use protocol::hub::{Demand, DemandKind, FieldFault, Page};

use super::{
    Error, Handles,
    caller::Reader,
    extract::QueryParams,
    openapi::ReadErrors,
    params::{FromParams, Paging, Params},
};

/// What a list of the demand is asked for.
pub(super) struct DemandList {
    kind: Option<DemandKind>,
    paging: Paging,
}

/// Lists what was asked for and not found, most wanted first.
#[utoipa::path(
    get, path = "/api/demand", tag = "demand",
    params(
        ("kind" = Option<DemandKind>, Query, description = "Only this kind"),
        ("page" = Option<u32>, Query, description = "Counted from 1", minimum = 1, maximum = 1_000_000),
        ("page_size" = Option<u8>, Query, description = "Entries of a page", minimum = 1, maximum = 100),
    ),
    responses((status = 200, body = Page<Demand>), ReadErrors)
)]
pub(super) async fn list_demand(
    State(handles): State<Handles>,
    _: Reader,
    QueryParams(DemandList { kind, paging }): QueryParams<DemandList>,
) -> Result<Json<Page<Demand>>, Error> {
    let demand = &handles.lookups.demand;
    let (results, total) = demand.list(kind, paging.offset(), paging.page_size).await?;
    Ok(Json(paging.page_of(results, total)))
}

impl FromParams for DemandList {
    fn from_params(params: &Params) -> Result<Self, FieldFault> {
        let kind = params.text("kind")?.map(str::parse).transpose()?;
        Ok(Self { kind, paging: params.paging()? })
    }
}
