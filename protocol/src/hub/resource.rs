//! Resources: what is stored of a tool, paper or API under a path id; a content node is one of type `text`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a resource's body is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContentType {
    /// Markdown.
    #[default]
    Text,
    /// Source code; `metadata.language` names its language.
    Code,
    /// A login: public notes in `body`, the secret in `secure_body`.
    Credential,
    /// A login state: the cookie in `secure_body`, `metadata.acquired_at` and `metadata.expires_at` say how long it lives.
    Cookie,
}
