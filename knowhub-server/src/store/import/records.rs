//! Experiences, resources and knowledge as an import writes them: with the ids and times that they had elsewhere.

use protocol::{
    ExperienceId,
    export::{Experience, KnowledgeRecord, RecordKind, Resource},
};
use rusqlite::Connection;

use super::{DELETED, Fate, MAX_KEPT_NUMBER, beside, find};
use crate::{
    access::Stamp,
    knowledge::{flags, text_hash},
    resource,
    store::{
        self, Change, Error, KnowledgeRow,
        change::next_seq,
        experiences, export, knowledge, resource_names, resources,
        tombstones::{find_deleted_at, is_deleted_experience},
        versions::first_free,
    },
};

/// An experience keeps its number where that is free, and gets a new one otherwise.
///
/// Two hubs count alike, so what it says decides whether it is here, or was deleted here.
pub(super) fn import_experience(
    db: &Connection,
    changes: &mut Vec<Change>,
    experience: Experience,
    since: i64,
) -> Result<Fate, Error> {
    let number = experience.id.0;
    let here = find(db, "SELECT * FROM experiences WHERE id = ?1", [number], export::experience)?;
    if here.as_ref() == Some(&experience) {
        return Ok(Fate::Here(Some(experience.id)));
    }
    if let Some(other) = find_same_experience(db, &experience, since)? {
        return Ok(Fate::Here(Some(other)));
    }
    if is_deleted_experience(db, &experience.fingerprint())? {
        return Ok(Fate::Refused(DELETED));
    }
    let is_free = number <= MAX_KEPT_NUMBER && here.is_none() && !was_used(db, number)?;
    let row = insert_experience(db, experience, is_free)?;
    let id = row.id;
    changes.push(Change::Experience(Box::new(row)));
    Ok(Fate::Imported(Some(id)))
}

/// Finds an experience that says the same under another number, among those that were here before the import.
fn find_same_experience(
    db: &Connection,
    experience: &Experience,
    since: i64,
) -> rusqlite::Result<Option<ExperienceId>> {
    let mut statement = db.prepare_cached(
        "SELECT * FROM experiences WHERE created_at = ?1 AND name = ?2 AND seq <= ?3 ORDER BY id",
    )?;
    let key = (experience.created_at.as_millis(), &experience.name, since);
    for here in statement.query_map(key, export::experience)? {
        let here = here?;
        let id = here.id;
        if (Experience { id: experience.id, ..here }) == *experience {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Tells whether an experience that is gone had this number: what is kept of it must keep its key.
fn was_used(db: &Connection, number: i64) -> rusqlite::Result<bool> {
    db.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM tombstones WHERE kind = 'experience' AND id = ?1)
             OR EXISTS (SELECT 1 FROM versions WHERE kind = 'experience' AND id = ?1)",
    )?
    .query_row([number.to_string()], |row| row.get(0))
}

fn insert_experience(
    db: &Connection,
    experience: Experience,
    keeps_number: bool,
) -> rusqlite::Result<store::Experience> {
    let seq = next_seq(db)?;
    let (report, created_at) = (experience.report(), experience.created_at);
    let stamp = Stamp {
        authenticated_as: experience.authenticated_as,
        on_behalf_of: experience.on_behalf_of,
    };
    let number = keeps_number.then_some(experience.id);
    let id = experiences::insert(db, number, seq, &report, &stamp, created_at)?;
    resource_names::count_imported_experience(db, id, &report)?;
    Ok(store::Experience { id, seq, report, stamp, created_at })
}

/// A resource that was deleted here and made anew elsewhere goes on with the versions that are here.
pub(super) fn import_resource(
    db: &Connection,
    changes: &mut Vec<Change>,
    mut resource: Resource,
) -> Result<Fate, Error> {
    let (kind, id) = (RecordKind::Resource, resource.id.as_str());
    let here = find(db, "SELECT * FROM resources WHERE id = ?1", [id], export::resource)?;
    if let Some(here) = here {
        return Ok(beside(&Resource { version: resource.version, ..here }, &resource));
    }
    // One that was made after the deletion is another life of its id.
    if find_deleted_at(db, kind, id)?.is_some_and(|at| at > resource.created_at) {
        return Ok(Fate::Refused(DELETED));
    }
    resource.version = resource.version.max(first_free(db, kind, id)?);
    changes.push(Change::Resource(Box::new(insert_resource(db, resource)?)));
    Ok(Fate::Imported(None))
}

fn insert_resource(db: &Connection, resource: Resource) -> rusqlite::Result<store::Resource> {
    let mut row = store::Resource {
        row: 0,
        seq: next_seq(db)?,
        content_hash: resource::content_hash(&resource.body),
        id: resource.id,
        title: resource.title,
        body: resource.body,
        secure_body: resource.secure_body,
        content_type: resource.content_type,
        metadata: protocol::hub::Metadata(resource.metadata),
        sort_order: resource.sort_order,
        submitted_by: resource.submitted_by,
        authenticated_as: resource.authenticated_as,
        on_behalf_of: resource.on_behalf_of,
        version: resource.version,
        created_at: resource.created_at,
        updated_at: resource.updated_at,
    };
    row.row = resources::save(db, &row)?;
    Ok(row)
}

/// A knowledge record that was deleted here never comes back: no id is given twice, and clocks differ.
pub(super) fn import_knowledge(
    db: &Connection,
    changes: &mut Vec<Change>,
    knowledge: KnowledgeRecord,
) -> Result<Fate, Error> {
    let KnowledgeRecord { version, mut record } = knowledge;
    // Each hub flags by its own rules.
    record.flags = flags(&record.task, &record.content);
    let (kind, id) = (RecordKind::Knowledge, record.id.as_str());
    let here = find(db, "SELECT * FROM knowledge WHERE id = ?1", [id], knowledge::read)?;
    if let Some(here) = here {
        return Ok(beside(&here.record, &record));
    }
    if find_deleted_at(db, kind, id)?.is_some() {
        return Ok(Fate::Refused(DELETED));
    }
    let version = version.max(first_free(db, kind, id)?);
    let seq = next_seq(db)?;
    let hash = text_hash(&record.task, &record.content);
    let row = knowledge::insert(db, seq, version, &record, &hash)?;
    changes.push(Change::Knowledge(Box::new(KnowledgeRow { row, seq, version, record })));
    Ok(Fate::Imported(None))
}
