//! The name of a request, by which its sender and the log speak of the same one.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

/// The header that carries the request's id, both ways.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest request id that is taken over from a client.
const MAX_ID_BYTES: usize = 128;

/// Returns the client's own id when it is fit for a log, a new one otherwise.
pub fn request_id(headers: &HeaderMap) -> HeaderValue {
    let is_fit = |id: &&HeaderValue| {
        (1..=MAX_ID_BYTES).contains(&id.len())
            && id.as_bytes().iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
    };
    headers.get(REQUEST_ID).filter(is_fit).cloned().unwrap_or_else(|| {
        HeaderValue::try_from(Uuid::new_v4().to_string()).expect("a UUID is a valid header value")
    })
}
