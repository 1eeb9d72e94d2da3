//! Resources: what is stored of a tool, paper or API under a path id.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    MAX_TEXT_CHARS, Metadata, PlainTexts, WriteBody,
    body::{Body, FieldFault, check_bound, check_chars},
    content::ContentLink,
    experience::ExperienceHit,
    secret::SecretText,
    words::words,
};
use crate::{
    ids::{ContactId, ResourceId},
    time::Timestamp,
};

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

words! {
    ContentType in "content_type":
    Text = "text",
    Code = "code",
    Credential = "credential",
    Cookie = "cookie",
}

/// Body of `POST /api/resource`; what it leaves out becomes empty, except the secret, which stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewResource {
    /// Its path; the first segment is the org whose key seals its secret.
    pub id: ResourceId,
    /// Its title.
    #[serde(default)]
    #[schema(max_length = 2_000)]
    pub title: String,
    /// What everybody may read and find.
    #[serde(default)]
    #[schema(max_length = 100_000)]
    pub body: String,
    /// What only the org's key opens; absent or `[ENCRYPTED]` leaves it unchanged, empty text removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secure_body: Option<SecretText>,
    /// What the body is.
    #[serde(default)]
    pub content_type: ContentType,
    /// Language, times, and whatever else its author notes.
    #[serde(default)]
    pub metadata: Metadata,
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

impl Body for NewResource {
    fn check(&self) -> Result<(), FieldFault> {
        check_bound("title", &self.title)?;
        check_chars("body", &self.body, MAX_TEXT_CHARS)?;
        check_bound("submitted_by", &self.submitted_by)?;
        self.secure_body.as_ref().map_or(Ok(()), |secret| secret.check("secure_body"))?;
        self.metadata.check()
    }
}

impl WriteBody for NewResource {
    const FOR_CONTACTS: bool = true;

    fn plain_texts(&self) -> PlainTexts<'_> {
        PlainTexts::default()
            .text("id", self.id.as_str())
            .text("title", &self.title)
            .text("body", &self.body)
            .within("metadata", self.metadata.plain_texts())
            .text("submitted_by", &self.submitted_by)
            .on_behalf_of(self.on_behalf_of.as_ref())
    }
}

/// Body of `PATCH /api/resource/{id}`; what it leaves out, or gives as `null`, stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
#[schema(min_properties = 1)]
pub struct ResourcePatch {
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub title: Option<String>,
    /// What everybody may read and find.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 100_000)]
    pub body: Option<String>,
    /// What only the org's key opens; `[ENCRYPTED]` leaves it unchanged, empty text removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secure_body: Option<SecretText>,
    /// What the body is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<ContentType>,
    /// Keys to set; a key that is `null` is removed, the others stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// Its place among its siblings, smallest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sort_order: Option<i64>,
    /// Who submits it, as claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub submitted_by: Option<String>,
    /// The contact for whom a delegate submits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<ContactId>,
}

impl Body for ResourcePatch {
    fn check(&self) -> Result<(), FieldFault> {
        if *self == (Self { on_behalf_of: self.on_behalf_of.clone(), ..Self::default() }) {
            let fields =
                "title, body, secure_body, content_type, metadata, sort_order, submitted_by";
            return Err(FieldFault::new(
                "",
                format!("names nothing to change; it may name {fields}"),
            ));
        }
        for (field, text) in [("title", &self.title), ("submitted_by", &self.submitted_by)] {
            text.as_ref().map_or(Ok(()), |text| check_bound(field, text))?;
        }
        self.body.as_ref().map_or(Ok(()), |body| check_chars("body", body, MAX_TEXT_CHARS))?;
        self.secure_body.as_ref().map_or(Ok(()), |secret| secret.check("secure_body"))?;
        self.metadata.as_ref().map_or(Ok(()), Metadata::check)
    }
}

impl WriteBody for ResourcePatch {
    const FOR_CONTACTS: bool = true;

    fn plain_texts(&self) -> PlainTexts<'_> {
        let metadata = self.metadata.as_ref().map(Metadata::plain_texts);
        PlainTexts::default()
            .text("title", self.title.as_deref().unwrap_or_default())
            .text("body", self.body.as_deref().unwrap_or_default())
            .within("metadata", metadata.unwrap_or_default())
            .text("submitted_by", self.submitted_by.as_deref().unwrap_or_default())
            .on_behalf_of(self.on_behalf_of.as_ref())
    }
}

/// Answer to a write of a resource or content node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResourceStored {
    /// Its id.
    pub id: ResourceId,
    /// Its version now; its `ETag` is this number in quotes.
    pub version: i64,
    /// Whether there was none of this id before.
    pub created: bool,
}

/// Answer to `DELETE /api/resource/{id}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResourceDeleted {
    /// Its id.
    pub id: ResourceId,
    /// The last version it had.
    pub version: i64,
    /// Whether its earlier versions are gone as well.
    pub erased: bool,
}

/// A stored resource with all it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Resource {
    /// Its path id.
    pub id: ResourceId,
    /// Its title.
    pub title: String,
    /// What everybody may read.
    pub body: String,
    /// `[ENCRYPTED]` where there is a secret, the secret itself under `X-Org-Key`, empty where there is none.
    pub secure_body: SecretText,
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

/// Answer to `GET /api/resource/{id}`: the stored resource of that id, and the experiences of that name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ResourceReading {
    /// The fields of the stored resource, where there is one of this id.
    #[serde(flatten)]
    pub resource: Option<Resource>,
    /// What was asked for, as a name.
    pub name: String,
    /// The newest address that is not empty, over all experiences of the name.
    pub url: String,
    /// The mean over all scores of the name; absent when nobody rated.
    pub avg_score: Option<f64>,
    /// How many experiences of the name there are in all.
    pub experience_count: u64,
    /// One page of them, newest first.
    pub experiences: Vec<ExperienceHit>,
    /// The stored nodes that the experiences of this page name.
    pub contents: Vec<ContentLink>,
    /// Which page of experiences this is, from 1.
    pub page: u64,
    /// How many experiences a full page has.
    pub page_size: u64,
}

/// One entry of `GET /api/resource`: a resource without its texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResourceEntry {
    /// Its path id.
    pub id: ResourceId,
    /// Its title.
    pub title: String,
    /// How its body begins, at most 200 characters.
    pub excerpt: String,
    /// `[ENCRYPTED]` where there is a secret, empty where there is none.
    pub secure_body: String,
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
