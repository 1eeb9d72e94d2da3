//! Resources over HTTP: stored, changed, deleted, shown, listed.

mod read;
mod versions;
mod write;

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use protocol::hub::ResourceStored;

pub(super) use read::{__path_list_resources, __path_show_resource, list_resources, show_resource};
pub(super) use versions::{__path_list_resource_versions, list_resource_versions};
pub(super) use write::{
    __path_delete_resource, __path_patch_resource, __path_save_resource, delete_resource,
    patch_resource, save_resource,
};

use super::{etag, extract::Answered};
use crate::store::Written;

/// The answer to a write of a resource: 201 when it made one, 200 when it changed one.
pub(super) struct Stored(pub(super) Written<ResourceStored>);

impl IntoResponse for Stored {
    fn into_response(self) -> Response {
        let ResourceStored { created, version, .. } = self.0.answer;
        let status = if created { StatusCode::CREATED } else { StatusCode::OK };
        (status, [(header::ETAG, etag::tag(version))], Answered(self.0)).into_response()
    }
}
