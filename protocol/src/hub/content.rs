//! Content nodes: Markdown under path ids, with the way through them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    ContentType, Metadata, PlainTexts, WriteBody,
    body::{Body, FieldFault, check_bound, check_present},
};
use crate::{
    ids::{ContactId, ResourceId},
    time::Timestamp,
};

/// Body of `POST /api/content`; on an existing id it leaves secret, metadata and type alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewContent {
    /// Its path: a root without `/`, or below one, such as `attention-paper/section-3-2`.
    pub id: ResourceId,
    /// Its title.
    #[serde(default)]
    #[schema(max_length = 2_000)]
    pub title: String,
    /// The Markdown itself; images by URL.
    #[schema(min_length = 1, max_length = 100_000, pattern = r"[^\s\x85]")]
    pub body: String,
    /// Its place among its siblings, smallest first.
    #[serde(default)]
    pub sort_order: i64,
    /// Who submits it, as claimed.
    #[serde(default)]
    #[schema(max_length = 2_000)]
    pub submitted_by: String,
    /// The contact for whom a delegate submits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<ContactId>,
}

impl Body for NewContent {
    fn check(&self) -> Result<(), FieldFault> {
        check_bound("title", &self.title)?;
        check_present("body", &self.body)?;
        check_bound("submitted_by", &self.submitted_by)
    }
}

impl WriteBody for NewContent {
    const FOR_CONTACTS: bool = true;

    fn plain_texts(&self) -> PlainTexts<'_> {
        PlainTexts::default()
            .text("id", self.id.as_str())
            .text("title", &self.title)
            .text("body", &self.body)
            .text("submitted_by", &self.submitted_by)
            .on_behalf_of(self.on_behalf_of.as_ref())
    }
}

/// A node as another one points to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContentLink {
    /// Its path id.
    pub id: ResourceId,
    /// Its title.
    pub title: String,
}

/// Answer to `GET /api/content/{id}`: any resource, never a secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Content {
    /// Its path id.
    pub id: ResourceId,
    /// Its title.
    pub title: String,
    /// The Markdown, code or notes.
    pub body: String,
    /// The root that it stands under; absent on the root itself, and where the root is not stored.
    pub toc: Option<ContentLink>,
    /// All nodes below it by `sort_order`, then id; at most 1,000.
    pub children: Vec<ContentLink>,
    /// How many nodes are below it.
    pub children_count: u64,
    /// The node before it in its root's list.
    pub prev: Option<ContentLink>,
    /// The node after it in its root's list.
    pub next: Option<ContentLink>,
    /// What the body is.
    pub content_type: ContentType,
    /// Language, times, and whatever else its author noted.
    pub metadata: Metadata,
    /// `metadata.expires_at` is over; absent when not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expired: bool,
    /// Its place among its siblings, smallest first.
    pub sort_order: i64,
    /// Who submitted it, as claimed.
    pub submitted_by: String,
    /// Whose token wrote it last.
    pub authenticated_as: String,
    /// For whom a delegate wrote it, as `im:{contact}`; empty when for nobody else.
    pub on_behalf_of: String,
    /// sha256 of the body's UTF-8 bytes, in hex.
    pub content_hash: String,
    /// Counted up by every change.
    pub version: i64,
    /// When it was first stored.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}
