//! Making, changing and deleting resources.

use axum::{Json, extract::State};
use protocol::{
    ResourceId, Timestamp,
    hub::{NewResource, ResourceDeleted, ResourcePatch, ResourceStored, SecretText},
};

use super::Stored;
use crate::{
    http::{
        Error, Handles,
        caller::{Admin, Writer},
        deletion::{Erase, Reason},
        etag::{IfMatch, IfMatchOrNone},
        extract::{IdempotencyKey, JsonBody, QueryParams},
        openapi::{BodyErrors, NotFound, OtherVersion, ReadErrors, Unreadable},
        org_key::OrgKey,
        path::PathId,
    },
    resource::{Edit, KeyDemand, MetadataEdit, SecretEdit},
    store::{Deletion, ResourceDeletion},
    vault::{NoSealingKey, Vault},
};

/// Makes a resource, or takes the place of the one with this id.
#[utoipa::path(
    post, path = "/api/resource", tag = "resources", request_body = NewResource,
    params(
        ("x-org-key" = Option<String>, Header, description = "The org's key, base64; needed when the stored resource is sealed"),
        ("if-match" = Option<String>, Header, description = "The version that is to be overwritten, as its ETag"),
        ("if-none-match" = Option<String>, Header, description = "`*`: only when there is none yet"),
    ),
    responses(
        (status = 201, description = "It is new", body = ResourceStored),
        (status = 200, description = "It took the place of an earlier version", body = ResourceStored),
        OtherVersion, ReadErrors, BodyErrors
    )
)]
pub(in crate::http) async fn save_resource(
    State(handles): State<Handles>,
    Writer(by): Writer,
    OrgKey(shown): OrgKey,
    IfMatchOrNone(expected): IfMatchOrNone,
    key: IdempotencyKey,
    JsonBody(new): JsonBody<NewResource>,
) -> Result<Stored, Error> {
    let (vault, id) = (&handles.vault, new.id.clone());
    let mut request = key.request(&by.name, &new);
    if let (Some(request), Some(secret)) = (&mut request, &new.secure_body)
        && is_new(secret)
    {
        request.body_hash = vault.keyed_hash(&id, &request.body_hash)?;
    }
    let edit = Edit {
        secret: secret_edit(vault, &id, new.secure_body)?,
        title: Some(new.title),
        body: Some(new.body),
        content_type: Some(new.content_type),
        metadata: MetadataEdit::Replace(new.metadata),
        sort_order: Some(new.sort_order),
        submitted_by: Some(new.submitted_by),
        stamp: by.stamp(new.on_behalf_of.as_ref())?,
        at: Timestamp::now(),
        key: KeyDemand::Shown(vault.authorize(&id, shown.as_ref())),
        may_create: true,
    };
    let written = handles.store.save_resource(id, edit, expected, request).await?;
    let ResourceStored { id, version, .. } = &written.answer;
    tracing::info!(resource.id = %id, version, replayed = written.replayed, "resource stored");
    Ok(Stored(written))
}

/// Changes the fields of a resource that the body names.
#[utoipa::path(
    patch, path = "/api/resource/{*id}", tag = "resources", request_body = ResourcePatch,
    params(
        ("id" = ResourceId, Path, description = "The resource's id; slashes may stand as they are"),
        ("x-org-key" = Option<String>, Header, description = "The org's key, base64; needed when the resource is sealed"),
        ("if-match" = Option<String>, Header, description = "The version that is to be changed, as its ETag"),
    ),
    responses((status = 200, body = ResourceStored), NotFound, OtherVersion, ReadErrors, BodyErrors)
)]
pub(in crate::http) async fn patch_resource(
    State(handles): State<Handles>,
    Writer(by): Writer,
    PathId(id): PathId,
    OrgKey(shown): OrgKey,
    IfMatch(expected): IfMatch,
    JsonBody(patch): JsonBody<ResourcePatch>,
) -> Result<Stored, Error> {
    let vault = &handles.vault;
    let edit = Edit {
        secret: secret_edit(vault, &id, patch.secure_body)?,
        title: patch.title,
        body: patch.body,
        content_type: patch.content_type,
        metadata: patch.metadata.map_or(MetadataEdit::Keep, MetadataEdit::Merge),
        sort_order: patch.sort_order,
        submitted_by: patch.submitted_by,
        stamp: by.stamp(patch.on_behalf_of.as_ref())?,
        at: Timestamp::now(),
        key: KeyDemand::Shown(vault.authorize(&id, shown.as_ref())),
        may_create: false,
    };
    let written = handles.store.save_resource(id, edit, expected, None).await?;
    let ResourceStored { id, version, .. } = &written.answer;
    tracing::info!(resource.id = %id, version, "resource changed");
    Ok(Stored(written))
}

/// Tells whether a secret came, rather than the word that it stays or goes.
fn is_new(secret: &SecretText) -> bool {
    !secret.is_empty() && !secret.is_placeholder()
}

fn secret_edit(
    vault: &Vault,
    id: &ResourceId,
    secret: Option<SecretText>,
) -> Result<SecretEdit, NoSealingKey> {
    match secret {
        None => Ok(SecretEdit::Keep),
        Some(secret) if secret.is_placeholder() => Ok(SecretEdit::KeepSealed),
        Some(secret) if secret.is_empty() => Ok(SecretEdit::Remove),
        Some(secret) => vault.seal(id, &secret).map(SecretEdit::Replace),
    }
}

/// Deletes a resource; its earlier versions stay readable to an admin unless they are erased.
///
/// Needs the role admin.
#[utoipa::path(
    delete, path = "/api/resource/{*id}", tag = "resources",
    params(
        ("id" = ResourceId, Path, description = "The resource's id; slashes may stand as they are"),
        ("reason" = Option<String>, Query, description = "Why; kept with the tombstone", max_length = 2_000),
        ("erase" = Option<bool>, Query, description = "Remove all its versions for good"),
        ("x-org-key" = Option<String>, Header, description = "The org's key, base64; needed when the resource is sealed"),
        ("if-match" = Option<String>, Header, description = "The version that is to be deleted, as its ETag"),
    ),
    responses((status = 200, body = ResourceDeleted), NotFound, OtherVersion, Unreadable, ReadErrors)
)]
pub(in crate::http) async fn delete_resource(
    State(handles): State<Handles>,
    Admin(by): Admin,
    PathId(id): PathId,
    OrgKey(shown): OrgKey,
    IfMatch(expected): IfMatch,
    Reason(reason): Reason,
    QueryParams(Erase(erase)): QueryParams<Erase>,
) -> Result<Json<ResourceDeleted>, Error> {
    let order = ResourceDeletion {
        key: KeyDemand::Shown(handles.vault.authorize(&id, shown.as_ref())),
        id: id.clone(),
        expected,
        erase,
        deletion: Deletion { by: by.name, reason, at: Timestamp::now() },
    };
    let deleted = handles.store.delete_resource(order).await?;
    let deleted = deleted.ok_or_else(|| Error::NoResource { id: id.to_string() })?;
    tracing::info!(resource.id = %id, erased = deleted.erased, "resource deleted");
    Ok(Json(deleted))
}
