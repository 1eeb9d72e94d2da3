//! A connection as the holder of deliveries.

use std::{collections::BTreeMap, time::Duration};

use protocol::ContactId;

use crate::{config::Limits, store::Row};

/// How many bytes of unacknowledged deliveries a connection holds before the next one waits on disk.
/// It bounds what a client that does not read costs, together with `Limits::max_in_flight`.
const MAX_BYTES_IN_FLIGHT: u64 = 8 << 20;

/// One delivery that waits for its `ack`.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) row: Row,
    pub(super) overdue_at: Duration,
}

#[derive(Debug)]
pub(super) struct Holder {
    pub(super) contact: ContactId,
    /// By `seq`, so in the order of delivery.
    pub(super) held: BTreeMap<u64, Held>,
    next_seq: u64,
    bytes: u64,
}

impl Holder {
    pub(super) fn new(contact: ContactId) -> Self {
        Self { contact, held: BTreeMap::new(), next_seq: 1, bytes: 0 }
    }

    pub(super) fn has_room(&self, limits: &Limits) -> bool {
        (self.held.len() as u64) < limits.max_in_flight && self.bytes < MAX_BYTES_IN_FLIGHT
    }

    /// Returns the `seq` under which the connection now holds the row.
    pub(super) fn hold(&mut self, row: Row, size_bytes: u64, overdue_at: Duration) -> u64 {
        let seq = self.next_seq;
        self.next_seq += 1;
        self.bytes += size_bytes;
        self.held.insert(seq, Held { row, overdue_at });
        seq
    }

    pub(super) fn let_go(&mut self, seq: u64, size_bytes: u64) {
        if self.held.remove(&seq).is_some() {
            self.bytes -= size_bytes;
        }
    }

    pub(super) fn was_delivered(&self, seq: u64) -> bool {
        (1..self.next_seq).contains(&seq)
    }
}
