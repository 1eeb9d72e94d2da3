//! Messages that the relay has not accepted yet: kept until it does, resent under the same id.

use std::{collections::BTreeMap, time::Duration};

use protocol::{
    MessageId,
    im::{self, ErrorCode},
};
use tokio::{sync::oneshot, time::Instant};

use super::SendError;
use crate::backoff::Backoff;

/// Names an entry; a later one has a larger number.
pub(super) type Number = u64;

/// What the relay has not accepted yet, in the order of sending.
#[derive(Default)]
pub(super) struct Outbox {
    entries: BTreeMap<Number, Entry>,
    next: Number,
}

struct Entry {
    frame: im::Send,
    phase: Phase,
    /// Paces what the relay refuses for now.
    backoff: Backoff,
    /// The last refusal that invites another try.
    refusal: Option<im::Error>,
    done: oneshot::Sender<Result<im::Accepted, SendError>>,
}

/// Whether an entry is the relay's turn or ours.
enum Phase {
    /// To be written, not before this time.
    Due(Instant),
    /// Written on this connection; the relay's answer is awaited.
    Written,
}

impl Outbox {
    /// Adds a message; the answer arrives at the returned receiver.
    pub(super) fn add(
        &mut self,
        frame: im::Send,
        now: Instant,
    ) -> (Number, oneshot::Receiver<Result<im::Accepted, SendError>>) {
        let (done, answer) = oneshot::channel();
        let number = self.next;
        self.next += 1;
        let phase = Phase::Due(now);
        let entry = Entry { frame, phase, backoff: Backoff::default(), refusal: None, done };
        self.entries.insert(number, entry);
        (number, answer)
    }

    /// Forgets an entry nobody waits for; returns the refusal it was last answered with.
    pub(super) fn remove(&mut self, number: Number) -> Option<im::Error> {
        self.entries.remove(&number)?.refusal
    }

    /// Takes a new connection into account: nothing is written on it yet.
    pub(super) fn reconnected(&mut self, now: Instant) {
        for entry in self.entries.values_mut() {
            if matches!(entry.phase, Phase::Written) {
                entry.phase = Phase::Due(now);
            }
        }
    }

    /// Returns the oldest message to write now, and counts it as written.
    ///
    /// One that is larger than `max_content_bytes` is refused here: written, it could cost the connection.
    pub(super) fn next_due(&mut self, now: Instant, max_content_bytes: u64) -> Option<im::Send> {
        loop {
            let (&number, entry) = self
                .entries
                .iter_mut()
                .find(|(_, entry)| entry.due().is_some_and(|due| due <= now))?;
            let size = entry.frame.content.len() as u64;
            if size <= max_content_bytes {
                entry.phase = Phase::Written;
                return Some(entry.frame.clone());
            }
            let message = format!("content: {size} bytes; at most {max_content_bytes} are allowed");
            let id = Some(entry.frame.id);
            let error = im::Error { code: ErrorCode::TooLarge, message, id, retry_after_ms: None };
            self.finish(number, Err(SendError::Refused(error)));
        }
    }

    /// Returns when the next message falls due; `None` when all that is left awaits the relay.
    pub(super) fn next_due_at(&self) -> Option<Instant> {
        self.entries.values().filter_map(Entry::due).min()
    }

    /// The relay has it on disk.
    pub(super) fn accepted(&mut self, accepted: &im::Accepted) {
        for number in self.numbers_of(accepted.id) {
            self.finish(number, Ok(accepted.clone()));
        }
    }

    /// The relay refuses it: for now, and it is tried again, or for good.
    pub(super) fn refused(&mut self, id: MessageId, error: &im::Error, now: Instant) {
        for number in self.numbers_of(id) {
            match error.code {
                // It leaves with the next connection.
                ErrorCode::ShuttingDown => {}
                ErrorCode::MailboxFull | ErrorCode::RateLimited | ErrorCode::Unavailable => {
                    if let Some(entry) = self.entries.get_mut(&number) {
                        let asked =
                            error.retry_after_ms.map_or(Duration::ZERO, Duration::from_millis);
                        let pause = asked.max(entry.backoff.next_pause(rand::random()));
                        entry.phase = Phase::Due(now + pause);
                        entry.refusal = Some(error.clone());
                    }
                }
                _ => self.finish(number, Err(SendError::Refused(error.clone()))),
            }
        }
    }

    /// Tells everybody who waits that there will be no connection again.
    pub(super) fn fail_all(&mut self, error: &SendError) {
        for entry in std::mem::take(&mut self.entries).into_values() {
            // Whoever waited may have left; then nobody wants to know.
            let _ = entry.done.send(Err(error.clone()));
        }
    }

    /// Returns how many messages wait.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    fn finish(&mut self, number: Number, result: Result<im::Accepted, SendError>) {
        if let Some(entry) = self.entries.remove(&number) {
            let _ = entry.done.send(result);
        }
    }

    /// A caller may have sent the same message twice; both wait for the one answer.
    fn numbers_of(&self, id: MessageId) -> Vec<Number> {
        self.entries.iter().filter(|(_, entry)| entry.frame.id == id).map(|(&n, _)| n).collect()
    }
}

impl Entry {
    fn due(&self) -> Option<Instant> {
        match self.phase {
            Phase::Due(due) => Some(due),
            Phase::Written => None,
        }
    }
}
