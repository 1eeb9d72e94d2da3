//! Deleting experiences, one at a time.

use protocol::{
    ExperienceId, export,
    hub::{self, ExperienceDeleted},
};
use rusqlite::Connection;

use super::{Experience, ONLY_VERSION, find};
use crate::store::{
    Change, Deletion, Error, Expected, RecordKind, Store,
    columns::json,
    resource_names,
    tombstones::{Dead, find_tombstone, insert_tombstone, note_erasure},
    unreadable::{delete_unread, find_unread, not_found},
    versions::{self, keep_version},
};

impl Store {
    /// Deletes an experience, and takes it out of the aggregate of its name; nothing when there is none.
    ///
    /// What it said stays readable to an admin unless `erase` is set; one that was deleted before can still be erased.
    pub(crate) async fn delete_experience(
        &self,
        id: ExperienceId,
        expected: Expected,
        deletion: Deletion,
        erase: bool,
    ) -> Result<Option<ExperienceDeleted>, Error> {
        self.write(move |db, changes| {
            let key = id.to_string();
            let kind = RecordKind::Experience;
            match find(db, id).map_err(|err| not_found(err, kind, &key)) {
                Ok(Some(row)) => {
                    expected.check(Some(ONLY_VERSION))?;
                    delete(db, changes, row, &deletion)?;
                }
                Ok(None) if erase && find_tombstone(db, kind, &key)?.is_some() => {
                    expected.check(None)?;
                    note_erasure(db, kind, &key, &deletion)?;
                }
                Ok(None) => return Ok(None),
                Err(failure) => {
                    let place = find_unread(db, kind, &key, erase, failure)?;
                    expected.check(Some(place.version))?;
                    resource_names::uncount_experience(db, id)?;
                    delete_unread(db, changes, kind, &key, place, &deletion)?;
                }
            }
            if erase {
                versions::erase(db, kind, &key)?;
            }
            Ok(Some(ExperienceDeleted { id, erased: erase }))
        })
        .await
    }
}

fn delete(
    db: &Connection,
    changes: &mut Vec<Change>,
    row: Experience,
    deletion: &Deletion,
) -> Result<(), Error> {
    let (id, kind) = (row.id, RecordKind::Experience);
    resource_names::uncount_experience(db, id)?;
    db.prepare_cached("DELETE FROM experiences WHERE id = ?1")?.execute([id.0])?;
    let key = id.to_string();
    let record = hub::Experience::from(row);
    keep_version(db, kind, &key, ONLY_VERSION, &json(&record), deletion.at, &deletion.by)?;
    let fingerprint = &export::Experience::from(record).fingerprint();
    let dead = Dead { kind, id: &key, row: id.0, version: ONLY_VERSION, fingerprint };
    changes.push(Change::Deleted(insert_tombstone(db, dead, deletion)?));
    Ok(())
}
