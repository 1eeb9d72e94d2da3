//! The tables of the relay's database, and how older ones become current.

use std::path::Path;

use rusqlite::Connection;

use super::Error;

/// Marks the file as a relay's database; the letters `KnIm`.
const APPLICATION_ID: i32 = 0x4b6e_496d;

/// Each step leads from one `user_version` to the next; steps are only ever added.
const STEPS: &[&str] = &["
    CREATE TABLE messages (
        row INTEGER PRIMARY KEY,
        sender TEXT NOT NULL,
        id BLOB NOT NULL,
        recipient TEXT NOT NULL,
        chat_id TEXT,
        in_reply_to BLOB,
        content TEXT NOT NULL,
        meta TEXT,
        sent_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        strikes INTEGER NOT NULL DEFAULT 0,
        first_delivered_at INTEGER,
        set_aside_at INTEGER
    ) STRICT;
    CREATE TABLE seen (
        sender TEXT NOT NULL,
        id BLOB NOT NULL,
        fingerprint BLOB NOT NULL,
        row INTEGER NOT NULL,
        settled_at INTEGER,
        PRIMARY KEY (sender, id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX seen_settled ON seen (settled_at) WHERE settled_at IS NOT NULL;
    CREATE TABLE contacts (
        contact_id TEXT PRIMARY KEY,
        last_seen INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE notices (
        row INTEGER PRIMARY KEY,
        sender TEXT NOT NULL,
        id BLOB NOT NULL,
        recipient TEXT NOT NULL,
        code TEXT NOT NULL,
        at INTEGER NOT NULL
    ) STRICT;
"];

/// Refuses, before anything is written, a database that is another program's.
pub(super) fn check_owner(db: &Connection, path: &Path) -> Result<(), Error> {
    let is_foreign = |db: &Connection| {
        let id: i32 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let has_tables: bool =
            db.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))?;
        Ok(has_tables && id != APPLICATION_ID)
    };
    match is_foreign(db) {
        Ok(false) => Ok(()),
        Ok(true) => Err(Error::Foreign { path: path.to_owned() }),
        Err(source) => Err(Error::Open { path: path.to_owned(), source }),
    }
}

/// Brings a database to the current version.
pub(super) fn migrate(db: &mut Connection, path: &Path) -> Result<(), Error> {
    let failed = |source| Error::Open { path: path.to_owned(), source };
    let found: i64 = db.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
    let known = STEPS.len();
    let Some(missing) = usize::try_from(found).ok().and_then(|done| STEPS.get(done..)) else {
        return Err(Error::Newer { path: path.to_owned(), found, known });
    };
    let tx = db.transaction().map_err(failed)?;
    for step in missing {
        tx.execute_batch(step).map_err(failed)?;
    }
    tx.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    tx.pragma_update(None, "user_version", known as u32).map_err(failed)?;
    tx.commit().map_err(failed)
}
