//! What a connection says about its deliveries: processed, still at it, given back.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use protocol::im::Nak;

use super::{ConnectionId, Mailboxes, Now};
use crate::store::Row;

/// The longest delay a `nak` may ask for; more is refused as `bad_frame` and closes the connection.
const MAX_NAK_DELAY: Duration = Duration::from_hours(1);

impl Mailboxes {
    /// Deliveries are processed; those of other connections or settled before are not looked at.
    pub(crate) fn ack(&mut self, connection: ConnectionId, seqs: &[u64], now: Now) {
        let Some(seqs) = self.known_seqs(connection, "ack", seqs, now) else { return };
        for seq in seqs {
            if let Some(row) = self.take_held(connection, seq) {
                self.settle(row, now);
            }
        }
    }

    /// Deliveries are still being worked on.
    pub(crate) fn working(&mut self, connection: ConnectionId, seqs: &[u64], now: Now) {
        let Some(seqs) = self.known_seqs(connection, "working", seqs, now) else { return };
        let overdue_at = now.uptime + self.limits.ack_wait;
        let Some(holder) = self.holders.get_mut(&connection) else { return };
        for seq in seqs {
            if let Some(held) = holder.held.get_mut(&seq) {
                self.deadlines.forget_overdue(held.overdue_at, connection, seq);
                held.overdue_at = overdue_at;
                self.deadlines.add_overdue(overdue_at, connection, seq);
            }
        }
    }

    /// Deliveries are given back.
    pub(crate) fn nak(&mut self, connection: ConnectionId, nak: &Nak, now: Now) {
        let delay = Duration::from_millis(nak.delay_ms.unwrap_or(0));
        if delay > MAX_NAK_DELAY {
            let text = format!("nak frame: delay_ms: at most {}", MAX_NAK_DELAY.as_millis());
            return self.break_off(connection, text, now);
        }
        let Some(seqs) = self.known_seqs(connection, "nak", &nak.seqs, now) else { return };
        for seq in seqs {
            if let Some(row) = self.take_held(connection, seq) {
                if !delay.is_zero() {
                    self.park(row, now.uptime + delay);
                }
                self.give_back(row, now);
            }
        }
    }

    /// Returns the seqs that the connection may speak of, or closes it when it never got one of them.
    fn known_seqs(
        &mut self,
        connection: ConnectionId,
        frame: &str,
        seqs: &[u64],
        now: Now,
    ) -> Option<BTreeSet<u64>> {
        let holder = self.holders.get(&connection)?;
        let seqs: BTreeSet<u64> = seqs.iter().copied().collect();
        match seqs.iter().find(|seq| !holder.was_delivered(**seq)) {
            None => Some(seqs),
            Some(unknown) => {
                let text =
                    format!("{frame} frame: seqs: {unknown} was not delivered on this connection");
                self.break_off(connection, text, now);
                None
            }
        }
    }

    /// Lets a message, and what is behind it in its lane, wait.
    fn park(&mut self, row: Row, until: Duration) {
        let Some(entry) = self.entries.get(&row) else { return };
        if let Some(queue) = self.queues.get_mut(&entry.lane.to) {
            queue.park(&entry.lane, until);
            self.deadlines.add_parked(until, Arc::clone(&entry.lane));
        }
    }
}
