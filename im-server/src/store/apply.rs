//! How each write becomes SQL.

use protocol::{ChatId, ContactId, MessageId, Timestamp, im::NoticeCode};
use rusqlite::{Transaction, params};

use super::{Fingerprint, Letter, Row, Write, to_json};

/// Carries out one write; it takes effect with the transaction.
pub(super) fn apply(tx: &Transaction<'_>, write: &Write) -> rusqlite::Result<()> {
    match write {
        Write::Insert { row, letter, fingerprint } => insert(tx, *row, letter, fingerprint),
        Write::Record { row, record } => tx
            .prepare_cached(
                "UPDATE messages SET attempts = ?2, strikes = ?3, first_delivered_at = ?4 WHERE row = ?1",
            )?
            .execute(params![
                row.0,
                record.attempts,
                record.strikes,
                record.first_delivered_at.map(Timestamp::as_millis),
            ])
            .map(|_| ()),
        Write::Settle { row, from, id, at } => {
            tx.prepare_cached("DELETE FROM messages WHERE row = ?1")?.execute([row.0])?;
            settle_seen(tx, from, *id, *at)
        }
        Write::SetAside { row, from, id, at } => {
            tx.prepare_cached("UPDATE messages SET set_aside_at = ?2 WHERE row = ?1")?
                .execute([row.0, at.as_millis()])?;
            settle_seen(tx, from, *id, *at)
        }
        Write::Contact { contact_id, last_seen } => tx
            .prepare_cached("INSERT OR REPLACE INTO contacts (contact_id, last_seen) VALUES (?1, ?2)")?
            .execute(params![contact_id.as_str(), last_seen.as_millis()])
            .map(|_| ()),
        Write::ForgetContact { contact_id } => tx
            .prepare_cached("DELETE FROM contacts WHERE contact_id = ?1")?
            .execute([contact_id.as_str()])
            .map(|_| ()),
        Write::Notice { row, from, notice, at } => tx
            .prepare_cached(
                "INSERT OR REPLACE INTO notices (row, sender, id, recipient, code, at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                row.0,
                from.as_str(),
                notice.id.0,
                notice.to.as_str(),
                format_code(notice.code),
                at.as_millis(),
            ])
            .map(|_| ()),
        Write::ForgetNotice { row } => tx
            .prepare_cached("DELETE FROM notices WHERE row = ?1")?
            .execute([row.0])
            .map(|_| ()),
    }
}

fn insert(
    tx: &Transaction<'_>,
    row: Row,
    letter: &Letter,
    fingerprint: &Fingerprint,
) -> rusqlite::Result<()> {
    let send = &letter.send;
    tx.prepare_cached(
        "INSERT INTO messages
             (row, sender, id, recipient, chat_id, in_reply_to, content, meta, sent_at, expires_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        row.0,
        letter.from.as_str(),
        send.id.0,
        send.to.as_str(),
        send.chat_id.as_ref().map(ChatId::as_str),
        send.in_reply_to.map(|id| id.0),
        send.content,
        send.meta.as_ref().map(to_json),
        letter.sent_at.as_millis(),
        letter.expires_at.as_millis(),
    ])?;
    tx.prepare_cached("INSERT INTO seen (sender, id, fingerprint, row) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![letter.from.as_str(), send.id.0, fingerprint.0, row.0])
        .map(|_| ())
}

fn settle_seen(
    tx: &Transaction<'_>,
    from: &ContactId,
    id: MessageId,
    at: Timestamp,
) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE seen SET settled_at = ?3 WHERE sender = ?1 AND id = ?2")?
        .execute(params![from.as_str(), id.0, at.as_millis()])
        .map(|_| ())
}

fn format_code(code: NoticeCode) -> &'static str {
    match code {
        NoticeCode::Undeliverable => "undeliverable",
        NoticeCode::Expired | NoticeCode::Unknown => "expired",
    }
}
