//! The one task that owns all mailboxes and their store; everything else talks to it through a [`Handle`].
//!
//! It has a thread of its own, because the disk blocks.
//! Each round takes all that waits, commits it at once, and only then tells anybody:
//! the more senders there are, the more of them share one flush of the disk.

mod handle;

pub(crate) use handle::{Handle, Outbox};

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use protocol::{
    Timestamp,
    im::{self, ClientFrame, ErrorCode, Send, ServerFrame, close},
};
use service::logging::chain;
use tokio::{sync::mpsc, time::Instant};

use self::handle::Input;
use crate::{
    config::Limits,
    mailbox::{Closing, ConnectionId, Effect, Ending, Mailboxes, Now, error},
    store::{self, Fingerprint, Row, Sqlite, Write},
};

/// How many inputs wait for the mailboxes; past it connections stop reading from their sockets.
const MAX_INPUTS: usize = 256;

/// How many inputs one commit takes at most.
const MAX_ROUND: usize = 256;

/// How long a message waits that could not be read from the store.
const UNREADABLE_PAUSE_MS: u64 = 10_000;

/// The pause after a failed commit before what is left of it is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// How often ids of settled messages are forgotten.
const SWEEP_EVERY: Duration = Duration::from_mins(1);

/// Starts the task on its own thread; it ends when the last handle is gone or the shutdown is over.
pub(crate) fn start(limits: Limits, store: Sqlite) -> Result<Handle, store::Error> {
    let clock = Clock { started: Instant::now() };
    let mailboxes = Mailboxes::new(limits, store.load()?, clock.now());
    let (tx, inputs) = mpsc::channel(MAX_INPUTS);
    let trouble = Arc::new(Mutex::new(None));
    let relay = Relay {
        mailboxes,
        store,
        clock,
        inputs,
        outboxes: HashMap::new(),
        unwritten: Vec::new(),
        retry_at: None,
        sweep_at: SWEEP_EVERY,
        trouble: Arc::clone(&trouble),
    };
    let runtime = tokio::runtime::Handle::current();
    std::thread::spawn(move || runtime.block_on(relay.run()));
    Ok(Handle::new(tx, trouble))
}

struct Relay {
    mailboxes: Mailboxes,
    store: Sqlite,
    clock: Clock,
    /// From all handles; closed when the last one is gone.
    inputs: mpsc::Receiver<Input>,
    /// Of each live connection.
    outboxes: HashMap<ConnectionId, Outbox>,
    /// What a failed commit left to be repeated; never a message.
    unwritten: Vec<Write>,
    retry_at: Option<Duration>,
    sweep_at: Duration,
    /// Why the store does not work, for the health route.
    trouble: Arc<Mutex<Option<String>>>,
}

impl Relay {
    async fn run(mut self) {
        let mut round = Vec::with_capacity(MAX_ROUND);
        while !self.mailboxes.is_drained() {
            let pause = self.pause();
            tokio::select! {
                count = self.inputs.recv_many(&mut round, MAX_ROUND) => if count == 0 { break },
                () = tokio::time::sleep(pause) => {}
            }
            let now = self.clock.now();
            for input in round.drain(..) {
                self.take_in(input, now);
            }
            self.mailboxes.tick(now);
            let writes = self.mailboxes.take_writes(now);
            let is_stored = self.commit(writes, now);
            self.mailboxes.deliver(now);
            self.carry_out(is_stored, now);
            self.sweep(now);
        }
        let rest = self.mailboxes.flush_writes();
        self.commit(rest, self.clock.now());
    }

    /// Returns how long nothing has to be done unless something comes in.
    fn pause(&self) -> Duration {
        let now = self.clock.now();
        match self.retry_at {
            // The disk fails: what is due can wait for the next try.
            Some(at) => at.saturating_sub(now.uptime),
            None => self.mailboxes.next_deadline(now),
        }
    }

    fn take_in(&mut self, input: Input, now: Now) {
        match input {
            Input::Connect { connection, hello, outbox } => {
                self.outboxes.insert(connection, outbox);
                self.mailboxes.connect(connection, hello.contact_id, hello.mode, now);
            }
            Input::Frame { connection, frame } => self.take_frame(connection, frame, now),
            Input::Disconnect { connection, ending } => {
                self.outboxes.remove(&connection);
                self.mailboxes.disconnect(connection, ending, now);
            }
            Input::ListContacts { reply } => {
                // Whoever asked may be gone.
                let _ = reply.send(self.mailboxes.list_contacts(now));
            }
            Input::Drain => self.mailboxes.drain(now),
        }
    }

    fn take_frame(&mut self, connection: ConnectionId, frame: ClientFrame, now: Now) {
        match frame {
            ClientFrame::Send(send) => self.accept(connection, send, now),
            ClientFrame::Ack(ack) => self.mailboxes.ack(connection, &ack.seqs, now),
            ClientFrame::Working(working) => {
                self.mailboxes.working(connection, &working.seqs, now);
            }
            ClientFrame::Nak(nak) => self.mailboxes.nak(connection, &nak, now),
            ClientFrame::Contacts => self.mailboxes.tell_contacts(connection, now),
            ClientFrame::Hello(_) => {
                let text = "hello frame: this connection said hello before".to_owned();
                self.mailboxes.break_off(connection, text, now);
            }
        }
    }

    fn accept(&mut self, connection: ConnectionId, send: Send, now: Now) {
        let Some(outbox) = self.outboxes.get(&connection) else {
            return; // It was closed meanwhile.
        };
        match self.store.find_seen(&outbox.contact_id, send.id) {
            Ok(seen) => {
                let fingerprint = Fingerprint::of(&send);
                self.mailboxes.accept(connection, send, fingerprint, seen, now);
            }
            Err(err) => {
                self.note_trouble(&err);
                let error = unavailable(send.id);
                self.tell(connection, ServerFrame::Error(error), now);
            }
        }
    }

    /// Makes this round's changes durable; returns whether its messages may be told as accepted.
    fn commit(&mut self, writes: Vec<Write>, now: Now) -> bool {
        let is_retry_due = self.retry_at.is_none_or(|at| at <= now.uptime);
        if writes.is_empty() && (self.unwritten.is_empty() || !is_retry_due) {
            return true;
        }
        self.unwritten.extend(writes);
        match self.store.commit(&self.unwritten) {
            Ok(()) => {
                self.unwritten.clear();
                self.retry_at = None;
                self.note_success();
                true
            }
            Err(err) => {
                self.note_trouble(&err);
                self.retry_at = Some(now.uptime + RETRY_PAUSE);
                let lost =
                    self.unwritten.extract_if(.., |write| matches!(write, Write::Insert { .. }));
                let rows: Vec<Row> = lost.filter_map(|write| inserted_row(&write)).collect();
                self.mailboxes.withdraw(rows);
                false
            }
        }
    }

    /// Carries out what the mailboxes want, also what follows from doing so.
    fn carry_out(&mut self, is_stored: bool, now: Now) {
        loop {
            let effects = self.mailboxes.take_effects();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                match effect {
                    Effect::Tell { connection, frame } => self.tell(connection, frame, now),
                    Effect::Accept { connection, accepted, row } => {
                        let frame = if row.is_none() || is_stored {
                            ServerFrame::Accepted(accepted)
                        } else {
                            ServerFrame::Error(unavailable(accepted.id))
                        };
                        self.tell(connection, frame, now);
                    }
                    Effect::Deliver { connection, seq, row, attempt } => {
                        self.deliver(connection, seq, row, attempt, now);
                    }
                    Effect::Close { connection, closing } => {
                        if let Some(outbox) = self.outboxes.remove(&connection) {
                            outbox.close(closing);
                        }
                    }
                }
            }
            self.mailboxes.deliver(now);
        }
    }

    fn deliver(&mut self, connection: ConnectionId, seq: u64, row: Row, attempt: u32, now: Now) {
        match self.store.read(row) {
            Ok(letter) => {
                let message = letter.into_message(seq, attempt);
                self.tell(connection, ServerFrame::Message(message), now);
            }
            Err(err) => {
                // Its lane waits; everything else goes on.
                self.note_trouble(&err);
                let nak = im::Nak { seqs: vec![seq], delay_ms: Some(UNREADABLE_PAUSE_MS) };
                self.mailboxes.nak(connection, &nak, now);
            }
        }
    }

    /// Hands a frame to a connection; one that does not keep up is closed.
    fn tell(&mut self, connection: ConnectionId, frame: ServerFrame, now: Now) {
        let Some(outbox) = self.outboxes.get(&connection) else { return };
        if outbox.push(frame) {
            return;
        }
        if let Some(outbox) = self.outboxes.remove(&connection) {
            tracing::warn!(
                connection.id = %connection.0, contact.id = %outbox.contact_id,
                "outbox full: the client does not read; closing"
            );
            outbox.close(Closing { code: close::SLOW, error: None });
            self.mailboxes.disconnect(connection, Ending::Closed, now);
        }
    }

    fn sweep(&mut self, now: Now) {
        if self.sweep_at <= now.uptime {
            self.sweep_at = now.uptime + SWEEP_EVERY;
            match self.store.sweep(now.wall) {
                Ok(()) => self.note_success(),
                Err(err) => {
                    tracing::warn!(error = %chain(&err), "cannot forget old ids");
                }
            }
        }
    }

    /// Ends the trouble, unless a commit still waits to be repeated.
    fn note_success(&self) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if self.retry_at.is_none() && trouble.take().is_some() {
            tracing::info!("the store works again");
        }
    }

    /// Logs a failure, loudly only when it is another one than the last.
    fn note_trouble(&self, err: &store::Error) {
        let text = chain(err);
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if trouble.as_ref() == Some(&text) {
            tracing::debug!(error = text, "the store still fails");
        } else {
            tracing::error!(error = text, "the store fails");
            *trouble = Some(text);
        }
    }
}

fn inserted_row(write: &Write) -> Option<Row> {
    match write {
        Write::Insert { row, .. } => Some(*row),
        _ => None,
    }
}

fn unavailable(id: protocol::MessageId) -> im::Error {
    let text = "the message could not be stored; send again later under the same id";
    let retry_after_ms = Some(RETRY_PAUSE.as_millis() as u64);
    im::Error { id: Some(id), retry_after_ms, ..error(ErrorCode::Unavailable, text) }
}

/// Reads both clocks.
struct Clock {
    started: Instant,
}

impl Clock {
    fn now(&self) -> Now {
        Now { wall: Timestamp::now(), uptime: self.started.elapsed() }
    }
}
