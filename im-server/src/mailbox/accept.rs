//! Accepting: what is a double, what has room, and what is refused.

use std::{sync::Arc, time::Duration};

use protocol::{
    ContactId,
    im::{self, Accepted, ErrorCode, Send},
};

use super::{
    ConnectionId, Effect, Entry, Lane, Mailboxes, Now, effect::error, effect::shutting_down,
    queue::Queue,
};
use crate::store::{Fingerprint, Letter, Record, Row, Write, size_bytes};

/// How long a message is worth delivering when its sender does not say.
const DEFAULT_TTL: Duration = Duration::from_hours(24);

/// The longest time to live a sender may ask for; more is refused as `bad_frame`.
const MAX_TTL: Duration = Duration::from_hours(30 * 24);

/// How many bytes one mailbox holds; past it the sender is told `mailbox_full`.
const MAX_MAILBOX_BYTES: u64 = 256 << 20;

/// How many messages all mailboxes hold together; past it every sender is told `mailbox_full`.
const MAX_MESSAGES: usize = 1_000_000;

/// How many bytes all mailboxes hold together; past it every sender is told `mailbox_full`.
const MAX_BYTES: u64 = 8 << 30;

/// When a sender that was told `mailbox_full` should try again.
const FULL_RETRY: Duration = Duration::from_secs(5);

impl Mailboxes {
    /// A sender hands over a message; `seen` is what the store remembers under this sender and id.
    pub(crate) fn accept(
        &mut self,
        connection: ConnectionId,
        send: Send,
        fingerprint: Fingerprint,
        seen: Option<Fingerprint>,
        now: Now,
    ) {
        let Some(holder) = self.holders.get(&connection) else {
            return; // It was closed meanwhile; the sender sends again.
        };
        let from = holder.contact.clone();
        let id = send.id;
        let recipient = self.presence.recipient(&send.to);
        let known = self.fresh.get(&(from.clone(), id)).map(|(print, row)| (*print, Some(*row)));
        let (duplicate, row) = match known.or(seen.map(|print| (print, None))) {
            Some((print, row)) if print == fingerprint => (true, row),
            Some(_) => {
                let text = "this id was used for a message with another to, content, chat_id or in_reply_to";
                return self.refuse(connection, id, error(ErrorCode::IdConflict, text));
            }
            None => match self.check_send(connection, &send) {
                Ok(ttl) => (false, Some(self.insert(from, send, ttl, fingerprint, now))),
                Err(error) => return self.refuse(connection, id, error),
            },
        };
        let accepted = Accepted { id, duplicate, recipient };
        self.effects.push(Effect::Accept { connection, accepted, row });
    }

    fn check_send(&self, connection: ConnectionId, send: &Send) -> Result<Duration, im::Error> {
        if self.drain_until.is_some() {
            return Err(shutting_down(connection, Some(send.id)));
        }
        let longest = self.limits.max_content_bytes;
        if send.content.len() as u64 > longest {
            let text = format!("content: {} bytes; at most {longest}", send.content.len());
            return Err(error(ErrorCode::TooLarge, text));
        }
        let ttl = send.ttl_ms.map_or(DEFAULT_TTL, Duration::from_millis);
        if ttl.is_zero() || ttl > MAX_TTL {
            let text = format!("send frame: ttl_ms: 1 to {}", MAX_TTL.as_millis());
            return Err(error(ErrorCode::BadFrame, text));
        }
        let (count, bytes) = self.queues.get(&send.to).map_or((0, 0), Queue::size);
        let size = size_bytes(send);
        let full = if count >= self.limits.max_mailbox || bytes + size > MAX_MAILBOX_BYTES {
            format!("the mailbox of {} is full; send again later under the same id", send.to)
        } else if self.entries.len() >= MAX_MESSAGES || self.bytes + size > MAX_BYTES {
            "the relay is full; send again later under the same id".to_owned()
        } else {
            return Ok(ttl);
        };
        let retry_after_ms = Some(FULL_RETRY.as_millis() as u64);
        Err(im::Error { retry_after_ms, ..error(ErrorCode::MailboxFull, full) })
    }

    fn insert(
        &mut self,
        from: ContactId,
        send: Send,
        ttl: Duration,
        fingerprint: Fingerprint,
        now: Now,
    ) -> Row {
        let row = Row(self.next_row);
        self.next_row += 1;
        let expires_at = now.wall.after(ttl);
        let lane = Lane { to: send.to.clone(), from: from.clone(), chat: send.chat_id.clone() };
        let entry = Entry {
            lane: Arc::new(lane),
            id: send.id,
            is_reply: send.in_reply_to.is_some(),
            size_bytes: size_bytes(&send),
            expires_at,
            record: Record::default(),
            held: None,
        };
        self.fresh.insert((from.clone(), send.id), (fingerprint, row));
        self.enqueue(row, entry);
        let letter = Box::new(Letter { from, send, sent_at: now.wall, expires_at });
        self.writes.push(Write::Insert { row, letter, fingerprint });
        row
    }

    pub(super) fn enqueue(&mut self, row: Row, mut entry: Entry) {
        let queue = self.queues.entry(entry.lane.to.clone()).or_default();
        entry.lane = queue.insert(entry.lane, row, entry.size_bytes);
        self.touched.insert(entry.lane.to.clone());
        self.bytes += entry.size_bytes;
        self.deadlines.add_expiry(entry.expires_at, row);
        self.entries.insert(row, entry);
    }
}
