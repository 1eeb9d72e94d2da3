//! Extractors: a handler's signature says what it needs, and what is wrong is answered before it runs.

use std::{io, time::Duration};

use axum::{
    Json,
    body::Body as HttpBody,
    extract::{FromRequest, FromRequestParts, Request},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use futures_util::StreamExt;
use protocol::hub::{FieldFault, WriteBody, wipe_secret};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use zeroize::Zeroize;

use super::{
    Error,
    params::{FromParams, Params, unescape},
};
use crate::{
    blocking,
    secrets::{self, LikelySecret},
    store::{self, IdempotentRequest, Written},
};

/// The largest body; a larger one is refused, the sender keeps it.
pub(super) const MAX_BODY_BYTES: usize = 1024 * 1024;

/// How much of a body that is too large is still read, so that its sender hears why it is refused.
pub(super) const MAX_DISCARDED_BYTES: usize = 16 * 1024 * 1024;

/// How long a body may take to arrive; a slower sender is told and disconnected.
const BODY_DEADLINE: Duration = Duration::from_secs(30);

/// The header under which a client may send the same write again.
pub(super) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The header that tells that an answer was given before.
pub(super) const IDEMPOTENT_REPLAY: HeaderName = HeaderName::from_static("idempotent-replay");

/// The longest idempotency key, in bytes; a longer one is refused with 422.
pub(super) const MAX_KEY_BYTES: usize = 255;

/// With the value `true`, likely secrets are let in; for false alarms.
pub(super) const ALLOW_LIKELY_SECRET: HeaderName = HeaderName::from_static("x-allow-likely-secret");

/// The field in which a delegate names the contact for whom it writes.
const ON_BEHALF_OF: &str = "on_behalf_of";

/// Plain texts that are together longer than this are looked through on a thread of their own, in bytes.
const LONG_TEXTS_BYTES: usize = 16 * 1024;

/// A JSON body that was read and checked, and whose plain texts hold no likely secret.
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: WriteBody + Send + 'static, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        if !is_json(request.headers()) {
            return Err(Error::NotJson);
        }
        let (parts, body) = request.into_parts();
        allows_likely_secret(&parts.headers).map_err(Error::Invalid)?;
        let mut bytes = tokio::time::timeout(BODY_DEADLINE, read_body(body))
            .await
            .map_err(|_| Error::Late)??;
        let body = parse(&bytes);
        // It may hold a secret, whose only copies from here on wipe themselves.
        bytes.zeroize();
        drop(bytes);
        let body = body?;
        let (body, found) = look_for_secrets(body).await?;
        refuse_secret(found, &parts.headers)?;
        Ok(Self(body))
    }
}

/// A JSON body that may be left out, which then says nothing.
pub(super) struct JsonBodyIfAny<T>(pub(super) T);

impl<T, S> FromRequest<S> for JsonBodyIfAny<T>
where
    T: WriteBody + Default + Send + 'static,
    S: Send + Sync,
{
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        let is_left_out = axum::body::HttpBody::is_end_stream(request.body())
            && !request.headers().contains_key(header::CONTENT_TYPE);
        if is_left_out {
            return Ok(Self(T::default()));
        }
        JsonBody::from_request(request, state).await.map(|JsonBody(body)| Self(body))
    }
}

/// Refuses what looks like a secret, unless the request says that it is none.
pub(super) fn refuse_secret(found: Option<LikelySecret>, headers: &HeaderMap) -> Result<(), Error> {
    let is_allowed = allows_likely_secret(headers).map_err(Error::Invalid)?;
    match found {
        Some(LikelySecret { field, kind }) if is_allowed => {
            tracing::warn!(field, kind, "a likely secret was let in at its sender's word");
            Ok(())
        }
        Some(found) => Err(Error::LikelySecret(found)),
        None => Ok(()),
    }
}

/// Reads a body from its JSON, whose values may take many times the memory and live only here.
fn parse<T: WriteBody>(bytes: &[u8]) -> Result<T, Error> {
    // Broken JSON and a wrong field are different faults, so they are told apart here.
    let value: Value = serde_json::from_slice(bytes).map_err(Error::BrokenJson)?;
    let names_contact = value.get(ON_BEHALF_OF).is_some_and(|contact| !contact.is_null());
    let body = T::read(value).map_err(Error::Invalid)?;
    if names_contact && !T::FOR_CONTACTS {
        let reason = "means nothing here: this is stored under the name of the token alone";
        return Err(Error::Invalid(FieldFault::new(ON_BEHALF_OF, reason)));
    }
    Ok(body)
}

/// Looks through the plain texts of a body, long ones where they hold up nobody.
async fn look_for_secrets<T: WriteBody + Send + 'static>(
    body: T,
) -> Result<(T, Option<LikelySecret>), Error> {
    let look = |body: T| {
        let found = secrets::find_in(&body.plain_texts());
        (body, found)
    };
    let size_bytes: usize = body.plain_texts().iter().map(|(_, text)| text.len()).sum();
    if size_bytes <= LONG_TEXTS_BYTES {
        return Ok(look(body));
    }
    blocking::run(move || look(body)).await.map_err(|_| Error::Store(store::Error::Closed))
}

/// Tells whether the sender answers for what looks like a secret.
pub(super) fn allows_likely_secret(headers: &HeaderMap) -> Result<bool, FieldFault> {
    match headers.get(ALLOW_LIKELY_SECRET).map(HeaderValue::as_bytes) {
        None | Some(b"false") => Ok(false),
        Some(b"true") => Ok(true),
        Some(_) => Err(FieldFault::new(ALLOW_LIKELY_SECRET.as_str(), "must be true or absent")),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

async fn read_body(body: HttpBody) -> Result<Vec<u8>, Error> {
    let mut chunks = body.into_data_stream();
    let (mut bytes, mut received) = (Vec::new(), 0);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| Error::BrokenBody)?;
        received += chunk.len();
        if received <= MAX_BODY_BYTES {
            bytes.extend_from_slice(&chunk);
        } else if received > MAX_DISCARDED_BYTES {
            break;
        }
    }
    if received > MAX_BODY_BYTES { Err(Error::TooLarge) } else { Ok(bytes) }
}

/// Query parameters that were read and checked.
pub(super) struct QueryParams<T>(pub(super) T);

impl<T: FromParams, S: Send + Sync> FromRequestParts<S> for QueryParams<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        Params::parse(parts.uri.query().unwrap_or_default())
            .and_then(|params| T::from_params(&params))
            .map(Self)
            .map_err(Error::Invalid)
    }
}

/// The key under which a client may send the same write again, if it sent one.
pub(super) struct IdempotencyKey(Option<Repeatable>);

/// A request that may be sent again under a key.
struct Repeatable {
    key: String,
    /// The path and method that the key holds for.
    route: String,
    /// What the query says; part of what is sent, as the body is.
    query: String,
}

impl IdempotencyKey {
    /// Returns what makes a request the same: under which name it is sent, its route, its key, and what its query and
    /// body say.
    ///
    /// The contact that the body names does not count: on a hub without tokens, an upload that a contact sends itself
    /// says the same as what the librarian made of it.
    pub(super) fn request(self, name: &str, body: &impl Serialize) -> Option<IdempotentRequest> {
        let Self(Some(Repeatable { key, route, query })) = self else { return None };
        let mut body =
            serde_json::to_value(body).expect("what was read from JSON can be written as JSON");
        if let Some(fields) = body.as_object_mut() {
            fields.remove(ON_BEHALF_OF);
        }
        // Hashed as it is written, so that no text of it, which may hold a secret, stays in memory.
        let mut body_hash = Hashed::default();
        body_hash.0.update(query);
        serde_json::to_writer(&mut body_hash, &body).expect("a hash takes everything");
        wipe_secret(&mut body);
        let scope = format!("{route} {name}");
        Some(IdempotentRequest { scope, key, body_hash: body_hash.0.finalize().into() })
    }
}

/// A hash of whatever is written to it.
#[derive(Default)]
struct Hashed(Sha256);

impl io::Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let mut values = parts.headers.get_all(IDEMPOTENCY_KEY).iter();
        let Some(value) = values.next() else { return Ok(Self(None)) };
        let is_fit = (1..=MAX_KEY_BYTES).contains(&value.len())
            && value.as_bytes().iter().all(u8::is_ascii_graphic)
            && values.next().is_none();
        match value.to_str() {
            Ok(key) if is_fit => {
                // However an id in the path is escaped, it is the same id.
                let path = parts.uri.path();
                let path = unescape(path).unwrap_or_else(|| path.to_owned());
                Ok(Self(Some(Repeatable {
                    key: key.to_owned(),
                    route: format!("{path} {}", parts.method),
                    query: parts.uri.query().unwrap_or_default().to_owned(),
                })))
            }
            _ => Err(Error::Invalid(FieldFault::new(
                IDEMPOTENCY_KEY.as_str(),
                format!("must be one header of 1 to {MAX_KEY_BYTES} visible ASCII characters"),
            ))),
        }
    }
}

/// The answer to a write that created something.
pub(super) struct Created<T>(pub(super) Written<T>);

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Answered(self.0)).into_response()
    }
}

/// The answer to a write; says whether it was given before.
pub(super) struct Answered<T>(pub(super) Written<T>);

impl<T: Serialize> IntoResponse for Answered<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.0.answer).into_response();
        if self.0.replayed {
            response.headers_mut().insert(IDEMPOTENT_REPLAY, HeaderValue::from_static("true"));
        }
        response
    }
}
