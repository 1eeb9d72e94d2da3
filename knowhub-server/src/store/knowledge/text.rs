//! Which records say the same, by the hash of their texts.

use rusqlite::Connection;

use super::{KnowledgeRow, read};
use crate::{
    knowledge::{TextHash, text_hash},
    store::left_out::is_unreadable,
};

/// How many records get their hash in one transaction.
const HASHED_AT_ONCE: u32 = 1_000;

/// The hash of a record whose text cannot be read; no text has it.
const UNREADABLE: &[u8] = &[0];

/// Gives every record its hash that has none yet: those of an earlier hub.
pub(in crate::store) fn update_missing_hashes(db: &mut Connection) -> rusqlite::Result<()> {
    loop {
        let tx = db.transaction()?;
        let hashed = hash_some(&tx)?;
        tx.commit()?;
        if hashed < HASHED_AT_ONCE as usize {
            return Ok(());
        }
    }
}

fn hash_some(db: &Connection) -> rusqlite::Result<usize> {
    let mut missing = db.prepare_cached(
        "SELECT row, task, content FROM knowledge WHERE text_hash = x'' LIMIT ?1",
    )?;
    let mut update = db.prepare_cached("UPDATE knowledge SET text_hash = ?2 WHERE row = ?1")?;
    let mut rows = Vec::new();
    let mut found = missing.query([HASHED_AT_ONCE])?;
    while let Some(row) = found.next()? {
        let texts = row.get::<_, String>(1).and_then(|task| Ok((task, row.get::<_, String>(2)?)));
        let hash = texts.map(|(task, content)| text_hash(&task, &content).to_vec());
        rows.push((row.get::<_, i64>(0)?, hash.unwrap_or_else(|_| UNREADABLE.to_vec())));
    }
    for row in &rows {
        update.execute((row.0, &row.1))?;
    }
    Ok(rows.len())
}

/// Lists the records with this text that are not turned down, oldest first; what cannot be read is none of them.
pub(super) fn list_twins(db: &Connection, hash: &TextHash) -> rusqlite::Result<Vec<KnowledgeRow>> {
    let mut statement = db.prepare_cached(
        "SELECT * FROM knowledge WHERE text_hash = ?1 AND status <> 'rejected' ORDER BY row LIMIT 100",
    )?;
    let mut rows = statement.query([hash])?;
    let mut twins = Vec::new();
    while let Some(row) = rows.next()? {
        match read(row) {
            Ok(twin) => twins.push(twin),
            Err(err) if is_unreadable(&err) => {}
            Err(err) => return Err(err),
        }
    }
    Ok(twins)
}
