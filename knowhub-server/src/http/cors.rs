//! Which web pages may read answers: those of listed origins, and no others.
//!
//! The guard of the listener refuses the others before anything here sees them.

use std::time::Duration;

use axum::http::{HeaderValue, Method, header};
use service::http::REQUEST_ID;
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::{
    extract::{ALLOW_LIKELY_SECRET, IDEMPOTENCY_KEY, IDEMPOTENT_REPLAY},
    org_key::ORG_KEY,
};

/// How long a browser may remember what it may send.
const MAX_AGE: Duration = Duration::from_mins(10);

/// Returns what answers a browser's question before its request, for pages of these origins; never with cookies.
pub(super) fn cors(origins: &[String]) -> CorsLayer {
    let origins = origins
        .iter()
        .map(|origin| HeaderValue::try_from(origin).expect("a checked origin is visible ASCII"));
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::IF_MATCH,
            header::IF_NONE_MATCH,
            ALLOW_LIKELY_SECRET,
            IDEMPOTENCY_KEY,
            ORG_KEY,
            REQUEST_ID,
        ])
        .expose_headers([header::ETAG, header::RETRY_AFTER, IDEMPOTENT_REPLAY, REQUEST_ID])
        .max_age(MAX_AGE)
}
