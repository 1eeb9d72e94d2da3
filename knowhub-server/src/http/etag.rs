//! `ETag`, `If-Match` and `If-None-Match`: a record's version, so that nobody overwrites what they have not read.

use axum::{
    Json,
    extract::FromRequestParts,
    http::{HeaderName, HeaderValue, header, request::Parts},
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
        let values = parts.headers.get_all(header::IF_MATCH);
        if values.iter().next().is_none() {
            return Ok(Self(Expected::Anything));
        }
        // A list may come in several headers.
        let values: Result<Vec<&str>, _> = values.iter().map(HeaderValue::to_str).collect();
        let expected = values.ok().and_then(|values| read(&values.join(",")));
        expected.map(Self).ok_or_else(|| {
            fault(&header::IF_MATCH, "must be `*` or a list of entity tags such as \"3\"")
        })
    }
}

/// The same for a write that may create its record; `If-None-Match: *` lets it do nothing else.
pub(super) struct IfMatchOrNone(pub(super) Expected);

impl<S: Send + Sync> FromRequestParts<S> for IfMatchOrNone {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let IfMatch(expected) = IfMatch::from_request_parts(parts, state).await?;
        let mut values = parts.headers.get_all(header::IF_NONE_MATCH).iter();
        match (values.next().map(HeaderValue::as_bytes), values.next()) {
            (None, _) => Ok(Self(expected)),
            (Some(b"*"), None) if expected == Expected::Anything => Ok(Self(Expected::Nothing)),
            _ => Err(fault(&header::IF_NONE_MATCH, "must be `*`, without If-Match beside it")),
        }
    }
}

fn fault(header: &HeaderName, reason: &str) -> Error {
    Error::Invalid(FieldFault::new(header.as_str(), reason))
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
