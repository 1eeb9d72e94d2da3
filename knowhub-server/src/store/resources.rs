//! Resources in the store; a content node is a resource of type `text`.

use protocol::{ResourceId, Timestamp, hub::ContentType};
use rusqlite::{Connection, Row};
use sha2::{Digest, Sha256};

use super::{Error, Store, knowledge::unreadable};

/// A stored resource and its place in the change sequence.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resource {
    /// Its row, which never changes.
    pub(crate) row: i64,
    /// Its last change.
    pub(crate) seq: i64,
    /// Its path id.
    pub(crate) id: ResourceId,
    /// Its title.
    pub(crate) title: String,
    /// What everybody may read.
    pub(crate) body: String,
    /// The secret as it is sealed; empty when there is none.
    pub(crate) secure_body: String,
    /// What the body is.
    pub(crate) content_type: ContentType,
    /// Language, times, and whatever else its author noted.
    pub(crate) metadata: serde_json::Map<String, serde_json::Value>,
    /// Its place among its siblings.
    pub(crate) sort_order: i64,
    /// Who submits it, as claimed.
    pub(crate) submitted_by: String,
    /// Whose token wrote it last.
    pub(crate) authenticated_as: String,
    /// For whom a delegate wrote it.
    pub(crate) on_behalf_of: String,
    /// sha256 of the body's UTF-8 bytes, in hex.
    pub(crate) content_hash: String,
    /// Counted up by every change.
    pub(crate) version: i64,
    /// When it was first stored.
    pub(crate) created_at: Timestamp,
    /// When it last changed.
    pub(crate) updated_at: Timestamp,
}

impl Store {
    /// Lists the resources that changed after `seq`, in that order, at most `limit`.
    pub(crate) async fn list_resources_after(
        &self,
        seq: i64,
        limit: u32,
    ) -> Result<Vec<Resource>, Error> {
        self.read(move |db| {
            let mut statement =
                db.prepare_cached("SELECT * FROM resources WHERE seq > ?1 ORDER BY seq LIMIT ?2")?;
            Ok(statement.query_map((seq, limit), read)?.collect::<Result<_, _>>()?)
        })
        .await
    }
}

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Resource> {
    Ok(Resource {
        row: row.get("row")?,
        seq: row.get("seq")?,
        id: row.get::<_, String>("id")?.try_into().map_err(unreadable)?,
        title: row.get("title")?,
        body: row.get("body")?,
        secure_body: row.get("secure_body")?,
        content_type: serde_json::from_value(row.get::<_, String>("content_type")?.into())
            .map_err(unreadable)?,
        metadata: serde_json::from_str(&row.get::<_, String>("metadata")?).map_err(unreadable)?,
        sort_order: row.get("sort_order")?,
        submitted_by: row.get("submitted_by")?,
        authenticated_as: row.get("authenticated_as")?,
        on_behalf_of: row.get("on_behalf_of")?,
        content_hash: row.get("content_hash")?,
        version: row.get("version")?,
        created_at: Timestamp::from_millis(row.get("created_at")?),
        updated_at: Timestamp::from_millis(row.get("updated_at")?),
    })
}

/// Stores a row with its own number of the change sequence, and returns the row's.
pub(super) fn insert(db: &Connection, resource: &Resource) -> rusqlite::Result<i64> {
    db.prepare_cached(
        "INSERT INTO resources (seq, id, root, title, body, secure_body, content_type, metadata,
             sort_order, submitted_by, authenticated_as, on_behalf_of, content_hash, version,
             created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
    )?
    .execute((
        resource.seq,
        resource.id.as_str(),
        resource.id.as_str().split('/').next(),
        &resource.title,
        &resource.body,
        &resource.secure_body,
        serde_json::to_value(resource.content_type).expect("a name is plain JSON").as_str(),
        serde_json::to_string(&resource.metadata).expect("JSON is JSON"),
        resource.sort_order,
        &resource.submitted_by,
        &resource.authenticated_as,
        &resource.on_behalf_of,
        &resource.content_hash,
        resource.version,
        resource.created_at.as_millis(),
        resource.updated_at.as_millis(),
    ))?;
    Ok(db.last_insert_rowid())
}

/// Returns the sha256 of a body's UTF-8 bytes, in hex.
pub(super) fn content_hash(body: &str) -> String {
    Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect()
}
