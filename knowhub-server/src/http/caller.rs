//! Extractors that say who calls and what role a route needs; a route without one is open to everybody.

use axum::{extract::FromRequestParts, http::request::Parts};

use super::Error;
use crate::access::{Principal, Role};

/// Declares an extractor of a principal with at least one role.
macro_rules! caller {
    ($(#[$doc:meta])* $name:ident, $role:ident, $action:literal) => {
        $(#[$doc])*
        pub(super) struct $name(pub(super) Principal);

        impl<S: Send + Sync> FromRequestParts<S> for $name {
            type Rejection = Error;

            async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
                let principal = parts
                    .extensions
                    .get::<Principal>()
                    .cloned()
                    .unwrap_or_else(Principal::local);
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
