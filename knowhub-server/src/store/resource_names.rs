//! What is known of each resource name over all its experiences.

use std::{collections::HashMap, rc::Rc};

use protocol::{ExperienceId, hub::NewExperience};
use rusqlite::{Connection, types::Value};

use super::{Error, Reader};

/// The aggregate of one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ResourceName {
    /// How many experiences it has.
    pub(crate) experience_count: u64,
    /// The mean of its scores; absent when nobody rated.
    pub(crate) avg_score: Option<f64>,
    /// The newest URL that is not empty.
    pub(crate) url: String,
}

impl Reader<'_> {
    /// Lists the aggregates of these names, by name.
    pub(crate) fn list_resource_names(
        &self,
        names: Vec<String>,
    ) -> Result<HashMap<String, ResourceName>, Error> {
        list_resource_names(self.db, names)
    }
}

pub(super) fn list_resource_names(
    db: &Connection,
    names: Vec<String>,
) -> Result<HashMap<String, ResourceName>, Error> {
    let names: Rc<Vec<Value>> = Rc::new(names.into_iter().map(Value::from).collect());
    let mut statement = db.prepare_cached(
        "SELECT name, experience_count, score_sum, score_count, url
         FROM resource_names WHERE name IN rarray(?1)",
    )?;
    let rows = statement.query_map([names], |row| {
        let (score_sum, score_count): (f64, f64) = (row.get(2)?, row.get(3)?);
        let aggregate = ResourceName {
            experience_count: row.get::<_, u32>(1)?.into(),
            avg_score: (score_count > 0.0).then(|| score_sum / score_count),
            url: row.get(4)?,
        };
        Ok((row.get(0)?, aggregate))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Adds one experience to the aggregate of its name, within the caller's transaction.
pub(super) fn count_experience(db: &Connection, report: &NewExperience) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO resource_names (name, experience_count, score_sum, score_count, url)
         VALUES (?1, 1, coalesce(?2, 0), ?2 IS NOT NULL, ?3)
         ON CONFLICT (name) DO UPDATE SET
             experience_count = experience_count + 1,
             score_sum = score_sum + excluded.score_sum,
             score_count = score_count + excluded.score_count,
             url = CASE excluded.url WHEN '' THEN url ELSE excluded.url END",
    )?
    .execute((&report.name, report.score, &report.url))?;
    Ok(())
}

/// Adds an imported experience to the aggregate of its name; the URL of a later number stays.
pub(super) fn count_imported_experience(
    db: &Connection,
    id: ExperienceId,
    report: &NewExperience,
) -> rusqlite::Result<()> {
    let is_outdated: bool = db
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM experiences WHERE name = ?1 AND id > ?2 AND url <> '')",
        )?
        .query_row((&report.name, id.0), |row| row.get(0))?;
    if is_outdated {
        let without_url = NewExperience { url: String::new(), ..report.clone() };
        return count_experience(db, &without_url);
    }
    count_experience(db, report)
}

/// Takes an experience that is about to be deleted out of the aggregate of its name, within the caller's transaction.
///
/// It need not be readable.
pub(super) fn uncount_experience(db: &Connection, id: ExperienceId) -> rusqlite::Result<()> {
    db.prepare_cached(
        "UPDATE resource_names SET
             experience_count = experience_count - 1,
             score_sum = score_sum - coalesce(gone.score, 0),
             score_count = score_count - (gone.score IS NOT NULL),
             url = CASE resource_names.url WHEN gone.url THEN coalesce((
                 SELECT url FROM experiences WHERE name = gone.name AND id <> gone.id AND url <> ''
                 ORDER BY id DESC LIMIT 1
             ), '') ELSE resource_names.url END
         FROM (SELECT id, name, score, url FROM experiences WHERE id = ?1) AS gone
         WHERE resource_names.name = gone.name",
    )?
    .execute([id.0])?;
    db.prepare_cached(
        "DELETE FROM resource_names
         WHERE name = (SELECT name FROM experiences WHERE id = ?1) AND experience_count = 0",
    )?
    .execute([id.0])?;
    Ok(())
}
