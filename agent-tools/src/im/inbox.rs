//! Deliveries, and how they are settled.

use std::{
    collections::BTreeSet,
    mem,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use protocol::im;
use tokio::sync::Notify;

use super::Desk;

/// Messages that settle no pending request, in the order of delivery.
///
/// It holds what the relay allows in flight on one connection; a new connection empties it,
/// since the relay delivers again what was not acknowledged on the old one.
/// Once it is dropped, further messages are given back to the relay.
pub struct Inbox {
    pub(super) desk: Arc<Desk>,
}

impl Inbox {
    /// Returns the next delivery, or `None` once the client has stopped.
    pub async fn next(&mut self) -> Option<Delivery> {
        loop {
            let arrived = self.desk.arrived.notified();
            if let Some(delivery) = self.desk.take_delivery() {
                return Some(delivery);
            }
            if self.desk.is_stopped() {
                return None;
            }
            arrived.await;
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.desk.close_inbox();
    }
}

/// A message, to be settled when it is processed.
///
/// A delivery that is dropped unsettled is delivered again once the relay's `ack_wait` is over;
/// settling one whose connection is gone has no effect, since the relay delivers it again anyway.
pub struct Delivery {
    /// The message.
    pub message: im::Message,
    settlements: Arc<Settlements>,
}

impl Delivery {
    pub(super) fn new(message: im::Message, settlements: Arc<Settlements>) -> Self {
        Self { message, settlements }
    }

    /// Says that the message is processed.
    pub fn ack(self) {
        self.settlements.ack(self.message.seq);
    }

    /// Says that the message is still being worked on: its `ack_wait` starts anew.
    pub fn working(&self) {
        self.settlements.note(|open| {
            open.working.insert(self.message.seq);
        });
    }

    /// Gives the message back, to be delivered again after `delay`.
    pub fn nak(self, delay: Duration) {
        let nak =
            im::Nak { seqs: vec![self.message.seq], delay_ms: Some(delay.as_millis() as u64) };
        self.settlements.note(|open| open.naks.push(nak));
    }
}

/// What was said about the deliveries of one connection and is not written yet.
///
/// At most one entry a delivery, so the relay's `max_in_flight` bounds it.
pub(super) struct Settlements {
    open: Mutex<Open>,
    /// Wakes the writer.
    changed: Arc<Notify>,
}

#[derive(Default)]
struct Open {
    acks: Vec<u64>,
    working: BTreeSet<u64>,
    naks: Vec<im::Nak>,
}

impl Settlements {
    pub(super) fn new(changed: Arc<Notify>) -> Self {
        Self { open: Mutex::default(), changed }
    }

    /// Takes what is to be written, as frames.
    pub(super) fn take_frames(&self) -> Vec<im::ClientFrame> {
        let open = mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
        let mut frames: Vec<_> = open.naks.into_iter().map(im::ClientFrame::Nak).collect();
        if !open.working.is_empty() {
            let seqs = open.working.into_iter().collect();
            frames.push(im::ClientFrame::Working(im::Working { seqs }));
        }
        if !open.acks.is_empty() {
            frames.push(im::ClientFrame::Ack(im::Ack { seqs: open.acks }));
        }
        frames
    }

    pub(super) fn ack(&self, seq: u64) {
        self.note(|open| open.acks.push(seq));
    }

    fn note(&self, change: impl FnOnce(&mut Open)) {
        change(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_one();
    }
}
