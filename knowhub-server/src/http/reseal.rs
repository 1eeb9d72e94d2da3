//! Sealing stored secrets anew after a change of keys, over HTTP.

use axum::extract::State;
use protocol::{
    Timestamp,
    hub::{FieldFault, Reseal, Resealed},
};

use super::{
    Error, Handles,
    caller::Admin,
    extract::{Answered, IdempotencyKey, JsonBody},
    openapi::{BodyErrors, ReadErrors},
};
use crate::{reseal, store::Written};

/// Seals stored secrets with their org's first key, earlier versions too; may be sent again.
///
/// Needs the role admin.
#[utoipa::path(
    post, path = "/api/reseal", tag = "resources", request_body = Reseal,
    responses((status = 200, body = Resealed), ReadErrors, BodyErrors)
)]
pub(super) async fn reseal_secrets(
    State(handles): State<Handles>,
    Admin(by): Admin,
    key: IdempotencyKey,
    JsonBody(order): JsonBody<Reseal>,
) -> Result<Answered<Resealed>, Error> {
    let (request, now) = (key.request(&by.name, &order), Timestamp::now());
    if let Some(request) = &request
        && let Some(answer) = handles.store.find_answer(request.clone(), now).await?
    {
        return Ok(Answered(Written { answer, replayed: true }));
    }
    let done = reseal::reseal(&handles.store, &handles.vault, order.org.clone()).await?;
    let Resealed { resealed, unchanged, failed, .. } = done;
    if let Some(org) = order.org.filter(|org| !handles.vault.knows(org))
        && resealed + unchanged + failed == 0
    {
        let message = format!("`{org}` has neither a key in ORG_KEYS nor a secret");
        return Err(Error::Invalid(FieldFault::new("org", message)));
    }
    tracing::info!(resealed, unchanged, failed, "secrets sealed anew");
    Ok(Answered(handles.store.insert_answer(request, done, now).await?))
}
