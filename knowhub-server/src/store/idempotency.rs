//! Idempotency keys: a write that is sent again gets the answer it had, for 24 hours.

use std::time::Duration;

use protocol::Timestamp;
use rusqlite::{Connection, OptionalExtension};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    Error, Store,
    columns::{json, unreadable},
};

/// How long an answer is kept; a client that repeats itself later writes a second time.
const KEEP: Duration = Duration::from_hours(24);

/// How many answers are kept; a client that repeats itself after as many later ones writes a second time.
const MAX_ANSWERS: i64 = 1_000_000;

/// How many old answers a write clears away, so that no write pays for many.
const CLEAR_AT_ONCE: i64 = 16;

/// What makes two requests the same.
#[derive(Clone, Debug)]
pub(crate) struct IdempotentRequest {
    /// Path, method and principal, in this order, so that all answers about one record stand together.
    pub(crate) scope: String,
    /// The client's key.
    pub(crate) key: String,
    /// SHA-256 of what the body says.
    pub(crate) body_hash: [u8; 32],
}

/// The answer to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written<T> {
    /// The answer.
    pub(crate) answer: T,
    /// It was given before; nothing was written now.
    pub(crate) replayed: bool,
}

impl<T> Written<T> {
    /// Returns what is answered in another form.
    pub(crate) fn map<U>(self, form: impl FnOnce(T) -> U) -> Written<U> {
        Written { answer: form(self.answer), replayed: self.replayed }
    }
}

impl Store {
    /// Finds the answer that the same request had, for work that is more than one write.
    pub(crate) async fn find_answer<T: DeserializeOwned + Send + 'static>(
        &self,
        request: IdempotentRequest,
        now: Timestamp,
    ) -> Result<Option<T>, Error> {
        self.read(move |db| answered(db, &request, now)).await
    }

    /// Keeps the answer of work that is done; the one that was kept before goes first.
    pub(crate) async fn insert_answer<T: Serialize + DeserializeOwned + Send + 'static>(
        &self,
        request: Option<IdempotentRequest>,
        answer: T,
        now: Timestamp,
    ) -> Result<Written<T>, Error> {
        self.write(move |db, _| once(db, request.as_ref(), now, || Ok(answer))).await
    }

    /// Replaces the answer that a repeated request gets, now that more is known.
    pub(crate) async fn update_answer<T: Serialize + Send + 'static>(
        &self,
        request: IdempotentRequest,
        answer: T,
    ) -> Result<(), Error> {
        self.write(move |db, _| {
            let answer = json(&answer);
            db.prepare_cached(
                "UPDATE idempotent_answers SET answer = ?4
                 WHERE scope = ?1 AND key = ?2 AND body_hash = ?3",
            )?
            .execute((&request.scope, &request.key, request.body_hash, answer))?;
            Ok(())
        })
        .await
    }
}

/// Writes unless the same request was answered before; its answer is stored in the write's own transaction.
pub(super) fn once<T: Serialize + DeserializeOwned>(
    db: &Connection,
    request: Option<&IdempotentRequest>,
    now: Timestamp,
    write: impl FnOnce() -> Result<T, Error>,
) -> Result<Written<T>, Error> {
    let Some(request) = request else {
        return Ok(Written { answer: write()?, replayed: false });
    };
    if let Some(answer) = answered(db, request, now)? {
        return Ok(Written { answer, replayed: true });
    }
    let answer = write()?;
    let number = insert_answer(db, request, &answer, now)?;
    clear_old(db, number - MAX_ANSWERS, now)?;
    Ok(Written { answer, replayed: false })
}

fn answered<T: DeserializeOwned>(
    db: &Connection,
    request: &IdempotentRequest,
    now: Timestamp,
) -> Result<Option<T>, Error> {
    let Some((body_hash, answer)) = find_answer(db, request, now)? else { return Ok(None) };
    if body_hash != request.body_hash {
        return Err(Error::KeyReused);
    }
    Ok(Some(serde_json::from_str(&answer).map_err(unreadable)?))
}

fn find_answer(
    db: &Connection,
    request: &IdempotentRequest,
    now: Timestamp,
) -> Result<Option<([u8; 32], String)>, Error> {
    let found = db
        .prepare_cached(
            "SELECT body_hash, answer FROM idempotent_answers
             WHERE scope = ?1 AND key = ?2 AND expires_at > ?3",
        )?
        .query_row((&request.scope, &request.key, now.as_millis()), |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    Ok(found)
}

/// Removes all answers to writes at this path or below it.
pub(super) fn delete_answers_at(db: &Connection, path: &str) -> rusqlite::Result<()> {
    // What follows the path in a scope is a space or a slash, and `0` comes behind both.
    db.prepare_cached(
        "DELETE FROM idempotent_answers WHERE scope >= ?1 || ' ' AND scope < ?1 || '0'",
    )?
    .execute([path])?;
    Ok(())
}

fn insert_answer<T: Serialize>(
    db: &Connection,
    request: &IdempotentRequest,
    answer: &T,
    now: Timestamp,
) -> Result<i64, Error> {
    let answer = json(answer);
    db.prepare_cached(
        "INSERT OR REPLACE INTO idempotent_answers (scope, key, body_hash, answer, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((
        &request.scope,
        &request.key,
        request.body_hash,
        answer,
        now.after(KEEP).as_millis(),
    ))?;
    Ok(db.last_insert_rowid())
}

/// Looks at the oldest answers, and clears away those that have expired or are numbered up to `last`.
fn clear_old(db: &Connection, last: i64, now: Timestamp) -> Result<(), Error> {
    db.prepare_cached(
        "DELETE FROM idempotent_answers
         WHERE number IN (SELECT number FROM idempotent_answers ORDER BY number LIMIT ?1)
           AND (number <= ?2 OR expires_at <= ?3)",
    )?
    .execute((CLEAR_AT_ONCE, last, now.as_millis()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(key: &str, body: u8) -> IdempotentRequest {
        IdempotentRequest { scope: "/here POST me".into(), key: key.into(), body_hash: [body; 32] }
    }

    fn store() -> (tempfile::TempDir, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let db = super::super::file::open(&folder.path().join("hub.db")).unwrap().db;
        (folder, db)
    }

    fn count(db: &Connection) -> i64 {
        db.query_row("SELECT count(*) FROM idempotent_answers", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn an_answer_is_repeated_for_a_day() {
        let (_folder, db) = store();
        let now = Timestamp::from_millis(0);
        let ask =
            |key, body, now, fresh: u64| once(&db, Some(&request(key, body)), now, || Ok(fresh));

        assert_eq!(ask("a", 1, now, 1).unwrap(), Written { answer: 1, replayed: false });
        assert_eq!(ask("a", 1, now, 2).unwrap(), Written { answer: 1, replayed: true });
        assert!(matches!(ask("a", 2, now, 3), Err(Error::KeyReused)));
        assert_eq!(ask("b", 2, now, 4).unwrap(), Written { answer: 4, replayed: false });
        let later = now.after(KEEP);
        assert_eq!(ask("a", 2, later, 5).unwrap(), Written { answer: 5, replayed: false });
        assert_eq!(count(&db), 1, "expired answers are cleared");
    }

    #[test]
    fn a_failed_write_leaves_its_key_free() {
        let (_folder, db) = store();
        let now = Timestamp::from_millis(0);
        let request = request("a", 1);
        let failed = once(&db, Some(&request), now, || Err::<u64, _>(Error::NoFreeId));
        assert!(matches!(failed, Err(Error::NoFreeId)));
        let written = once(&db, Some(&request), now, || Ok(7)).unwrap();
        assert_eq!(written, Written { answer: 7, replayed: false });
    }

    #[test]
    fn the_answers_at_one_path_go_and_no_others() {
        let (_folder, db) = store();
        let now = Timestamp::from_millis(0);
        let (gone, kept) =
            (["/a/b PUT me", "/a/b/c POST me"], ["/a PUT me", "/a/b2 PUT me", "/a/ PUT b"]);
        for scope in gone.into_iter().chain(kept) {
            let request = IdempotentRequest { scope: scope.into(), ..request("k", 1) };
            insert_answer(&db, &request, &0, now).unwrap();
        }
        delete_answers_at(&db, "/a/b").unwrap();
        let mut statement =
            db.prepare("SELECT scope FROM idempotent_answers ORDER BY number").unwrap();
        let left: Vec<String> =
            statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(left, kept);
    }

    #[test]
    fn the_oldest_answers_make_room() {
        let (_folder, db) = store();
        let now = Timestamp::from_millis(0);
        for key in 0..40 {
            insert_answer(&db, &request(&format!("k{key}"), 1), &key, now).unwrap();
        }
        clear_old(&db, 10, now).unwrap();
        assert_eq!(count(&db), 30);
        assert!(find_answer(&db, &request("k9", 1), now).unwrap().is_none());
        assert!(find_answer(&db, &request("k10", 1), now).unwrap().is_some());
        clear_old(&db, 40, now).unwrap();
        assert_eq!(count(&db), 30 - CLEAR_AT_ONCE, "no write pays for many");
    }
}
