//! What the handle, the inbox and the connection task share; locked for short sections only.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use protocol::{
    MessageId,
    im::{self, Contact},
};
use tokio::{
    sync::{Notify, Semaphore, oneshot, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    Delivery, SendError, State, StopReason,
    inbox::Settlements,
    outbox::{Number, Outbox},
    replies::{Fate, Outcome, Replies},
};

/// How many sends and requests may be open at once; past it, the next caller waits its turn within its patience.
const MAX_OPEN: usize = 1024;

/// How long a message is given back for when the inbox is closed.
const CLOSED_INBOX_DELAY: Duration = Duration::from_mins(1);

/// What the handle, the inbox and the connection task share.
pub(super) struct Desk {
    tables: Mutex<Tables>,
    /// Written by the task; read by whoever asks for the state.
    pub(super) state: watch::Sender<State>,
    /// Wakes the writer: there is something to write.
    pub(super) changed: Arc<Notify>,
    /// Wakes the inbox: there is a delivery, or the task has stopped.
    pub(super) arrived: Notify,
    /// Limits what is open at once.
    pub(super) turns: Semaphore,
    /// Cancelled when the client is closed or its last handle dropped.
    pub(super) stop: CancellationToken,
}

#[derive(Default)]
struct Tables {
    outbox: Outbox,
    replies: Replies,
    /// Deliveries that wait for the inbox.
    deliveries: VecDeque<Delivery>,
    inbox_is_closed: bool,
    contacts: ContactsQueue,
}

/// Who waits for the list of contacts; one question serves all who wait.
#[derive(Default)]
struct ContactsQueue {
    waiting: Vec<oneshot::Sender<Vec<Contact>>>,
    is_asked: bool,
}

impl Desk {
    pub(super) fn new() -> Self {
        Self {
            tables: Mutex::default(),
            state: watch::Sender::new(State::Connecting { last_error: None }),
            changed: Arc::default(),
            arrived: Notify::new(),
            turns: Semaphore::new(MAX_OPEN),
            stop: CancellationToken::new(),
        }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_stopped(&self) -> bool {
        matches!(*self.state.borrow(), State::Stopped(_))
    }
}

/// What the handle does.
impl Desk {
    /// Puts a message down to be sent.
    pub(super) fn post(self: &Arc<Self>, frame: im::Send) -> Posted {
        let (number, accepted) = self.tables().outbox.add(frame, Instant::now());
        self.changed.notify_one();
        self.end_if_stopped();
        Posted { desk: Arc::clone(self), number, accepted }
    }

    /// Registers a request, before its message is sent.
    pub(super) fn expect_reply(self: &Arc<Self>, message: &im::Send) -> Expected {
        let (to, chat_id) = (message.to.clone(), message.chat_id.clone());
        let outcome = self.tables().replies.expect(message.id, to, chat_id);
        Expected { desk: Arc::clone(self), id: message.id, outcome }
    }

    /// Asks for the list of contacts.
    pub(super) fn ask_contacts(&self) -> oneshot::Receiver<Vec<Contact>> {
        let (done, answer) = oneshot::channel();
        {
            let contacts = &mut self.tables().contacts;
            contacts.waiting.retain(|waiting| !waiting.is_closed());
            contacts.waiting.push(done);
        }
        self.changed.notify_one();
        self.end_if_stopped();
        answer
    }

    /// Returns how many messages are not accepted, and how many replies are awaited.
    pub(super) fn open_counts(&self) -> (usize, usize) {
        let tables = self.tables();
        (tables.outbox.len(), tables.replies.len())
    }
}

/// What the inbox does.
impl Desk {
    pub(super) fn take_delivery(&self) -> Option<Delivery> {
        self.tables().deliveries.pop_front()
    }

    pub(super) fn close_inbox(&self) {
        let given_back = {
            let mut tables = self.tables();
            tables.inbox_is_closed = true;
            std::mem::take(&mut tables.deliveries)
        };
        for delivery in given_back {
            delivery.nak(CLOSED_INBOX_DELAY);
        }
    }
}

/// What the connection task does.
impl Desk {
    /// Takes a new connection into account.
    pub(super) fn connected(&self, welcome: im::Welcome) {
        {
            let mut tables = self.tables();
            tables.outbox.reconnected(Instant::now());
            tables.contacts.is_asked = false;
        }
        self.state.send_replace(State::Connected(welcome));
    }

    /// Takes the loss of the connection into account: its deliveries are void.
    pub(super) fn disconnected(&self) {
        self.tables().deliveries.clear();
        self.state.send_replace(State::Connecting { last_error: None });
    }

    /// Says why there is no connection.
    pub(super) fn failed(&self, last_error: String) {
        self.state.send_replace(State::Connecting { last_error: Some(last_error) });
    }

    /// Ends everything that waits: there will be no connection again.
    pub(super) fn stopped(&self, reason: StopReason) {
        self.state.send_replace(State::Stopped(reason));
        self.end_if_stopped();
        self.arrived.notify_one();
    }

    /// Ends everything that waits, once the task has stopped.
    ///
    /// Whoever adds something calls it afterwards, since the task may have stopped just before.
    fn end_if_stopped(&self) {
        let State::Stopped(reason) = self.state.borrow().clone() else { return };
        let mut tables = self.tables();
        tables.deliveries.clear();
        tables.contacts.waiting.clear();
        tables.outbox.fail_all(&SendError::Stopped(reason));
    }

    /// Returns the next frame to write, if one is due.
    pub(super) fn next_frame(&self, max_content_bytes: u64) -> Option<im::ClientFrame> {
        let mut tables = self.tables();
        if !tables.contacts.waiting.is_empty() && !tables.contacts.is_asked {
            tables.contacts.is_asked = true;
            return Some(im::ClientFrame::Contacts);
        }
        tables.outbox.next_due(Instant::now(), max_content_bytes).map(im::ClientFrame::Send)
    }

    /// Returns when a message falls due that the relay refused for now.
    pub(super) fn next_due_at(&self) -> Option<Instant> {
        self.tables().outbox.next_due_at()
    }

    pub(super) fn accepted(&self, accepted: &im::Accepted) {
        self.tables().outbox.accepted(accepted);
    }

    pub(super) fn refused(&self, id: MessageId, error: &im::Error) {
        self.tables().outbox.refused(id, error, Instant::now());
        self.changed.notify_one();
    }

    pub(super) fn contacts(&self, contacts: &[Contact]) {
        let waiting = {
            let queue = &mut self.tables().contacts;
            queue.is_asked = false;
            std::mem::take(&mut queue.waiting)
        };
        for done in waiting {
            // Whoever waited may have left.
            let _ = done.send(contacts.to_vec());
        }
    }

    /// Gives a delivery to whom it is for: a request, or the inbox.
    ///
    /// Returns `false` when the inbox holds `max_in_flight` already, which the relay promised not to exceed.
    pub(super) fn deliver(
        &self,
        message: im::Message,
        settlements: &Arc<Settlements>,
        max_in_flight: u64,
    ) -> bool {
        let (id, seq) = (message.id, message.seq);
        let mut tables = self.tables();
        match tables.replies.offer(message, Instant::now()) {
            Ok(fate) => {
                drop(tables);
                settlements.ack(seq);
                if fate == Fate::Late {
                    tracing::info!(message.id = %id, "reply came too late and is dropped");
                }
            }
            Err(message) if tables.inbox_is_closed => {
                drop(tables);
                tracing::info!(message.id = %id, "message given back: nobody reads this inbox");
                Delivery::new(*message, Arc::clone(settlements)).nak(CLOSED_INBOX_DELAY);
            }
            Err(_) if tables.deliveries.len() as u64 >= max_in_flight => return false,
            Err(message) => {
                tables.deliveries.push_back(Delivery::new(*message, Arc::clone(settlements)));
                drop(tables);
                self.arrived.notify_one();
            }
        }
        true
    }

    pub(super) fn noticed(&self, notice: &im::Notice) {
        if !self.tables().replies.give_notice(notice.id, notice.code) {
            tracing::warn!(
                message.id = %notice.id, contact.id = %notice.to, code = ?notice.code,
                "the relay gave up a message"
            );
        }
    }
}

/// A message on its way to the relay; dropped, it is not sent any more.
pub(super) struct Posted {
    desk: Arc<Desk>,
    number: Number,
    /// The relay's answer; closed without one only by a fault.
    pub(super) accepted: oneshot::Receiver<Result<im::Accepted, SendError>>,
}

impl Posted {
    /// Takes the message back; returns the refusal it was last answered with.
    pub(super) fn take_back(self) -> Option<im::Error> {
        self.desk.tables().outbox.remove(self.number)
    }
}

impl Drop for Posted {
    fn drop(&mut self) {
        self.desk.tables().outbox.remove(self.number);
    }
}

/// A reply that is waited for; dropped, it is late whenever it comes.
pub(super) struct Expected {
    desk: Arc<Desk>,
    id: MessageId,
    /// The outcome; closed without one only by a fault.
    pub(super) outcome: oneshot::Receiver<Outcome>,
}

impl Drop for Expected {
    fn drop(&mut self) {
        self.desk.tables().replies.give_up(self.id, Instant::now());
    }
}
