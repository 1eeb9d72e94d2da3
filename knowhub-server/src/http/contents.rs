//! Content nodes over HTTP: shown with the way through them, and stored.

use axum::extract::State;
use protocol::{
    ResourceId, Timestamp,
    hub::{Content, DemandKind, NewContent, ResourceStored},
};

use super::{
    Error, Handles,
    caller::{Reader, Writer},
    etag::{IfMatchOrNone, Tagged},
    extract::{IdempotencyKey, JsonBody},
    openapi::{BodyErrors, NotFound, OtherVersion, ReadErrors},
    path::PathId,
    resources::Stored,
};
use crate::{
    resource::{Edit, KeyDemand, MetadataEdit, SecretEdit},
    store::Node,
};

/// Stores a content node, or writes an existing one anew.
#[utoipa::path(
    post, path = "/api/content", tag = "resources", request_body = NewContent,
    params(
        ("if-match" = Option<String>, Header, description = "The version that is to be overwritten, as its ETag"),
        ("if-none-match" = Option<String>, Header, description = "`*`: only when there is none yet"),
    ),
    responses(
        (status = 201, description = "It is new", body = ResourceStored),
        (status = 200, description = "It took the place of an earlier version", body = ResourceStored),
        OtherVersion, ReadErrors, BodyErrors
    )
)]
pub(super) async fn save_content(
    State(handles): State<Handles>,
    Writer(by): Writer,
    IfMatchOrNone(expected): IfMatchOrNone,
    key: IdempotencyKey,
    JsonBody(new): JsonBody<NewContent>,
) -> Result<Stored, Error> {
    let request = key.request(&by.name, &new);
    let edit = Edit {
        title: Some(new.title),
        body: Some(new.body),
        secret: SecretEdit::Keep,
        content_type: None,
        metadata: MetadataEdit::Keep,
        sort_order: Some(new.sort_order),
        submitted_by: Some(new.submitted_by),
        stamp: by.stamp(new.on_behalf_of.as_ref())?,
        at: Timestamp::now(),
        key: KeyDemand::None,
        may_create: true,
    };
    let written = handles.store.save_resource(new.id, edit, expected, request).await?;
    let ResourceStored { id, version, .. } = &written.answer;
    tracing::info!(resource.id = %id, version, replayed = written.replayed, "content stored");
    Ok(Stored(written))
}

/// Shows a node of any type, without its secret, with what stands above, below and beside it.
#[utoipa::path(
    get, path = "/api/content/{*id}", tag = "resources",
    params(("id" = ResourceId, Path, description = "The node's id; slashes may stand as they are")),
    responses((status = 200, body = Content), NotFound, ReadErrors)
)]
pub(super) async fn show_content(
    State(handles): State<Handles>,
    _: Reader,
    PathId(id): PathId,
) -> Result<Tagged<Content>, Error> {
    let node = handles.store.find_node(id.clone()).await?;
    let Some(node) = node else {
        handles.lookups.missing(DemandKind::Content, id.as_str());
        return Err(Error::NoResource { id: id.to_string() });
    };
    let answer = content(node, Timestamp::now());
    Ok(Tagged { version: Some(answer.version), answer })
}

fn content(node: Node, now: Timestamp) -> Content {
    let Node { resource, toc, children, children_count, prev, next } = node;
    Content {
        toc,
        children,
        children_count,
        prev,
        next,
        expired: resource.metadata.is_expired(now),
        id: resource.id,
        title: resource.title,
        body: resource.body,
        content_type: resource.content_type,
        metadata: resource.metadata,
        sort_order: resource.sort_order,
        submitted_by: resource.submitted_by,
        authenticated_as: resource.authenticated_as,
        on_behalf_of: resource.on_behalf_of,
        content_hash: resource.content_hash,
        version: resource.version,
        created_at: resource.created_at,
        updated_at: resource.updated_at,
    }
}
