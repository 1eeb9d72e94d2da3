//! What senders have to be told about messages that did not arrive.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    time::Duration,
};

use protocol::{ContactId, Timestamp, im::Notice};

use crate::store::{Row, Write};

/// How long a notice waits for its sender; then the sender never learns of it.
const KEEP_NOTICE: Duration = Duration::from_hours(24);

/// How many notices wait per sender; past it the sender never learns of the oldest.
const MAX_NOTICES: usize = 10_000;

/// How many notices a sender is told at once; the rest follows after a pause, so that no outbox overflows.
pub(crate) const MAX_NOTICES_AT_ONCE: usize = 64;

/// The pause between two groups of notices.
const NOTICE_PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Notices {
    waiting: HashMap<ContactId, VecDeque<Pending>>,
    /// Senders that have notices waiting and may be online.
    awake: BTreeSet<ContactId>,
    next_at: Duration,
    next_row: i64,
}

#[derive(Debug)]
struct Pending {
    row: Row,
    notice: Notice,
    at: Timestamp,
}

impl Notices {
    /// Takes up what the store holds, oldest first.
    pub(super) fn new(stored: Vec<(Row, ContactId, Notice, Timestamp)>, next_row: i64) -> Self {
        let mut waiting: HashMap<_, VecDeque<_>> = HashMap::new();
        for (row, from, notice, at) in stored {
            waiting.entry(from).or_default().push_back(Pending { row, notice, at });
        }
        Self { waiting, awake: BTreeSet::new(), next_at: Duration::ZERO, next_row }
    }

    /// Leaves word for a sender.
    pub(super) fn add(&mut self, from: ContactId, notice: Notice, now: Timestamp) -> Vec<Write> {
        let row = Row(self.next_row);
        self.next_row += 1;
        let pending = self.waiting.entry(from.clone()).or_default();
        let mut writes = vec![];
        if pending.len() >= MAX_NOTICES
            && let Some(oldest) = pending.pop_front()
        {
            tracing::warn!(
                contact.id = %from, message.id = %oldest.notice.id,
                "too many notices wait for this sender; the oldest is dropped"
            );
            writes.push(Write::ForgetNotice { row: oldest.row });
        }
        pending.push_back(Pending { row, notice: notice.clone(), at: now });
        self.awake.insert(from.clone());
        writes.push(Write::Notice { row, from, notice, at: now });
        writes
    }

    /// A sender came online.
    pub(super) fn wake(&mut self, contact: &ContactId) {
        if self.waiting.contains_key(contact) {
            self.awake.insert(contact.clone());
        }
    }

    /// Takes what may be told now to senders that are online.
    pub(super) fn take_due(
        &mut self,
        uptime: Duration,
        is_online: impl Fn(&ContactId) -> bool,
    ) -> Vec<(ContactId, Row, Notice)> {
        let mut due = Vec::new();
        if self.next_at > uptime {
            return due;
        }
        self.awake.retain(|contact| is_online(contact));
        for contact in std::mem::take(&mut self.awake) {
            let Some(pending) = self.waiting.get_mut(&contact) else { continue };
            let count = pending.len().min(MAX_NOTICES_AT_ONCE);
            due.extend(pending.drain(..count).map(|p| (contact.clone(), p.row, p.notice)));
            if pending.is_empty() {
                self.waiting.remove(&contact);
            } else {
                self.awake.insert(contact);
                self.next_at = uptime + NOTICE_PAUSE;
            }
        }
        due
    }

    /// Returns when there may be something to tell.
    pub(super) fn due(&self) -> Option<Duration> {
        (!self.awake.is_empty()).then_some(self.next_at)
    }

    /// Drops what waited too long.
    pub(super) fn sweep(&mut self, now: Timestamp) -> Vec<Write> {
        let mut writes = Vec::new();
        self.waiting.retain(|contact, pending| {
            while let Some(old) = pending.pop_front_if(|p| now.since(p.at) >= KEEP_NOTICE) {
                tracing::info!(
                    contact.id = %contact, message.id = %old.notice.id,
                    "the sender of an undelivered message did not return in time to be told"
                );
                writes.push(Write::ForgetNotice { row: old.row });
            }
            !pending.is_empty()
        });
        writes
    }
}
