//! Everything that can go wrong with a request, and the one place where it becomes a status and a code.

use axum::{
    Extension, Json,
    http::{HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use protocol::hub::{ErrorBody, ErrorCode, ErrorDetail, FieldFault};
use service::logging::chain;

use super::extract::MAX_BODY_BYTES;
use crate::{
    access, import, index, knowledge, resource, search,
    secrets::{self, LikelySecret},
    store, vault,
};

/// Why a request is not answered as it wished.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The body is no JSON.
    #[error("the body is not valid JSON: {0}")]
    BrokenJson(serde_json::Error),
    /// The connection ended or failed within the body.
    #[error("the body could not be read to its end")]
    BrokenBody,
    /// A field, a parameter or a header is wrong.
    #[error("{0}")]
    Invalid(FieldFault),
    /// A plain field holds what looks like a secret.
    #[error(
        "{}: looks like a secret ({}), and everybody may read this field; \
         put it into the `secure_body` of a resource, or send `X-Allow-Likely-Secret: true` if it is none",
        .0.field, .0.kind
    )]
    LikelySecret(LikelySecret),
    /// The body is too large.
    #[error("the body is larger than {MAX_BODY_BYTES} bytes; send less at once")]
    TooLarge,
    /// The body is said to be something else.
    #[error("the body must be JSON: send the header `Content-Type: application/json`")]
    NotJson,
    /// The body is said to be something that cannot be imported.
    #[error(
        "the body must be an export: send the header `Content-Type: application/x-ndjson`, \
         or `application/vnd.sqlite3` for a database file of the original system"
    )]
    NotImportable,
    /// The body did not arrive in time.
    #[error("the body did not arrive in time")]
    Late,
    /// There was no place for one more large body.
    #[error("too many large bodies are on their way; send this one again in a moment")]
    Crowded,
    /// There is no such route.
    #[error("there is nothing at {path}")]
    NoRoute {
        /// The path asked for.
        path: String,
    },
    /// The route takes other methods.
    #[error("{path} does not take {method}")]
    WrongMethod {
        /// The method used.
        method: Method,
        /// The path asked for.
        path: String,
    },
    /// The request does not come in.
    #[error(transparent)]
    Refused(#[from] access::Refusal),
    /// A route asks who calls, and nothing before it found out.
    #[error("a route stands outside of authentication")]
    NoPrincipal,
    /// The role does not allow it.
    #[error(transparent)]
    Denied(#[from] access::Denied),
    /// There is no such experience.
    #[error("there is no experience {id}")]
    NoExperience {
        /// The number asked for, as it was given.
        id: String,
    },
    /// There is neither a resource of that id nor an experience of that name.
    #[error("there is nothing stored under {id}")]
    NoResource {
        /// The id or name asked for.
        id: String,
    },
    /// A secret is not shown.
    #[error(transparent)]
    NotShown(#[from] vault::ShowError),
    /// A secret came for an org without key.
    #[error("secure_body: {0}")]
    NoSealingKey(#[from] vault::NoSealingKey),
    /// The store failed or refused.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The search failed.
    #[error(transparent)]
    Search(#[from] search::Error),
    /// An import was refused, or ended early.
    #[error(transparent)]
    Import(#[from] import::Error),
    /// A handler panicked.
    #[error("a handler panicked")]
    Panicked,
}

impl Error {
    fn status_and_code(&self) -> (StatusCode, ErrorCode) {
        match self {
            Self::BrokenJson(_) | Self::BrokenBody => {
                (StatusCode::BAD_REQUEST, ErrorCode::BadRequest)
            }
            Self::Invalid(_)
            | Self::NoSealingKey(_)
            | Self::Import(import::Error::Fault(_) | import::Error::Original(_)) => {
                (StatusCode::UNPROCESSABLE_ENTITY, ErrorCode::Invalid)
            }
            Self::LikelySecret(_) => (StatusCode::UNPROCESSABLE_ENTITY, ErrorCode::LikelySecret),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::TooLarge),
            Self::NotJson | Self::NotImportable => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, ErrorCode::UnsupportedMediaType)
            }
            Self::Late => (StatusCode::REQUEST_TIMEOUT, ErrorCode::Timeout),
            Self::NoRoute { .. } | Self::NoExperience { .. } | Self::NoResource { .. } => {
                (StatusCode::NOT_FOUND, ErrorCode::NotFound)
            }
            Self::Refused(access::Refusal::TooMany { .. }) => {
                (StatusCode::TOO_MANY_REQUESTS, ErrorCode::RateLimited)
            }
            Self::Refused(_) => (StatusCode::UNAUTHORIZED, ErrorCode::Unauthorized),
            Self::Denied(_) | Self::NotShown(vault::ShowError::Refused(_)) => {
                (StatusCode::FORBIDDEN, ErrorCode::Forbidden)
            }
            Self::NotShown(vault::ShowError::Damaged(_)) => {
                (StatusCode::INTERNAL_SERVER_ERROR, ErrorCode::DamagedSecret)
            }
            Self::WrongMethod { .. } => {
                (StatusCode::METHOD_NOT_ALLOWED, ErrorCode::MethodNotAllowed)
            }
            Self::Store(err)
            | Self::Import(import::Error::Store(err))
            | Self::Search(search::Error::Store(err)) => of_store(err),
            Self::Crowded
            | Self::Search(
                search::Error::Crowded
                | search::Error::Index(index::Error::Building | index::Error::Closed),
            ) => (StatusCode::SERVICE_UNAVAILABLE, ErrorCode::Unavailable),
            Self::Import(import::Error::Scratch(_)) => {
                (StatusCode::SERVICE_UNAVAILABLE, ErrorCode::Unavailable)
            }
            Self::Search(search::Error::Index(_) | search::Error::Vectors(_))
            | Self::NoPrincipal
            | Self::Panicked => (StatusCode::INTERNAL_SERVER_ERROR, ErrorCode::Internal),
        }
    }

    /// Returns what the client reads; of a fault of the hub's own only that there was one.
    fn message(&self, code: ErrorCode) -> String {
        if code == ErrorCode::Internal {
            return "a fault of the hub's own; its log tells more under this x-request-id".into();
        }
        match self {
            // A fault may quote what was sent, and name a key that the sender chose.
            Self::Invalid(fault) => secrets::shown(fault).to_string(),
            _ => self.to_string(),
        }
    }
}

fn of_store(err: &store::Error) -> (StatusCode, ErrorCode) {
    match err {
        store::Error::Resource(refusal) => match refusal {
            resource::Refusal::NoneStored { .. } => (StatusCode::NOT_FOUND, ErrorCode::NotFound),
            resource::Refusal::Key(_) => (StatusCode::FORBIDDEN, ErrorCode::Forbidden),
            resource::Refusal::Field(_) => (StatusCode::UNPROCESSABLE_ENTITY, ErrorCode::Invalid),
        },
        store::Error::KeyReused | store::Error::Unreadable { .. } => {
            (StatusCode::CONFLICT, ErrorCode::Conflict)
        }
        store::Error::OtherVersion { .. } | store::Error::Exists { .. } => {
            (StatusCode::PRECONDITION_FAILED, ErrorCode::PreconditionFailed)
        }
        store::Error::Knowledge(refusal) => {
            let status = match refusal {
                knowledge::Refusal::Unknown { .. } | knowledge::Refusal::NoRelation => {
                    StatusCode::NOT_FOUND
                }
                knowledge::Refusal::Unreadable { .. } | knowledge::Refusal::State(_) => {
                    StatusCode::CONFLICT
                }
                knowledge::Refusal::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            };
            (status, refusal.code())
        }
        store::Error::DiskFull(_)
        | store::Error::DiskFails(_)
        | store::Error::Locked(_)
        | store::Error::NoFreeId
        | store::Error::Busy
        | store::Error::Closed => (StatusCode::SERVICE_UNAVAILABLE, ErrorCode::Unavailable),
        store::Error::Database(_) => (StatusCode::INTERNAL_SERVER_ERROR, ErrorCode::Internal),
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let (status, code) = self.status_and_code();
        match status {
            StatusCode::INTERNAL_SERVER_ERROR => {
                tracing::error!(error = %chain(&self), "a request failed");
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                tracing::warn!(error = %chain(&self), "a request was put off");
            }
            _ => {}
        }
        let field = match &self {
            Self::Invalid(fault) => Some(secrets::shown(fault).field).filter(|it| !it.is_empty()),
            Self::LikelySecret(found) => Some(found.field.clone()),
            Self::NoSealingKey(_) => Some("secure_body".to_owned()),
            Self::NotShown(vault::ShowError::Refused(_))
            | Self::Store(store::Error::Resource(resource::Refusal::Key(_))) => {
                Some("X-Org-Key".to_owned())
            }
            Self::Store(store::Error::Resource(resource::Refusal::Field(fault))) => {
                Some(fault.field.clone())
            }
            Self::Store(store::Error::Knowledge(refusal)) => refusal.field(),
            _ => None,
        };
        let detail = ErrorDetail { code, message: self.message(code), field };
        // The code goes along as it is, for whoever counts and logs.
        let mut response =
            (status, Extension(code), Json(ErrorBody { error: detail })).into_response();
        if let Self::Refused(refusal) = &self {
            let (name, value) = match refusal.retry_after_secs() {
                Some(secs) => (header::RETRY_AFTER, HeaderValue::from(secs)),
                None => (header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")),
            };
            response.headers_mut().insert(name, value);
        }
        response
    }
}
