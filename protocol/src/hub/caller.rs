//! Whom the hub takes a caller for, and what it may do.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::words::words;

/// What a token allows; each role may do what those before it may.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Search and read.
    Reader,
    /// Report, store, edit, and judge.
    Writer,
    /// Write on behalf of a contact: the librarian.
    Delegate,
    /// Delete, verify, export, import and re-seal.
    Admin,
}

words! {
    Role in "role":
    Reader = "reader",
    Writer = "writer",
    Delegate = "delegate",
    Admin = "admin",
}

/// Answer to `GET /api/whoami`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Whoami {
    /// The name of the caller's token; `local` where the hub asks for none.
    pub name: String,
    /// What the caller may do.
    pub role: Role,
    /// Whether the hub asks for a token.
    pub needs_token: bool,
}
