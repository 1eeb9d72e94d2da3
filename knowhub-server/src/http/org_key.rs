//! `X-Org-Key`: the key that a caller shows to see, change or delete a secret.

use axum::{
    extract::FromRequestParts,
    http::{HeaderName, HeaderValue, request::Parts},
};
use protocol::hub::FieldFault;

use super::Error;
use crate::vault::ShownKey;

/// The header with the key that opens an org's secrets.
pub(super) const ORG_KEY: HeaderName = HeaderName::from_static("x-org-key");

/// The key, where one was sent; nothing is known of it yet.
pub(super) struct OrgKey(pub(super) Option<ShownKey>);

impl<S: Send + Sync> FromRequestParts<S> for OrgKey {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let mut values = parts.headers.get_all(ORG_KEY).iter();
        let value = values.next().map(HeaderValue::as_bytes);
        if values.next().is_some() {
            return Err(Error::Invalid(FieldFault::new(ORG_KEY.as_str(), "given more than once")));
        }
        // What is no text is no key either, and refused where a key is needed.
        let shown = value.map(|key| ShownKey::read(str::from_utf8(key).unwrap_or_default()));
        Ok(Self(shown))
    }
}
