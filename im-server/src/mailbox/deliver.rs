//! Delivering: which message goes to which connection next.

use protocol::{ContactId, im::ServerFrame};

use super::{ConnectionId, Effect, Mailboxes, Now};
use crate::store::{Row, Write};

impl Mailboxes {
    /// Hands out what may go to connections with room, senders taking turns within a mailbox.
    pub(crate) fn deliver(&mut self, now: Now) {
        if self.drain_until.is_some() {
            return;
        }
        for contact in std::mem::take(&mut self.touched) {
            while let Some((row, connection)) = self.next_delivery(&contact) {
                self.hand_out(row, connection, now);
            }
        }
        self.tell_notices(now);
    }

    fn next_delivery(&mut self, contact: &ContactId) -> Option<(Row, ConnectionId)> {
        let holders = &self.holders;
        let has_room = |connection: &ConnectionId| {
            holders.get(connection).is_some_and(|holder| holder.has_room(&self.limits))
        };
        let connections = self.presence.connections(contact);
        let idlest =
            connections.iter().copied().filter(|connection| has_room(connection)).min_by_key(
                |connection| holders.get(connection).map_or(0, |holder| holder.held.len()),
            )?;
        self.queues.get_mut(contact)?.next(|bound| match bound {
            Some(connection) => has_room(&connection).then_some(connection),
            None => Some(idlest),
        })
    }

    fn hand_out(&mut self, row: Row, connection: ConnectionId, now: Now) {
        let overdue_at = now.uptime + self.limits.ack_wait;
        let entry = self.entries.get_mut(&row).expect("a queued row has an entry");
        let holder = self.holders.get_mut(&connection).expect("a chosen holder is connected");
        let seq = holder.hold(row, entry.size_bytes, overdue_at);
        entry.held = Some((connection, seq));
        entry.record.attempts = entry.record.attempts.saturating_add(1);
        entry.record.first_delivered_at.get_or_insert(now.wall);
        let attempt = entry.record.attempts;
        self.deadlines.add_overdue(overdue_at, connection, seq);
        self.stale_records.insert(row);
        self.mark_stale(now);
        self.effects.push(Effect::Deliver { connection, seq, row, attempt });
    }

    fn tell_notices(&mut self, now: Now) {
        let presence = &self.presence;
        let is_online = |contact: &ContactId| !presence.connections(contact).is_empty();
        let due = self.notices.take_due(now.uptime, is_online);
        for (contact, row, notice) in due {
            let connection = self.presence.connections(&contact).first().copied();
            let connection = connection.expect("only notices of connected contacts are due");
            self.writes.push(Write::ForgetNotice { row });
            self.tell(connection, ServerFrame::Notice(notice));
        }
    }
}
