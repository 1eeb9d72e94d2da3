//! The errors that calls share, as the OpenAPI document lists them; `http/error.rs` decides when each occurs.

use protocol::hub::ErrorBody;
use utoipa::IntoResponses;

/// Errors of a call that reads.
#[derive(IntoResponses)]
#[expect(dead_code, reason = "only its derived description is used")]
pub(in crate::http) enum ReadErrors {
    /// The token is missing or not known.
    #[response(status = 401)]
    Unauthorized(ErrorBody),
    /// The `Host` or `Origin` is not listed, or the role does not allow it.
    #[response(status = 403)]
    Forbidden(ErrorBody),
    /// A parameter is missing, of a wrong type, or out of bounds.
    #[response(status = 422)]
    Invalid(ErrorBody),
    /// Too many requests under this token.
    #[response(status = 429)]
    RateLimited(ErrorBody),
    /// A fault of the hub's own.
    #[response(status = 500)]
    Internal(ErrorBody),
    /// Not right now; try again.
    #[response(status = 503)]
    Unavailable(ErrorBody),
}

/// Errors of a call with a body, beside those of [`ReadErrors`].
#[derive(IntoResponses)]
#[expect(dead_code, reason = "only its derived description is used")]
pub(in crate::http) enum BodyErrors {
    /// The body is no JSON, or ended early.
    #[response(status = 400)]
    BadRequest(ErrorBody),
    /// The body did not arrive in time.
    #[response(status = 408)]
    Timeout(ErrorBody),
    /// The `Idempotency-Key` came with another body before.
    #[response(status = 409)]
    Conflict(ErrorBody),
    /// The body is too large.
    #[response(status = 413)]
    TooLarge(ErrorBody),
    /// The body is not said to be JSON.
    #[response(status = 415)]
    UnsupportedMediaType(ErrorBody),
}

/// The record is not at the version that `If-Match` names, or is there although `If-None-Match` expects none.
#[derive(IntoResponses)]
#[response(status = 412)]
#[expect(dead_code, reason = "only its derived description is used")]
pub(in crate::http) struct OtherVersion(ErrorBody);

/// There is nothing under this id.
#[derive(IntoResponses)]
#[response(status = 404)]
#[expect(dead_code, reason = "only its derived description is used")]
pub(in crate::http) struct NotFound(ErrorBody);

/// The stored record cannot be read; a DELETE with `erase=true` removes it for good.
#[derive(IntoResponses)]
#[response(status = 409)]
#[expect(dead_code, reason = "only its derived description is used")]
pub(in crate::http) struct Unreadable(ErrorBody);
