//! Random histories of a relay, checked against what the protocol promises.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use proptest::prelude::*;
use protocol::{
    MessageId,
    im::{Mode, Nak, ServerFrame},
};

use super::{ConnectionId, Ending, LIMITS, World, in_chat, message};

const CONTACTS: [&str; 3] = ["a", "b", "c"];

/// `kb` is the contact whose connections share.
const SHARED: &str = "kb";

/// Something that happens; numbers choose among what there is.
#[derive(Clone, Debug)]
enum Event {
    Connect(usize),
    ConnectShared,
    End(usize, bool),
    Send { from: usize, to: usize, chat: u8, on_a_bad_disk: bool },
    Repeat(usize),
    Ack(usize),
    Nak(usize, u64),
    Advance(u64),
    Crash,
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (0..3_usize).prop_map(Event::Connect),
        2 => Just(Event::ConnectShared),
        2 => (any::<usize>(), any::<bool>()).prop_map(|(which, lost)| Event::End(which, lost)),
        12 => (0..3_usize, 0..4_usize, 0..3_u8, proptest::bool::weighted(0.1)).prop_map(
            |(from, to, chat, on_a_bad_disk)| Event::Send { from, to, chat, on_a_bad_disk }
        ),
        2 => any::<usize>().prop_map(Event::Repeat),
        8 => any::<usize>().prop_map(Event::Ack),
        2 => (any::<usize>(), prop_oneof![Just(0), 1..20_000_u64]).prop_map(|(which, delay)| Event::Nak(which, delay)),
        3 => (1..40_000_u64).prop_map(Event::Advance),
        1 => Just(Event::Crash),
    ]
}

/// What the clients know.
#[derive(Default)]
struct Clients {
    live: BTreeMap<ConnectionId, &'static str>,
    /// By connection and seq, what is delivered and not acknowledged.
    held: BTreeMap<(ConnectionId, u64), usize>,
    /// All that was ever handed over.
    sent: Vec<Sent>,
    numbers: HashMap<MessageId, usize>,
    accepted: usize,
    was_paused: bool,
}

struct Sent {
    from: &'static str,
    send: protocol::im::Send,
    /// Its place in the order of acceptance.
    order: usize,
    was_delivered: bool,
    /// Nothing is owed: it was acknowledged, or never accepted.
    was_acked: bool,
}

struct History {
    world: World,
    clients: Clients,
}

impl History {
    fn new() -> Self {
        Self { world: World::new(), clients: Clients::default() }
    }

    fn apply(&mut self, event: &Event) {
        match *event {
            Event::Connect(who) => self.connect(CONTACTS[who], Mode::Exclusive),
            Event::ConnectShared => self.connect(SHARED, Mode::Shared),
            Event::End(which, lost) => {
                if let Some(connection) = pick(self.clients.live.keys(), which) {
                    let ending = if lost { Ending::Lost } else { Ending::Closed };
                    self.world.disconnect(connection, ending);
                    self.clients.forget(connection);
                }
            }
            Event::Send { from, to, chat, on_a_bad_disk } => {
                let to = *CONTACTS.get(to).unwrap_or(&SHARED);
                let send = match chat {
                    0 => message(to, "x"),
                    chat => in_chat(&chat.to_string(), message(to, "x")),
                };
                self.send(CONTACTS[from], send, on_a_bad_disk);
            }
            Event::Repeat(which) => {
                let sent = pick(0..self.clients.sent.len(), which);
                if let Some(sent) = sent.map(|number| &self.clients.sent[number]) {
                    self.send(sent.from, sent.send.clone(), false);
                }
            }
            Event::Ack(which) => {
                if let Some((connection, seq)) = pick(self.clients.held.keys(), which) {
                    let number = self.clients.held.remove(&(connection, seq)).unwrap();
                    self.clients.sent[number].was_acked = true;
                    self.world.ack(connection, &[seq]);
                }
            }
            Event::Nak(which, delay) => {
                if let Some((connection, seq)) = pick(self.clients.held.keys(), which) {
                    self.clients.held.remove(&(connection, seq));
                    self.clients.was_paused |= delay > 0;
                    let nak = Nak { seqs: vec![seq], delay_ms: Some(delay) };
                    self.world.mailboxes.nak(connection, &nak, self.world.now);
                    self.world.run();
                }
            }
            Event::Advance(millis) => self.world.advance(Duration::from_millis(millis)),
            Event::Crash => {
                self.clients.live.clear();
                self.clients.held.clear();
                self.world.crash();
            }
        }
        self.listen();
    }

    fn connect(&mut self, contact: &'static str, mode: Mode) {
        let connection = self.world.connect(contact, mode);
        self.clients.live.insert(connection, contact);
    }

    fn send(&mut self, from: &'static str, send: protocol::im::Send, on_a_bad_disk: bool) {
        let online = self.clients.live.iter().find(|(_, contact)| **contact == from);
        let Some((&connection, _)) = online else { return };
        if !self.clients.numbers.contains_key(&send.id) {
            self.clients.numbers.insert(send.id, self.clients.sent.len());
            let new =
                Sent { from, send: send.clone(), order: 0, was_delivered: false, was_acked: true };
            self.clients.sent.push(new);
        }
        self.world.hand_over(connection, from, send);
        if on_a_bad_disk {
            self.world.run_on_a_bad_disk();
        } else {
            self.world.run();
        }
    }

    /// Lets the clients read what they were told, and checks it.
    fn listen(&mut self) {
        let closed: Vec<_> = self.world.closed.drain().collect();
        for (connection, _) in closed {
            self.clients.forget(connection);
        }
        let mut delivered = Vec::new();
        for (connection, frames) in self.world.heard.drain() {
            for frame in frames {
                match frame {
                    ServerFrame::Accepted(accepted) => {
                        let sent = &mut self.clients.sent[self.clients.numbers[&accepted.id]];
                        if !accepted.duplicate {
                            sent.was_acked = false;
                            sent.order = self.clients.accepted;
                            self.clients.accepted += 1;
                        }
                    }
                    ServerFrame::Message(message) => {
                        let number = self.clients.numbers[&message.id];
                        delivered.push((number, connection, message.seq));
                    }
                    _ => {}
                }
            }
        }
        // Per connection in the order of seq; connections of one round in any order.
        delivered.sort_by_key(|(_, connection, seq)| (*connection, *seq));
        for (number, connection, seq) in delivered {
            self.clients.take(number, connection, seq);
        }
    }

    /// Lets everybody come, read and acknowledge all there is.
    fn finish(mut self) {
        for contact in CONTACTS {
            self.connect(contact, Mode::Exclusive);
        }
        self.connect(SHARED, Mode::Shared);
        self.listen();
        loop {
            self.world.advance(Duration::from_secs(20));
            self.listen();
            let held = std::mem::take(&mut self.clients.held);
            if held.is_empty() {
                break;
            }
            for ((connection, seq), number) in held {
                self.clients.sent[number].was_acked = true;
                self.world.mailboxes.ack(connection, &[seq], self.world.now);
            }
            self.world.run();
            self.listen();
        }
        let lost = self.clients.sent.iter().filter(|sent| !sent.was_acked).count();
        assert_eq!(lost, 0, "accepted and never delivered");
        assert_eq!(self.world.store.load().unwrap().waiting.len(), 0, "settled, but still stored");
    }
}

impl Clients {
    fn forget(&mut self, connection: ConnectionId) {
        self.live.remove(&connection);
        self.held.retain(|(holder, _), _| *holder != connection);
    }

    fn take(&mut self, number: usize, connection: ConnectionId, seq: u64) {
        if !self.live.contains_key(&connection) {
            return; // Told to a connection that ended in the same round.
        }
        let sent = &self.sent[number];
        assert!(!sent.was_acked, "delivered after its ack, or never accepted");
        assert!(self.held.values().all(|held| *held != number), "delivered to two at once");
        let (from, to) = (sent.from, &sent.send.to);
        let is_ordered = |other: &Sent| {
            let is_same = other.from == from && other.send.to == *to;
            // A pause lets other chats pass.
            is_same && (!self.was_paused || other.send.chat_id == sent.send.chat_id)
        };
        let overtaken: BTreeSet<_> = self
            .sent
            .iter()
            .filter(|earlier| {
                earlier.order < sent.order
                    && is_ordered(earlier)
                    && !earlier.was_acked
                    && !earlier.was_delivered
            })
            .map(|earlier| earlier.send.id)
            .collect();
        assert!(
            sent.was_delivered || to.as_str() == SHARED || overtaken.is_empty(),
            "{overtaken:?}"
        );
        self.sent[number].was_delivered = true;
        self.held.insert((connection, seq), number);
        let holds = self.held.keys().filter(|(holder, _)| *holder == connection).count();
        assert!(holds as u64 <= LIMITS.max_in_flight, "more in flight than allowed");
        self.check_affinity(number, connection);
    }

    /// What is unacknowledged of one chat is with one connection.
    fn check_affinity(&self, number: usize, connection: ConnectionId) {
        let sent = &self.sent[number];
        for ((holder, _), other) in &self.held {
            let other = &self.sent[*other];
            let is_same = other.from == sent.from
                && other.send.to == sent.send.to
                && other.send.chat_id == sent.send.chat_id;
            assert!(!is_same || *holder == connection, "one chat with two holders");
        }
    }
}

fn pick<T: Copy>(
    from: impl ExactSizeIterator<Item: std::borrow::Borrow<T>>,
    which: usize,
) -> Option<T> {
    let mut from = from;
    let count = from.len();
    if count == 0 {
        None
    } else {
        from.nth(which % count).map(|item| *std::borrow::Borrow::borrow(&item))
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn promises_hold_whatever_happens(events in prop::collection::vec(event(), 0..120)) {
        let mut history = History::new();
        for event in &events {
            history.apply(event);
        }
        history.finish();
    }
}
