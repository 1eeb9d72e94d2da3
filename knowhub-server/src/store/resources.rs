//! Resources in the store; a content node is a resource of type `text`.

mod list;
mod reading;
mod tree;

use std::{rc::Rc, time::Duration};

use protocol::{
    ResourceId, Timestamp,
    hub::{ContentType, Metadata, ResourceDeleted, ResourceStored},
};
use rusqlite::{Connection, OptionalExtension, Row, types::Value};

use super::{
    Change, Deletion, Error, Expected, IdempotentRequest, Reader, RecordKind, Store, Written,
    change::{list_changed, next_seq},
    columns::{json, unreadable, value},
    idempotency,
    left_out::{self, LeftOut},
    tombstones::{Dead, find_deleted_at, insert_tombstone, note_erasure},
    unreadable::{delete_unread, find_unread, not_found},
    versions,
};
use crate::{
    knowledge::Author,
    resource::{Edit, KeyDemand},
};

pub(crate) use list::ResourceFilter;
pub(crate) use reading::Reading;
pub(crate) use tree::Node;
pub(super) use tree::below;

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
    pub(crate) metadata: Metadata,
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

/// How a resource is to be deleted.
#[derive(Debug)]
pub(crate) struct ResourceDeletion {
    /// Which.
    pub(crate) id: ResourceId,
    /// The version it is believed to have.
    pub(crate) expected: Expected,
    /// What a sealed resource demands.
    pub(crate) key: KeyDemand,
    /// Whether its earlier versions go as well, for good.
    pub(crate) erase: bool,
    /// Who, when and why.
    pub(crate) deletion: Deletion,
}

impl Resource {
    /// Tells whether it has a secret.
    pub(crate) fn is_sealed(&self) -> bool {
        !self.secure_body.is_empty()
    }
}

impl Store {
    /// Makes or changes a resource, unless the same request was answered before; what it said before is kept.
    pub(crate) async fn save_resource(
        &self,
        id: ResourceId,
        edit: Edit,
        expected: Expected,
        request: Option<IdempotentRequest>,
    ) -> Result<Written<ResourceStored>, Error> {
        self.write(move |db, changes| {
            idempotency::once(db, request.as_ref(), edit.at, || {
                let current = find_to_change(db, &id)?;
                expected.check(current.as_ref().map(|resource| resource.version))?;
                let created = current.is_none();
                let version = match &current {
                    Some(resource) => resource.version + 1,
                    None => versions::first_free(db, RecordKind::Resource, id.as_str())?,
                };
                let at = not_before(db, &id, current.as_ref(), edit.at)?;
                let edit = Edit { at, ..edit };
                let Some(mut resource) = edit.apply(&id, current.as_ref(), version)? else {
                    return Ok(ResourceStored { id, version: version - 1, created });
                };
                if let Some(current) = current {
                    keep(db, current, resource.updated_at, &resource.authenticated_as)?;
                }
                resource.seq = next_seq(db)?;
                resource.row = save(db, &resource)?;
                changes.push(Change::Resource(Box::new(resource)));
                Ok(ResourceStored { id, version, created })
            })
        })
        .await
    }

    /// Deletes a resource and nothing else; `None` when there is none, nor an earlier version that is to be erased.
    pub(crate) async fn delete_resource(
        &self,
        order: ResourceDeletion,
    ) -> Result<Option<ResourceDeleted>, Error> {
        self.write(move |db, changes| {
            let ResourceDeletion { id, expected, key, erase, mut deletion } = order;
            let kind = RecordKind::Resource;
            let check = |version, is_sealed| -> Result<(), Error> {
                expected.check(version)?;
                Ok(key.check(is_sealed || erase && versions::has_sealed(db, &id)?)?)
            };
            let version = match find_to_change(db, &id) {
                Ok(Some(current)) => {
                    let (row, version) = (current.row, current.version);
                    check(Some(version), current.is_sealed())?;
                    // A record ends after it began, by its own times too, or an import takes its end for that of another.
                    let begun = current.created_at.after(Duration::from_millis(1));
                    deletion.at = deletion.at.max(begun).max(current.updated_at);
                    keep(db, current, deletion.at, &deletion.by)?;
                    db.prepare_cached("DELETE FROM resources WHERE id = ?1")?
                        .execute([id.as_str()])?;
                    let id = id.as_str();
                    let dead = Dead { kind, id, row, version, fingerprint: "" };
                    changes.push(Change::Deleted(insert_tombstone(db, dead, &deletion)?));
                    version
                }
                Ok(None) => {
                    check(None, false)?;
                    let last = versions::find_last(db, kind, id.as_str())?.filter(|_| erase);
                    let Some(version) = last else { return Ok(None) };
                    note_erasure(db, kind, id.as_str(), &deletion)?;
                    version
                }
                Err(failure) => {
                    let place = find_unread(db, kind, id.as_str(), erase, failure)?;
                    check(Some(place.version), place.is_sealed)?;
                    delete_unread(db, changes, kind, id.as_str(), place, &deletion)?;
                    place.version
                }
            };
            if erase {
                versions::erase(db, kind, id.as_str())?;
            }
            Ok(Some(ResourceDeleted { id, version, erased: erase }))
        })
        .await
    }

    /// Finds the resource with this id.
    pub(crate) async fn find_resource(&self, id: ResourceId) -> Result<Option<Resource>, Error> {
        self.read(move |db| Ok(find(db, &id)?)).await
    }
}

impl Reader<'_> {
    /// Lists the resources in these rows, in no particular order.
    pub(crate) fn list_resources(&self, rows: Vec<i64>) -> Result<Vec<Resource>, Error> {
        let rows: Rc<Vec<Value>> = Rc::new(rows.into_iter().map(Value::from).collect());
        let mut statement =
            self.db.prepare_cached("SELECT * FROM resources WHERE row IN rarray(?1)")?;
        Ok(self.left_out.list(&left_out::RESOURCES, statement.query([rows])?, read)?)
    }
}

/// Edits the metadata of a resource by the hub's own hand, within the caller's transaction; what it said before is kept.
///
/// One that is not here, cannot be read, or would outgrow its bounds stays as it is. No key is asked for: nothing that it
/// protects is touched.
pub(super) fn update_metadata(
    db: &Connection,
    changes: &mut Vec<Change>,
    id: &ResourceId,
    author: &Author,
    edit: impl FnOnce(&mut Metadata),
) -> Result<(), Error> {
    let Ok(Some(current)) = find_to_change(db, id) else { return Ok(()) };
    let mut resource = current.clone();
    edit(&mut resource.metadata);
    if resource == current || resource.metadata.check().is_err() {
        return Ok(());
    }
    resource.version += 1;
    resource.updated_at = current.updated_at.max(author.now);
    keep(db, current, resource.updated_at, &author.name)?;
    resource.seq = next_seq(db)?;
    save(db, &resource)?;
    changes.push(Change::Resource(Box::new(resource)));
    Ok(())
}

/// Lists the resources that changed after `seq`, in that order, at most `limit`.
pub(super) fn list_after(
    db: &Connection,
    seq: i64,
    limit: u32,
    left_out: &LeftOut,
) -> rusqlite::Result<Vec<Change>> {
    let mut statement =
        db.prepare_cached("SELECT * FROM resources WHERE seq > ?1 ORDER BY seq LIMIT ?2")?;
    let rows = statement.query((seq, limit))?;
    list_changed(rows, RecordKind::Resource, &left_out::RESOURCES, left_out, |row| {
        Ok(Change::Resource(Box::new(read(row)?)))
    })
}

/// Returns the time of a change that happens at `at`: not before what it follows, even when a clock was set back.
///
/// An import tells the lives of an id apart by these times.
fn not_before(
    db: &Connection,
    id: &ResourceId,
    current: Option<&Resource>,
    at: Timestamp,
) -> rusqlite::Result<Timestamp> {
    let earliest = match current {
        Some(current) => Some(current.updated_at),
        None => find_deleted_at(db, RecordKind::Resource, id.as_str())?,
    };
    Ok(earliest.map_or(at, |earliest| at.max(earliest)))
}

pub(super) fn find(db: &Connection, id: &ResourceId) -> rusqlite::Result<Option<Resource>> {
    let mut statement = db.prepare_cached("SELECT * FROM resources WHERE id = ?1")?;
    statement.query_row([id.as_str()], read).optional()
}

/// Finds a resource that is about to be changed; tells when it cannot be read.
fn find_to_change(db: &Connection, id: &ResourceId) -> Result<Option<Resource>, Error> {
    find(db, id).map_err(|err| not_found(err, RecordKind::Resource, id.as_str()))
}

fn keep(db: &Connection, resource: Resource, now: Timestamp, by: &str) -> Result<(), Error> {
    let (id, version) = (resource.id.clone(), resource.version);
    let record = json(&resource.record());
    versions::keep_version(db, RecordKind::Resource, id.as_str(), version, &record, now, by)?;
    Ok(())
}

/// Writes the row and returns its number, which stays when there is or ever was a resource of this id.
///
/// A tombstone is replaced by the next one of its id; with a number of its own each time,
/// an index that missed the first would keep that row for ever.
pub(super) fn save(db: &Connection, resource: &Resource) -> rusqlite::Result<i64> {
    db.prepare_cached(
        "INSERT INTO resources (row, seq, id, root, title, body, secure_body, content_type, metadata, sort_order,
             submitted_by, authenticated_as, on_behalf_of, content_hash, version, created_at, updated_at)
         VALUES (coalesce((SELECT row FROM resources WHERE id = ?2),
                          (SELECT row FROM tombstones WHERE kind = 'resource' AND id = ?2 AND row > 0)),
             ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
         ON CONFLICT (row) DO UPDATE SET
             seq = excluded.seq, title = excluded.title, body = excluded.body,
             secure_body = excluded.secure_body, content_type = excluded.content_type,
             metadata = excluded.metadata, sort_order = excluded.sort_order,
             submitted_by = excluded.submitted_by, authenticated_as = excluded.authenticated_as,
             on_behalf_of = excluded.on_behalf_of, content_hash = excluded.content_hash,
             version = excluded.version, updated_at = excluded.updated_at
         RETURNING row",
    )?
    .query_row(
        (
            resource.seq,
            resource.id.as_str(),
            tree::root(&resource.id),
            &resource.title,
            &resource.body,
            &resource.secure_body,
            resource.content_type.as_str(),
            json(&resource.metadata),
            resource.sort_order,
            &resource.submitted_by,
            &resource.authenticated_as,
            &resource.on_behalf_of,
            &resource.content_hash,
            resource.version,
            resource.created_at.as_millis(),
            resource.updated_at.as_millis(),
        ),
        |row| row.get(0),
    )
}

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Resource> {
    Ok(Resource {
        row: row.get("row")?,
        seq: row.get("seq")?,
        id: row.get::<_, String>("id")?.try_into().map_err(unreadable)?,
        title: row.get("title")?,
        body: row.get("body")?,
        secure_body: row.get("secure_body")?,
        content_type: row.get::<_, String>("content_type")?.parse().map_err(unreadable)?,
        metadata: value(row, "metadata")?,
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
