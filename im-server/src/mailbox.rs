//! What becomes of every message: functions of the state and `now`, without sockets, clocks or disk.
//!
//! The caller feeds in what happens, commits [`Mailboxes::take_writes`], lets [`Mailboxes::deliver`] hand out
//! what may go, and then carries out [`Mailboxes::take_effects`], in this order:
//! so nothing is told before it is on disk, and nothing is delivered before it is accepted.
//! When the commit fails, [`Mailboxes::withdraw`] takes back the messages of that round, and nothing else:
//! all other writes are repeated with the next commit.
//!
//! Contents stay in the store; a waiting message costs about 200 bytes here.

mod accept;
mod answer;
mod deadlines;
mod deliver;
mod effect;
mod holder;
mod notices;
mod presence;
mod queue;
mod settle;
#[cfg(test)]
mod tests;

pub(crate) use effect::{Closing, Effect, Ending, error};
pub(crate) use notices::MAX_NOTICES_AT_ONCE;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use protocol::{
    ChatId, ContactId, MessageId, Timestamp,
    im::{self, Contact, ErrorCode, Mode, ServerFrame, Welcome, close},
};
use uuid::Uuid;

use self::{
    deadlines::Deadlines, effect::shutting_down, holder::Holder, notices::Notices,
    presence::Presence, queue::Queue,
};
use crate::{
    config::Limits,
    store::{Fingerprint, Record, Row, Snapshot, Write},
};

/// How long what is worth knowing but can be lost (attempts, last seen) waits for another write to join.
const RECORD_DELAY: Duration = Duration::from_secs(1);

/// How long connections may go on acknowledging after the stop; then they are closed.
const DRAIN: Duration = Duration::from_secs(5);

/// The two clocks: what people see and what bounds survive restarts, and what no correction of the former disturbs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) wall: Timestamp,
    /// Since the relay started.
    pub(crate) uptime: Duration,
}

/// One connection; never used again after it ended, so that what comes late for it finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ConnectionId(pub(crate) Uuid);

/// One conversation of one sender in one mailbox: the unit that stays together with a holder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Lane {
    to: ContactId,
    from: ContactId,
    chat: Option<ChatId>,
}

/// A message that is accepted and not settled, without its content.
#[derive(Debug)]
struct Entry {
    lane: Arc<Lane>,
    id: MessageId,
    is_reply: bool,
    size_bytes: u64,
    expires_at: Timestamp,
    record: Record,
    /// The connection and the `seq` it was handed out with, while it is.
    held: Option<(ConnectionId, u64)>,
}

/// The state of all mailboxes and connections.
#[derive(Debug)]
pub(crate) struct Mailboxes {
    limits: Limits,
    entries: HashMap<Row, Entry>,
    bytes: u64,
    next_row: i64,
    /// By recipient; only of those that have messages.
    queues: HashMap<ContactId, Queue>,
    holders: HashMap<ConnectionId, Holder>,
    presence: Presence,
    notices: Notices,
    deadlines: Deadlines,
    /// Mailboxes in which something may have become deliverable.
    touched: BTreeSet<ContactId>,
    /// Messages accepted since the last commit, which the store does not know yet.
    fresh: HashMap<(ContactId, MessageId), (Fingerprint, Row)>,
    writes: Vec<Write>,
    /// Rows whose record changed; written with the next commit, or `RECORD_DELAY` later.
    stale_records: BTreeSet<Row>,
    /// Since when something waits in `stale_records` or in the presence.
    stale_since: Option<Duration>,
    effects: Vec<Effect>,
    /// Set once the relay is going down: when the last connections are closed.
    drain_until: Option<Duration>,
}

impl Mailboxes {
    /// Takes up what the store holds.
    pub(crate) fn new(limits: Limits, snapshot: Snapshot, now: Now) -> Self {
        let mut mailboxes = Self {
            limits,
            entries: HashMap::new(),
            bytes: 0,
            next_row: snapshot.next_row,
            queues: HashMap::new(),
            holders: HashMap::new(),
            presence: Presence::new(snapshot.contacts),
            notices: Notices::new(snapshot.notices, snapshot.next_notice),
            deadlines: Deadlines::new(now),
            touched: BTreeSet::new(),
            fresh: HashMap::new(),
            writes: Vec::new(),
            stale_records: BTreeSet::new(),
            stale_since: None,
            effects: Vec::new(),
            drain_until: None,
        };
        for waiting in snapshot.waiting {
            let lane = Lane { to: waiting.to, from: waiting.from, chat: waiting.chat_id };
            let entry = Entry {
                lane: Arc::new(lane),
                id: waiting.id,
                is_reply: waiting.is_reply,
                size_bytes: waiting.size_bytes,
                expires_at: waiting.expires_at,
                record: waiting.record,
                held: None,
            };
            mailboxes.enqueue(waiting.row, entry);
        }
        mailboxes
    }

    /// A connection said `hello`.
    pub(crate) fn connect(
        &mut self,
        connection: ConnectionId,
        contact_id: ContactId,
        mode: Mode,
        now: Now,
    ) {
        if self.drain_until.is_some() {
            let error = shutting_down(connection, None);
            return self.close(connection, close::GOING_AWAY, Some(error));
        }
        match self.presence.mode(&contact_id) {
            Some(live) if live != mode => {
                let text = format!("mode: {contact_id} is online in the other mode");
                let error = error(ErrorCode::ModeConflict, text);
                return self.close(connection, close::MODE_CONFLICT, Some(error));
            }
            Some(Mode::Exclusive) => self.replace_connections(&contact_id, now),
            Some(Mode::Shared) | None => {}
        }
        self.holders.insert(connection, Holder::new(contact_id.clone()));
        self.presence.connect(contact_id.clone(), connection, mode, now.wall);
        self.mark_stale(now);
        self.touched.insert(contact_id.clone());
        self.notices.wake(&contact_id);
        let welcome = Welcome {
            v: im::VERSION,
            contact_id,
            connection_id: connection.0.to_string(),
            heartbeat_ms: self.limits.heartbeat.as_millis() as u64,
            limits: self.limits.announced(),
        };
        self.tell(connection, ServerFrame::Welcome(welcome));
    }

    /// A connection is over, whoever ended it; what it held goes to the next one.
    pub(crate) fn disconnect(&mut self, connection: ConnectionId, ending: Ending, now: Now) {
        let Some(holder) = self.holders.remove(&connection) else {
            return; // It was replaced or closed before.
        };
        self.presence.disconnect(&holder.contact, connection, now.wall);
        self.mark_stale(now);
        if let Some(queue) = self.queues.get_mut(&holder.contact) {
            queue.release(connection);
        }
        for (seq, held) in holder.held {
            self.deadlines.forget_overdue(held.overdue_at, connection, seq);
            if ending == Ending::Lost {
                self.strike(held.row, now);
            }
            self.give_back(held.row, now);
        }
        self.touched.insert(holder.contact);
    }

    /// Returns who is known by id; at most `presence::MAX_LISTED`.
    pub(crate) fn list_contacts(&self, now: Now) -> Vec<Contact> {
        self.presence.list(now.wall)
    }

    /// Answers a `contacts` frame.
    pub(crate) fn tell_contacts(&mut self, connection: ConnectionId, now: Now) {
        let contacts = self.list_contacts(now);
        self.tell(connection, ServerFrame::Contacts(im::Contacts { contacts }));
    }

    /// Starts the shutdown: no more deliveries and sends, acknowledgments are taken for a while.
    pub(crate) fn drain(&mut self, now: Now) {
        self.drain_until = Some(now.uptime + DRAIN);
        for connection in self.connections() {
            self.tell(connection, ServerFrame::Error(shutting_down(connection, None)));
        }
    }

    /// Does what is due.
    pub(crate) fn tick(&mut self, now: Now) {
        while let Some(row) = self.deadlines.next_expired(now) {
            if self.entries.get(&row).is_some_and(|entry| entry.held.is_none()) {
                self.expire(row, now);
            }
        }
        self.close_overdue(now);
        while let Some(lane) = self.deadlines.next_unparked(now) {
            if let Some(queue) = self.queues.get_mut(&lane.to) {
                queue.unpark(&lane, now.uptime);
                self.touched.insert(lane.to.clone());
            }
        }
        if self.deadlines.is_sweep_due(now) {
            self.writes.extend(self.notices.sweep(now.wall));
            let queues = &self.queues;
            let has_mail = |contact: &ContactId| queues.contains_key(contact);
            self.writes.extend(self.presence.sweep(now.wall, has_mail));
        }
        let is_idle = self.holders.values().all(|holder| holder.held.is_empty());
        if self.drain_until.is_some_and(|until| is_idle || until <= now.uptime) {
            for connection in self.connections() {
                self.close(connection, close::GOING_AWAY, None);
                self.disconnect(connection, Ending::Closed, now);
            }
        }
    }

    /// Returns how long the caller may sleep unless something happens.
    pub(crate) fn next_deadline(&self, now: Now) -> Duration {
        if !self.writes.is_empty() {
            return Duration::ZERO;
        }
        let stale = self.stale_since.map(|since| since + RECORD_DELAY);
        // Nothing is told any more once the relay is going down.
        let notices = self.notices.due().filter(|_| self.drain_until.is_none());
        let uptime = [stale, self.drain_until, notices];
        let soonest = uptime.into_iter().flatten().map(|due| due.saturating_sub(now.uptime)).min();
        self.deadlines.next(now).min(soonest.unwrap_or(Duration::MAX))
    }

    /// Returns what is to be committed now; empty while nothing is urgent.
    pub(crate) fn take_writes(&mut self, now: Now) -> Vec<Write> {
        let is_due = self.stale_since.is_some_and(|since| since + RECORD_DELAY <= now.uptime);
        if self.writes.is_empty() && !is_due {
            return Vec::new();
        }
        self.flush_writes()
    }

    /// Returns all that is to be committed, urgent or not.
    pub(crate) fn flush_writes(&mut self) -> Vec<Write> {
        let mut writes = std::mem::take(&mut self.writes);
        for row in std::mem::take(&mut self.stale_records) {
            if let Some(entry) = self.entries.get(&row) {
                writes.push(Write::Record { row, record: entry.record });
            }
        }
        writes.extend(self.presence.take_writes());
        self.stale_since = None;
        self.fresh.clear();
        writes
    }

    /// Takes back messages whose commit failed; their senders are told by whoever knows why.
    pub(crate) fn withdraw(&mut self, rows: impl IntoIterator<Item = Row>) {
        for row in rows {
            self.remove(row);
        }
    }

    /// Returns what has to happen outside, in order.
    pub(crate) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Whether the shutdown is over: nobody is connected any more.
    pub(crate) fn is_drained(&self) -> bool {
        self.drain_until.is_some() && self.holders.is_empty()
    }

    /// Tells a contact's older connections that a newer one takes over.
    fn replace_connections(&mut self, contact_id: &ContactId, now: Now) {
        for old in self.presence.connections(contact_id).to_vec() {
            let error = error(ErrorCode::Replaced, "a newer connection of this contact took over");
            self.close(old, close::REPLACED, Some(error));
            self.disconnect(old, Ending::Closed, now);
        }
    }

    fn mark_stale(&mut self, now: Now) {
        self.stale_since.get_or_insert(now.uptime);
    }

    fn connections(&self) -> BTreeSet<ConnectionId> {
        self.holders.keys().copied().collect()
    }

    fn tell(&mut self, connection: ConnectionId, frame: ServerFrame) {
        self.effects.push(Effect::Tell { connection, frame });
    }

    fn refuse(&mut self, connection: ConnectionId, id: MessageId, error: im::Error) {
        self.tell(connection, ServerFrame::Error(im::Error { id: Some(id), ..error }));
    }

    /// Closes a connection that broke a rule of the protocol.
    pub(crate) fn break_off(&mut self, connection: ConnectionId, text: String, now: Now) {
        self.close(connection, close::POLICY, Some(error(ErrorCode::BadFrame, text)));
        self.disconnect(connection, Ending::Closed, now);
    }

    fn close(&mut self, connection: ConnectionId, code: u16, error: Option<im::Error>) {
        self.effects.push(Effect::Close { connection, closing: Closing { code, error } });
    }
}
