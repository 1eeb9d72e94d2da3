//! What waits in one mailbox: senders take turns, each in the order of acceptance, each lane with its holder.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use protocol::{ChatId, ContactId};

use super::{ConnectionId, Lane};
use crate::store::Row;

#[derive(Debug, Default)]
pub(super) struct Queue {
    senders: HashMap<ContactId, Sender>,
    /// Each sender with something ready, once.
    turns: VecDeque<ContactId>,
    /// Of all messages, handed out or not.
    count: u64,
    bytes: u64,
}

#[derive(Debug, Default)]
struct Sender {
    ready: BTreeMap<Row, Arc<Lane>>,
    lanes: HashMap<Option<ChatId>, LaneState>,
}

#[derive(Debug)]
struct LaneState {
    lane: Arc<Lane>,
    /// Messages of the lane, handed out or not; the lane ends with the last one.
    count: usize,
    /// Who gets the lane's messages while it lives.
    holder: Option<ConnectionId>,
    parked: Option<Parked>,
}

/// A lane that waits after a `nak`.
#[derive(Debug)]
struct Parked {
    until: Duration,
    rows: BTreeSet<Row>,
}

impl Queue {
    /// Returns how many messages and bytes the mailbox holds.
    pub(super) fn size(&self) -> (u64, u64) {
        (self.count, self.bytes)
    }

    /// Adds an accepted message; returns its lane as all messages of that lane share it.
    pub(super) fn insert(&mut self, lane: Arc<Lane>, row: Row, size_bytes: u64) -> Arc<Lane> {
        self.count += 1;
        self.bytes += size_bytes;
        let sender = self.senders.entry(lane.from.clone()).or_default();
        let state = sender.lanes.entry(lane.chat.clone()).or_insert_with(|| LaneState {
            lane,
            count: 0,
            holder: None,
            parked: None,
        });
        state.count += 1;
        let lane = Arc::clone(&state.lane);
        self.put_back(&lane, row);
        lane
    }

    /// Makes a message of the mailbox ready to be handed out, behind its lane's pause if there is one.
    pub(super) fn put_back(&mut self, lane: &Arc<Lane>, row: Row) {
        let Some((ready, state)) = find(&mut self.senders, lane) else { return };
        if let Some(parked) = &mut state.parked {
            parked.rows.insert(row);
            return;
        }
        if ready.is_empty() {
            self.turns.push_back(lane.from.clone());
        }
        ready.insert(row, Arc::clone(lane));
    }

    /// Takes a message out; returns whether the mailbox is empty now.
    pub(super) fn remove(&mut self, lane: &Lane, row: Row, size_bytes: u64) -> bool {
        self.count -= 1;
        self.bytes -= size_bytes;
        if let Some((ready, state)) = find(&mut self.senders, lane) {
            let was_ready = ready.remove(&row).is_some();
            if was_ready && ready.is_empty() {
                self.turns.retain(|from| *from != lane.from);
            }
            if let Some(parked) = &mut state.parked {
                parked.rows.remove(&row);
            }
            state.count -= 1;
            if state.count == 0 {
                self.forget_lane(lane);
            }
        }
        self.count == 0
    }

    /// Lets a lane wait until `until`, at least; what of it is handed out stays there.
    pub(super) fn park(&mut self, lane: &Lane, until: Duration) {
        let Some((ready, state)) = find(&mut self.senders, lane) else { return };
        if let Some(parked) = &mut state.parked {
            parked.until = parked.until.max(until);
            return;
        }
        let was_ready = !ready.is_empty();
        let rows = ready.extract_if(.., |_, other| **other == *lane).map(|(row, _)| row).collect();
        if was_ready && ready.is_empty() {
            self.turns.retain(|from| *from != lane.from);
        }
        state.parked = Some(Parked { until, rows });
    }

    /// Ends a lane's pause if it is over.
    pub(super) fn unpark(&mut self, lane: &Lane, now: Duration) {
        let Some((_, state)) = find(&mut self.senders, lane) else { return };
        let lane = Arc::clone(&state.lane);
        if let Some(parked) = state.parked.take_if(|parked| parked.until <= now) {
            for row in parked.rows {
                self.put_back(&lane, row);
            }
        }
    }

    /// Frees the lanes of a connection that ended.
    pub(super) fn release(&mut self, connection: ConnectionId) {
        let lanes = self.senders.values_mut().flat_map(|sender| sender.lanes.values_mut());
        for state in lanes.filter(|state| state.holder == Some(connection)) {
            state.holder = None;
        }
    }

    /// Takes the next message that `choose` finds a connection for, given the one its lane is bound to.
    pub(super) fn next(
        &mut self,
        choose: impl Fn(Option<ConnectionId>) -> Option<ConnectionId>,
    ) -> Option<(Row, ConnectionId)> {
        for _ in 0..self.turns.len() {
            let from = self.turns.pop_front()?;
            let sender = self.senders.get_mut(&from)?;
            let first = sender.ready.first_entry()?;
            let state = sender.lanes.get_mut(&first.get().chat)?;
            let Some(connection) = choose(state.holder) else {
                self.turns.push_back(from);
                continue;
            };
            state.holder = Some(connection);
            let (row, _) = first.remove_entry();
            if !sender.ready.is_empty() {
                self.turns.push_back(from);
            }
            return Some((row, connection));
        }
        None
    }

    fn forget_lane(&mut self, lane: &Lane) {
        if let Some(sender) = self.senders.get_mut(&lane.from) {
            sender.lanes.remove(&lane.chat);
            if sender.lanes.is_empty() {
                self.senders.remove(&lane.from);
            }
        }
    }
}

/// Returns what of a lane's sender is ready, and the lane.
fn find<'a>(
    senders: &'a mut HashMap<ContactId, Sender>,
    lane: &Lane,
) -> Option<(&'a mut BTreeMap<Row, Arc<Lane>>, &'a mut LaneState)> {
    let sender = senders.get_mut(&lane.from)?;
    let state = sender.lanes.get_mut(&lane.chat)?;
    Some((&mut sender.ready, state))
}
