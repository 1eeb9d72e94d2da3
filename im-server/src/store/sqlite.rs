//! The store in one SQLite file.

use std::{fs::TryLockError, path::Path, time::Duration};

use protocol::{
    ContactId, MessageId, Timestamp,
    im::{Notice, Send},
};
use rusqlite::{Connection, OptionalExtension, params};
use service::file_lock::FileLock;
use uuid::Uuid;

use super::{
    Error, Fingerprint, Letter, Record, Row, Snapshot, Waiting, Write, apply::apply, cells::Cells,
    schema,
};

/// How long a write waits while another program (a backup, a person's shell) locks the file.
/// Past it, senders are told `unavailable`.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the id of a settled message is remembered; a message sent again later is a new one.
const KEEP_SEEN: Duration = Duration::from_hours(24);

/// How many ids are remembered per sender; past it the oldest settled ones are forgotten early.
const MAX_SEEN_PER_SENDER: i64 = 100_000;

/// How many ids one sweep forgets at most, so that no sweep holds up deliveries.
const SWEEP_ROWS: i64 = 10_000;

/// An open store; no other relay can open the same file while it lives.
#[derive(Debug)]
pub(crate) struct Sqlite {
    db: Connection,
    _lock: Option<FileLock>,
}

impl Sqlite {
    /// Opens the file, which is made with its folder when it is missing.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|source| Error::Folder { path: path.to_owned(), source })?;
        }
        let lock = FileLock::take(path).map_err(|err| match err {
            TryLockError::WouldBlock => Error::InUse { path: path.to_owned() },
            TryLockError::Error(source) => Error::Lock { path: path.to_owned(), source },
        })?;
        let db = Connection::open(path)
            .map_err(|source| Error::Open { path: path.to_owned(), source })?;
        Self::prepare(db, path, Some(lock))
    }

    /// Opens a store that ends with the process.
    #[cfg(test)]
    pub(crate) fn in_memory() -> Result<Self, Error> {
        let db = Connection::open_in_memory().map_err(Error::Read)?;
        Self::prepare(db, Path::new(":memory:"), None)
    }

    fn prepare(mut db: Connection, path: &Path, lock: Option<FileLock>) -> Result<Self, Error> {
        let configure = |db: &Connection| {
            db.busy_timeout(BUSY_TIMEOUT)?;
            db.pragma_update(None, "journal_mode", "WAL")?;
            db.pragma_update(None, "synchronous", "FULL")
        };
        schema::check_owner(&db, path)?;
        configure(&db).map_err(|source| Error::Open { path: path.to_owned(), source })?;
        schema::migrate(&mut db, path)?;
        Ok(Self { db, _lock: lock })
    }

    /// Makes the writes durable, all or none.
    pub(crate) fn commit(&mut self, writes: &[Write]) -> Result<(), Error> {
        let commit = |db: &mut Connection| {
            let tx = db.transaction()?;
            for write in writes {
                apply(&tx, write)?;
            }
            tx.commit()
        };
        commit(&mut self.db).map_err(Error::Write)
    }

    /// Returns the fingerprint under which the sender used this id before, if it did.
    pub(crate) fn find_seen(
        &self,
        from: &ContactId,
        id: MessageId,
    ) -> Result<Option<Fingerprint>, Error> {
        self.db
            .prepare_cached("SELECT fingerprint FROM seen WHERE sender = ?1 AND id = ?2")
            .and_then(|mut query| {
                query.query_row(params![from.as_str(), id.0], |row| row.get(0)).optional()
            })
            .map(|found| found.map(Fingerprint))
            .map_err(Error::Read)
    }

    /// Returns the message of a row.
    pub(crate) fn read(&self, row: Row) -> Result<Letter, Error> {
        let sql =
            "SELECT sender, id, recipient, chat_id, in_reply_to, content, meta, sent_at, expires_at
                   FROM messages WHERE row = ?1";
        let mut query = self.db.prepare_cached(sql).map_err(Error::Read)?;
        let mut rows = query.query([row.0]).map_err(Error::Read)?;
        let cells = rows.next().and_then(|found| found.ok_or(rusqlite::Error::QueryReturnedNoRows));
        let cells = Cells { table: "messages", number: row.0, row: cells.map_err(Error::Read)? };
        let meta = match cells.raw::<Option<String>>(6)? {
            Some(text) => Some(serde_json::from_str(&text).map_err(|_| cells.damaged("meta"))?),
            None => None,
        };
        Ok(Letter {
            from: cells.contact(0, "sender")?,
            send: Send {
                id: MessageId(cells.raw(1)?),
                to: cells.contact(2, "recipient")?,
                chat_id: cells.chat(3)?,
                in_reply_to: cells.raw::<Option<Uuid>>(4)?.map(MessageId),
                content: cells.raw(5)?,
                ttl_ms: None,
                meta,
            },
            sent_at: Timestamp::from_millis(cells.raw(7)?),
            expires_at: Timestamp::from_millis(cells.raw(8)?),
        })
    }

    /// Returns everything but contents, for the start of the relay.
    pub(crate) fn load(&self) -> Result<Snapshot, Error> {
        let next_row = "SELECT 1 + max((SELECT coalesce(max(row), 0) FROM messages),
                                       (SELECT coalesce(max(row), 0) FROM seen))";
        Ok(Snapshot {
            next_row: self.number(next_row)?,
            next_notice: self.number("SELECT 1 + coalesce(max(row), 0) FROM notices")?,
            waiting: self.list_waiting()?,
            contacts: self.list_contacts()?,
            notices: self.list_notices()?,
        })
    }

    /// Forgets ids of settled messages that are old enough, or too many of one sender.
    pub(crate) fn sweep(&mut self, now: Timestamp) -> Result<(), Error> {
        let oldest = now.as_millis() - KEEP_SEEN.as_millis() as i64;
        let sweep = |db: &Connection| {
            db.execute(
                "DELETE FROM seen WHERE (sender, id) IN (
                     SELECT sender, id FROM seen WHERE settled_at < ?1 LIMIT ?2)",
                [oldest, SWEEP_ROWS],
            )?;
            db.execute(
                "DELETE FROM seen WHERE settled_at IS NOT NULL AND (sender, id) IN (
                     SELECT sender, id FROM (
                         SELECT sender, id, row_number() OVER (PARTITION BY sender ORDER BY row DESC) AS age
                         FROM seen WHERE sender IN (
                             SELECT sender FROM seen GROUP BY sender HAVING count(*) > ?1))
                     WHERE age > ?1 LIMIT ?2)",
                [MAX_SEEN_PER_SENDER, SWEEP_ROWS],
            )
        };
        sweep(&self.db).map(|_| ()).map_err(Error::Write)
    }

    fn number(&self, sql: &str) -> Result<i64, Error> {
        self.db.query_row(sql, [], |row| row.get(0)).map_err(Error::Read)
    }

    fn list_waiting(&self) -> Result<Vec<Waiting>, Error> {
        let sql = "SELECT row, id, sender, recipient, chat_id, in_reply_to IS NOT NULL,
                          octet_length(content) + coalesce(octet_length(meta), 0),
                          expires_at, attempts, strikes, first_delivered_at
                   FROM messages WHERE set_aside_at IS NULL ORDER BY row";
        self.list("messages", sql, |cells| {
            Ok(Waiting {
                row: Row(cells.number),
                id: MessageId(cells.raw(1)?),
                from: cells.contact(2, "sender")?,
                to: cells.contact(3, "recipient")?,
                chat_id: cells.chat(4)?,
                is_reply: cells.raw(5)?,
                size_bytes: cells.raw::<i64>(6)? as u64,
                expires_at: Timestamp::from_millis(cells.raw(7)?),
                record: Record {
                    attempts: cells.raw(8)?,
                    strikes: cells.raw(9)?,
                    first_delivered_at: cells.raw::<Option<i64>>(10)?.map(Timestamp::from_millis),
                },
            })
        })
    }

    fn list_contacts(&self) -> Result<Vec<(ContactId, Timestamp)>, Error> {
        let sql = "SELECT 0, contact_id, last_seen FROM contacts";
        self.list("contacts", sql, |cells| {
            Ok((cells.contact(1, "contact_id")?, Timestamp::from_millis(cells.raw(2)?)))
        })
    }

    fn list_notices(&self) -> Result<Vec<(Row, ContactId, Notice, Timestamp)>, Error> {
        let sql = "SELECT row, sender, id, recipient, code, at FROM notices ORDER BY row";
        self.list("notices", sql, |cells| {
            let code = cells.code(4)?;
            let notice =
                Notice { id: MessageId(cells.raw(2)?), to: cells.contact(3, "recipient")?, code };
            let at = Timestamp::from_millis(cells.raw(5)?);
            Ok((Row(cells.number), cells.contact(1, "sender")?, notice, at))
        })
    }

    /// Runs a query whose first column is the row's number.
    fn list<T>(
        &self,
        table: &'static str,
        sql: &str,
        read: impl Fn(&Cells<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut query = self.db.prepare(sql).map_err(Error::Read)?;
        let mut rows = query.query([]).map_err(Error::Read)?;
        let mut list = Vec::new();
        while let Some(row) = rows.next().map_err(Error::Read)? {
            let number = row.get(0).map_err(Error::Read)?;
            list.push(read(&Cells { table, number, row })?);
        }
        Ok(list)
    }
}
