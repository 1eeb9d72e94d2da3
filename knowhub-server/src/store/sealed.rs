//! The sealed secrets in the store, current and earlier ones, for whoever seals them anew.

use std::sync::Arc;

use protocol::ResourceId;
use rusqlite::{OptionalExtension, Row};

use super::{Error, Store, columns::unreadable, left_out, resources::below};

/// Which table sealed secrets are looked for in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SealedIn {
    /// What is current.
    Resources,
    /// What was replaced or deleted.
    Versions,
}

/// One sealed secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sealed {
    /// The resource it belongs to and is bound to.
    pub(crate) id: ResourceId,
    /// The version that has it.
    pub(crate) version: i64,
    /// The cell.
    pub(crate) cell: String,
}

impl Store {
    /// Lists sealed secrets of one org, or of all, by id and version behind `after`, at most `limit`.
    pub(crate) async fn list_sealed(
        &self,
        place: SealedIn,
        org: Option<String>,
        after: Option<Sealed>,
        limit: usize,
    ) -> Result<Vec<Sealed>, Error> {
        let (table, rows) = match place {
            SealedIn::Resources => {
                (&left_out::RESOURCES, "SELECT id, version, secure_body AS cell FROM resources")
            }
            // A record that is no JSON, or whose secret is no text, stops nobody from seeing the others.
            SealedIn::Versions => (
                &left_out::VERSIONS,
                "SELECT kind, id, version,
                     CASE WHEN json_valid(record) THEN record ->> '$.secure_body' END AS cell
                 FROM versions WHERE kind = 'resource'",
            ),
        };
        let left_out = Arc::clone(&self.left_out);
        self.read(move |db| {
            let (from, to) = org.as_deref().map(below).unzip();
            let (after_id, after_version) =
                after.map(|last| (last.id.as_str().to_owned(), last.version)).unzip();
            let mut statement = db.prepare_cached(&format!(
                "SELECT * FROM ({rows}) WHERE typeof(cell) = 'text' AND cell <> ''
                   AND (?1 IS NULL OR id = ?1 OR (id >= ?2 AND id < ?3))
                   AND (id, version) > (coalesce(?4, ''), coalesce(?5, 0))
                 ORDER BY id, version"
            ))?;
            let mut rows = statement.query((org, from, to, after_id, after_version))?;
            let mut sealed = Vec::new();
            while sealed.len() < limit
                && let Some(row) = rows.next()?
            {
                sealed.extend(left_out.read(table, row, read)?.ok());
            }
            Ok(sealed)
        })
        .await
    }

    /// Finds the sealed secret of a resource, or that of one of its earlier versions.
    pub(crate) async fn find_cell(
        &self,
        id: ResourceId,
        version: Option<i64>,
    ) -> Result<Option<String>, Error> {
        self.read(move |db| {
            let mut statement = db.prepare_cached(
                "SELECT secure_body FROM resources WHERE id = ?1 AND ?2 IS NULL
                 UNION ALL
                 SELECT record ->> '$.secure_body' FROM versions
                 WHERE kind = 'resource' AND id = ?1 AND version = ?2 AND json_valid(record)",
            )?;
            Ok(statement.query_row((id.as_str(), version), |row| row.get(0)).optional()?.flatten())
        })
        .await
    }

    /// Puts each new cell in the place of the old one, where that is still there; tells how often it was.
    ///
    /// A resource may have another version by now, as long as its secret is the same.
    /// The record stays the same in all else, its version too: nobody can tell from outside.
    pub(crate) async fn update_sealed(
        &self,
        place: SealedIn,
        cells: Vec<(Sealed, String)>,
    ) -> Result<usize, Error> {
        let sql = match place {
            SealedIn::Resources => {
                "UPDATE resources SET secure_body = ?4
                 WHERE id = ?1 AND secure_body = ?3"
            }
            SealedIn::Versions => {
                "UPDATE versions SET record = json_set(record, '$.secure_body', ?4)
                 WHERE kind = 'resource' AND id = ?1 AND version = ?2
                   AND json_extract(record, '$.secure_body') = ?3"
            }
        };
        self.write(move |db, _| {
            let mut updated = 0;
            for (old, new) in &cells {
                let old = (old.id.as_str(), old.version, &old.cell, new);
                updated += db.prepare_cached(sql)?.execute(old)?;
            }
            Ok(updated)
        })
        .await
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Sealed> {
    Ok(Sealed {
        id: row.get::<_, String>("id")?.try_into().map_err(unreadable)?,
        version: row.get("version")?,
        cell: row.get("cell")?,
    })
}
