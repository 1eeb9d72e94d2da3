//! Rows as an import writes them: with the ids, times and versions that they had elsewhere.

use protocol::{
    ExperienceId,
    export::{Evaluation, Experience, Feedback, KnowledgeRecord, Resource, Tombstone, Version},
    hub::Demand,
};
use rusqlite::Connection;

use crate::{
    access::Stamp,
    resource,
    store::{self, KnowledgeRow, change::next_seq, knowledge, resource_names, resources},
};

/// Finds an experience that says the same under another number, among those that were here before the import.
pub(super) fn find_same_experience(
    db: &Connection,
    experience: &Experience,
    since: i64,
) -> rusqlite::Result<Option<ExperienceId>> {
    let mut statement = db.prepare_cached(
        "SELECT * FROM experiences WHERE created_at = ?1 AND name = ?2 AND seq <= ?3 ORDER BY id",
    )?;
    let key = (experience.created_at.as_millis(), &experience.name, since);
    for here in statement.query_map(key, store::export::experience)? {
        let here = here?;
        let id = here.id;
        if (Experience { id: experience.id, ..here }) == *experience {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Stores an experience, under its own number or a new one.
pub(super) fn insert_experience(
    db: &Connection,
    experience: Experience,
    keeps_number: bool,
) -> rusqlite::Result<store::Experience> {
    let seq = next_seq(db)?;
    let report = experience.report();
    db.prepare_cached(
        "INSERT INTO experiences (id, seq, name, url, category, task, score, outcome, tips,
             content_id, submitted_by, authenticated_as, on_behalf_of, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?
    .execute((
        keeps_number.then_some(experience.id.0),
        seq,
        &report.name,
        &report.url,
        &report.category,
        &report.task,
        report.score,
        &report.outcome,
        &report.tips,
        &report.content_id,
        &report.submitted_by,
        &experience.authenticated_as,
        &experience.on_behalf_of,
        experience.created_at.as_millis(),
    ))?;
    let id = ExperienceId(db.last_insert_rowid());
    resource_names::count_imported_experience(db, id, &report)?;
    let stamp = Stamp {
        authenticated_as: experience.authenticated_as,
        on_behalf_of: experience.on_behalf_of,
    };
    Ok(store::Experience { id, seq, report, stamp, created_at: experience.created_at })
}

pub(super) fn insert_resource(
    db: &Connection,
    resource: &Resource,
) -> rusqlite::Result<store::Resource> {
    let mut row = store::Resource {
        row: 0,
        seq: next_seq(db)?,
        id: resource.id.clone(),
        title: resource.title.clone(),
        body: resource.body.clone(),
        secure_body: resource.secure_body.clone(),
        content_type: resource.content_type,
        metadata: protocol::hub::Metadata(resource.metadata.clone()),
        sort_order: resource.sort_order,
        submitted_by: resource.submitted_by.clone(),
        authenticated_as: resource.authenticated_as.clone(),
        on_behalf_of: resource.on_behalf_of.clone(),
        content_hash: resource::content_hash(&resource.body),
        version: resource.version,
        created_at: resource.created_at,
        updated_at: resource.updated_at,
    };
    row.row = resources::save(db, &row)?;
    Ok(row)
}

pub(super) fn insert_knowledge(
    db: &Connection,
    knowledge: &KnowledgeRecord,
) -> rusqlite::Result<KnowledgeRow> {
    let seq = next_seq(db)?;
    let row = knowledge::insert(db, seq, &knowledge.record)?;
    db.prepare_cached("UPDATE knowledge SET version = ?2 WHERE row = ?1")?
        .execute((row, knowledge.version))?;
    let (version, record) = (knowledge.version, knowledge.record.clone());
    Ok(KnowledgeRow { row, seq, version, record })
}

pub(super) fn insert_version(db: &Connection, version: &Version) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO versions (kind, id, version, record, replaced_at, replaced_by)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((
        &version.kind,
        &version.id,
        version.version,
        version.record.to_string(),
        version.replaced_at.as_millis(),
        &version.replaced_by,
    ))?;
    Ok(())
}

/// Stores a tombstone of a record that has no row here, so that no index has to hear of it.
pub(super) fn insert_tombstone(db: &Connection, tombstone: &Tombstone) -> rusqlite::Result<()> {
    let seq = next_seq(db)?;
    db.prepare_cached(
        "INSERT INTO tombstones (kind, id, seq, row, version, deleted_at, deleted_by, reason)
         VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7)",
    )?
    .execute((
        &tombstone.kind,
        &tombstone.id,
        seq,
        tombstone.version,
        tombstone.deleted_at.as_millis(),
        &tombstone.deleted_by,
        &tombstone.reason,
    ))?;
    Ok(())
}

pub(super) fn insert_evaluation(db: &Connection, one: &Evaluation) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO evaluations (principal, trace_id, knowledge_id, injected_at_sequence,
             goal_id, eval_status, reason, evaluated_at, evaluated_at_trigger, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute((
        &one.principal,
        &one.trace_id,
        &one.knowledge_id,
        one.injected_at_sequence,
        &one.goal_id,
        &one.eval_status,
        &one.reason,
        &one.evaluated_at,
        &one.evaluated_at_trigger,
        one.created_at.as_millis(),
    ))?;
    Ok(())
}

pub(super) fn insert_feedback(db: &Connection, one: &Feedback) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO feedback (knowledge_id, text, principal, created_at, applied_at)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((
        one.knowledge_id.as_str(),
        &one.text,
        &one.principal,
        one.created_at.as_millis(),
        one.applied_at.map(protocol::Timestamp::as_millis),
    ))?;
    Ok(())
}

pub(super) fn insert_demand(db: &Connection, one: &Demand) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO demand (kind, wanted, count, first_at, last_at) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((
        one.kind.as_str(),
        &one.wanted,
        one.count.cast_signed(),
        one.first_at.as_millis(),
        one.last_at.as_millis(),
    ))?;
    Ok(())
}
