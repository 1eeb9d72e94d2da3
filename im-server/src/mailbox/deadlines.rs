//! What is due when.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use protocol::Timestamp;

use super::{ConnectionId, Lane, Now};
use crate::store::Row;

/// How often old notices and contacts are looked for.
const SWEEP_EVERY: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(super) struct Deadlines {
    expiries: BTreeSet<(Timestamp, Row)>,
    overdue: BTreeSet<(Duration, ConnectionId, u64)>,
    /// May name lanes that are gone or wait longer meanwhile; whoever takes one looks.
    parked: BTreeSet<(Duration, Arc<Lane>)>,
    sweep_at: Duration,
}

impl Deadlines {
    pub(super) fn new(now: Now) -> Self {
        Self {
            expiries: BTreeSet::new(),
            overdue: BTreeSet::new(),
            parked: BTreeSet::new(),
            sweep_at: now.uptime + SWEEP_EVERY,
        }
    }

    pub(super) fn add_expiry(&mut self, at: Timestamp, row: Row) {
        self.expiries.insert((at, row));
    }

    pub(super) fn forget_expiry(&mut self, at: Timestamp, row: Row) {
        self.expiries.remove(&(at, row));
    }

    /// Takes the next message whose time ran out.
    ///
    /// It is told once: a message that is held then is looked at again when it comes back.
    pub(super) fn next_expired(&mut self, now: Now) -> Option<Row> {
        let (at, _) = self.expiries.first()?;
        if *at > now.wall {
            return None;
        }
        self.expiries.pop_first().map(|(_, row)| row)
    }

    pub(super) fn add_overdue(&mut self, at: Duration, connection: ConnectionId, seq: u64) {
        self.overdue.insert((at, connection, seq));
    }

    pub(super) fn forget_overdue(&mut self, at: Duration, connection: ConnectionId, seq: u64) {
        self.overdue.remove(&(at, connection, seq));
    }

    /// Takes the next delivery that was not acknowledged in time.
    pub(super) fn next_overdue(&mut self, now: Now) -> Option<(ConnectionId, u64)> {
        let (at, ..) = self.overdue.first()?;
        if *at > now.uptime {
            return None;
        }
        self.overdue.pop_first().map(|(_, connection, seq)| (connection, seq))
    }

    pub(super) fn add_parked(&mut self, until: Duration, lane: Arc<Lane>) {
        self.parked.insert((until, lane));
    }

    /// Takes the next lane whose pause may be over.
    pub(super) fn next_unparked(&mut self, now: Now) -> Option<Arc<Lane>> {
        let (until, _) = self.parked.first()?;
        if *until > now.uptime {
            return None;
        }
        self.parked.pop_first().map(|(_, lane)| lane)
    }

    /// Tells, once per period, that it is time to sweep.
    pub(super) fn is_sweep_due(&mut self, now: Now) -> bool {
        let is_due = self.sweep_at <= now.uptime;
        if is_due {
            self.sweep_at = now.uptime + SWEEP_EVERY;
        }
        is_due
    }

    /// Returns how long it is until something is due.
    pub(super) fn next(&self, now: Now) -> Duration {
        let expiry = self.expiries.first().map(|(at, _)| at.since(now.wall));
        let overdue = self.overdue.first().map(|(at, ..)| at.saturating_sub(now.uptime));
        let parked = self.parked.first().map(|(at, _)| at.saturating_sub(now.uptime));
        let sweep = self.sweep_at.saturating_sub(now.uptime);
        [expiry, overdue, parked].into_iter().flatten().min().map_or(sweep, |next| next.min(sweep))
    }
}
