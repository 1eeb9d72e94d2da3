//! Who calls: found out before any route, and asked for by each route together with the role that it needs.

use axum::{
    extract::{FromRequestParts, Request, State},
    http::{HeaderValue, header::AUTHORIZATION, request::Parts},
    middleware::Next,
    response::Response,
};
use protocol::hub::Role;

use super::Error;
use crate::access::{Gate, Principal};

/// Lets a request in under the name of its token, or answers why not.
pub(super) async fn authenticate(
    State(gate): State<Gate>,
    mut request: Request,
    next: Next,
) -> Result<Response, Error> {
    let headers = request.headers().get_all(AUTHORIZATION).iter().map(HeaderValue::as_bytes);
    let principal = gate.admit(headers)?;
    // The request's log lines name its principal.
    tracing::Span::current().record("principal", &principal.name);
    request.extensions_mut().insert(principal);
    Ok(next.run(request).await)
}

/// Declares an extractor of a principal with at least one role.
macro_rules! caller {
    ($(#[$doc:meta])* $name:ident, $role:ident, $action:literal) => {
        $(#[$doc])*
        pub(super) struct $name(pub(super) Principal);

        impl<S: Send + Sync> FromRequestParts<S> for $name {
            type Rejection = Error;

            async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
                let principal =
                    parts.extensions.get::<Principal>().cloned().ok_or(Error::NoPrincipal)?;
                principal.require(Role::$role, $action)?;
                Ok(Self(principal))
            }
        }
    };
}

caller!(
    /// A caller that may search and read.
    Reader, Reader, "reading"
);

caller!(
    /// A caller that may write.
    Writer, Writer, "writing"
);

caller!(
    /// A caller that may delete, verify, export, import and re-seal.
    Admin, Admin, "this call"
);
