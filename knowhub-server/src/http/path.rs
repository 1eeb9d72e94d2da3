//! Ids in paths, which may contain slashes, and any other text percent-encoded.

use axum::{
    extract::{FromRequestParts, Path},
    http::request::Parts,
};
use protocol::{ResourceId, hub::FieldFault};

use super::Error;

/// What stands behind the route's own part of the path, decoded.
pub(super) struct PathText(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for PathText {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let text = Path::<String>::from_request_parts(parts, state).await;
        text.map(|Path(text)| Self(text)).map_err(|_| {
            Error::Invalid(FieldFault::new("id", "must be UTF-8, percent-encoded in the path"))
        })
    }
}

/// A resource id in the path; what is no id names nothing.
pub(super) struct PathId(pub(super) ResourceId);

impl<S: Send + Sync> FromRequestParts<S> for PathId {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let PathText(text) = PathText::from_request_parts(parts, state).await?;
        text.parse().map(Self).map_err(|_| Error::NoResource { id: text })
    }
}
