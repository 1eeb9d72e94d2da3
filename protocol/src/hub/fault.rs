//! The one envelope of every error the hub answers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::words::words;

/// `{"error": {"code", "message"}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorDetail,
}

/// What went wrong, for programs and for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ErrorDetail {
    /// What a program acts on.
    pub code: ErrorCode,
    /// What a person reads: which field, and what would be right.
    pub message: String,
    /// The field at fault, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

/// The hub's error codes; each has one HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// 400: the request cannot be read at all, such as JSON that ends early.
    BadRequest,
    /// 401: the token is missing or not known.
    Unauthorized,
    /// 403: the `Host` or `Origin` is not listed, the role does not allow it, or the org key is wrong.
    Forbidden,
    /// 404: there is no such record or route.
    NotFound,
    /// 405: the route exists, not with this method.
    MethodNotAllowed,
    /// 408: the request did not arrive in time.
    Timeout,
    /// 409: the same `Idempotency-Key` came with another body.
    Conflict,
    /// 412: the record is no longer the one that `If-Match` names.
    PreconditionFailed,
    /// 413: the body is too large.
    TooLarge,
    /// 415: the body is not `application/json`.
    UnsupportedMediaType,
    /// 422: a field is missing, of a wrong type, or out of bounds.
    Invalid,
    /// 422: a plain field holds what looks like a secret, which belongs in `secure_body`.
    LikelySecret,
    /// 429: too many requests under this token; `Retry-After` tells when to come back.
    RateLimited,
    /// 500: a stored secret does not open with the key that sealed it.
    DamagedSecret,
    /// 500: a fault of the hub's own; its log knows more under the request id.
    Internal,
    /// 503: the hub cannot do it right now; try again.
    Unavailable,
    /// A code this version does not know.
    #[serde(other, skip_serializing)]
    Unknown,
}

words! {
    ErrorCode in "code":
    BadRequest = "bad_request",
    Unauthorized = "unauthorized",
    Forbidden = "forbidden",
    NotFound = "not_found",
    MethodNotAllowed = "method_not_allowed",
    Timeout = "timeout",
    Conflict = "conflict",
    PreconditionFailed = "precondition_failed",
    TooLarge = "too_large",
    UnsupportedMediaType = "unsupported_media_type",
    Invalid = "invalid",
    LikelySecret = "likely_secret",
    RateLimited = "rate_limited",
    DamagedSecret = "damaged_secret",
    Internal = "internal",
    Unavailable = "unavailable",
    Unknown = "unknown",
}
