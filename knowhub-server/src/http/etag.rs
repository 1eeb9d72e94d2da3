//! `ETag` and `If-Match`: a record's version, so that nobody overwrites what they have not read.

use axum::{
    Json,
    extract::FromRequestParts,
    http::{HeaderValue, header, request::Parts},
    response::{IntoResponse, Response},
};
use protocol::hub::FieldFault;
use serde::Serialize;

use super::Error;
use crate::store::Expected;

/// What the caller believes the record's version to be; anything when there is no `If-Match`.
pub(super) struct IfMatch(pub(super) Expected);

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let mut expected = Expected::Anything;
        for value in parts.headers.get_all(header::IF_MATCH) {
            let tags = value.to_str().ok().and_then(read).ok_or_else(|| {
                let reason = "must be `*` or a list of entity tags such as \"3\"";
                Error::Invalid(FieldFault::new("if-match", reason))
            })?;
            expected = expected.or(tags);
        }
        Ok(Self(expected))
    }
}

/// Reads the list; a tag that is no version of ours is one that never matches.
///
/// A weak tag counts like a strong one: proxies weaken what they compress, and a version has one wording.
fn read(text: &str) -> Option<Expected> {
    if text.trim() == "*" {
        return Some(Expected::Stored);
    }
    let mut versions = Vec::new();
    for tag in text.split(',').map(str::trim) {
        let tag = tag.strip_prefix("W/").unwrap_or(tag);
        let tag = tag.strip_prefix('"')?.strip_suffix('"')?;
        versions.extend(tag.parse::<i64>());
    }
    Some(Expected::OneOf(versions))
}

/// A JSON answer with the version of the record it shows.
pub(super) struct Tagged<T> {
    /// The version; absent when the answer shows no stored record.
    pub(super) version: Option<i64>,
    /// The answer.
    pub(super) answer: T,
}

impl<T: Serialize> IntoResponse for Tagged<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.answer).into_response();
        if let Some(version) = self.version {
            response.headers_mut().insert(header::ETAG, tag(version));
        }
        response
    }
}

/// Returns a version as an entity tag.
pub(super) fn tag(version: i64) -> HeaderValue {
    HeaderValue::try_from(format!("\"{version}\"")).expect("a number in quotes is a header value")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_lists_of_tags() {
        let of = |versions: &[i64]| Some(Expected::OneOf(versions.to_vec()));
        for (text, expected) in [
            ("*", Some(Expected::Stored)),
            ("\"3\"", of(&[3])),
            ("\"3\", W/\"4\"", of(&[3, 4])),
            ("\"abc\"", of(&[])),
            ("\"99999999999999999999\"", of(&[])),
            ("3", None),
            ("", None),
            ("\"", None),
            ("\"3\",", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
