//! How a message ends: acknowledged, expired or set aside; or comes back to be delivered again.

use std::{collections::BTreeSet, time::Duration};

use protocol::{
    Timestamp,
    im::{Notice, NoticeCode, close},
};

use super::{ConnectionId, Ending, Entry, Mailboxes, Now};
use crate::store::{Row, Write};

/// After how many failures of its holders a message is set aside.
const MAX_STRIKES: u32 = 10;

/// How long a message is delivered again and again before it may be set aside.
const MIN_TRIED: Duration = Duration::from_hours(1);

impl Entry {
    fn is_hopeless(&self, now: Timestamp) -> bool {
        let tried = self.record.first_delivered_at.map_or(Duration::ZERO, |first| now.since(first));
        self.record.strikes >= MAX_STRIKES && tried >= MIN_TRIED
    }
}

impl Mailboxes {
    /// Closes connections that left a delivery without `ack` or `working` for too long.
    pub(super) fn close_overdue(&mut self, now: Now) {
        let mut late = BTreeSet::new();
        while let Some((connection, seq)) = self.deadlines.next_overdue(now) {
            let held = self.holders.get(&connection).and_then(|holder| holder.held.get(&seq));
            if let Some(row) = held.map(|held| held.row) {
                self.strike(row, now);
                late.insert(connection);
            }
        }
        for connection in late {
            self.close(connection, close::ACK_OVERDUE, None);
            self.disconnect(connection, Ending::Closed, now);
        }
    }

    /// Ends a message that was processed.
    pub(super) fn settle(&mut self, row: Row, now: Now) {
        if let Some(entry) = self.remove(row) {
            let from = entry.lane.from.clone();
            self.writes.push(Write::Settle { row, from, id: entry.id, at: now.wall });
        }
    }

    /// Ends a message whose time ran out.
    pub(super) fn expire(&mut self, row: Row, now: Now) {
        if let Some(entry) = self.remove(row) {
            let from = entry.lane.from.clone();
            self.writes.push(Write::Settle { row, from, id: entry.id, at: now.wall });
            tracing::info!(
                message.id = %entry.id, from = %entry.lane.from, to = %entry.lane.to,
                "message expired"
            );
            self.notify(&entry, NoticeCode::Expired, now);
        }
    }

    /// Puts a message back into its queue, unless its time or its chances are over.
    pub(super) fn give_back(&mut self, row: Row, now: Now) {
        let Some(entry) = self.entries.get_mut(&row) else { return };
        entry.held = None;
        if entry.is_hopeless(now.wall) {
            self.set_aside(row, now);
        } else if entry.expires_at <= now.wall {
            self.expire(row, now);
        } else if let Some(queue) = self.queues.get_mut(&entry.lane.to) {
            queue.put_back(&entry.lane, row);
            self.touched.insert(entry.lane.to.clone());
        }
    }

    /// Counts a failure of the message's holder.
    pub(super) fn strike(&mut self, row: Row, now: Now) {
        if let Some(entry) = self.entries.get_mut(&row) {
            entry.record.strikes = entry.record.strikes.saturating_add(1);
            self.stale_records.insert(row);
            self.mark_stale(now);
        }
    }

    /// Takes a delivery from its holder; the caller says what becomes of the message.
    pub(super) fn take_held(&mut self, connection: ConnectionId, seq: u64) -> Option<Row> {
        let holder = self.holders.get_mut(&connection)?;
        let held = holder.held.get(&seq)?;
        let (row, overdue_at) = (held.row, held.overdue_at);
        let size_bytes = self.entries.get(&row).map_or(0, |entry| entry.size_bytes);
        holder.let_go(seq, size_bytes);
        self.deadlines.forget_overdue(overdue_at, connection, seq);
        // It has room again.
        self.touched.insert(holder.contact.clone());
        Some(row)
    }

    /// Takes a message out of memory.
    pub(super) fn remove(&mut self, row: Row) -> Option<Entry> {
        let entry = self.entries.remove(&row)?;
        self.bytes -= entry.size_bytes;
        self.deadlines.forget_expiry(entry.expires_at, row);
        self.stale_records.remove(&row);
        if let Some(queue) = self.queues.get_mut(&entry.lane.to)
            && queue.remove(&entry.lane, row, entry.size_bytes)
        {
            self.queues.remove(&entry.lane.to);
        }
        Some(entry)
    }

    fn set_aside(&mut self, row: Row, now: Now) {
        if let Some(entry) = self.remove(row) {
            let from = entry.lane.from.clone();
            self.writes.push(Write::SetAside { row, from, id: entry.id, at: now.wall });
            tracing::warn!(
                message.id = %entry.id, from = %entry.lane.from, to = %entry.lane.to,
                attempts = entry.record.attempts,
                "message set aside: its holders failed too often"
            );
            self.notify(&entry, NoticeCode::Undeliverable, now);
        }
    }

    /// Leaves word for the sender; nobody waits for news of a reply.
    fn notify(&mut self, entry: &Entry, code: NoticeCode, now: Now) {
        if entry.is_reply {
            return;
        }
        let notice = Notice { id: entry.id, to: entry.lane.to.clone(), code };
        let writes = self.notices.add(entry.lane.from.clone(), notice, now.wall);
        self.writes.extend(writes);
    }
}
