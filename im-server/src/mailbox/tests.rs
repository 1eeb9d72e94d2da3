//! The mailboxes without sockets: over a real store in memory and a clock that the test moves.

mod model;

use std::{collections::HashMap, time::Duration};

use protocol::{
    ChatId, ContactId, MessageId, Timestamp,
    im::{Accepted, ErrorCode, Mode, Nak, NoticeCode, Recipient, Send, ServerFrame, close},
};
use uuid::Uuid;

use super::{ConnectionId, Effect, Ending, Mailboxes, Now};
use crate::{
    config::Limits,
    store::{Fingerprint, Sqlite, Write},
};

const LIMITS: Limits = Limits {
    max_content_bytes: 1000,
    max_in_flight: 4,
    max_mailbox: 50,
    ack_wait: Duration::from_mins(1),
    heartbeat: Duration::from_secs(30),
};

/// Mailboxes, their store, and what every connection was told.
struct World {
    mailboxes: Mailboxes,
    store: Sqlite,
    now: Now,
    heard: HashMap<ConnectionId, Vec<ServerFrame>>,
    closed: HashMap<ConnectionId, u16>,
    connections: u128,
}

impl World {
    fn new() -> Self {
        let store = Sqlite::in_memory().unwrap();
        let now = Now { wall: Timestamp::from_millis(1_800_000_000_000), uptime: Duration::ZERO };
        let mailboxes = Mailboxes::new(LIMITS, store.load().unwrap(), now);
        Self {
            mailboxes,
            store,
            now,
            heard: HashMap::new(),
            closed: HashMap::new(),
            connections: 0,
        }
    }

    /// Ends the relay without a word; whatever was not committed is gone.
    fn crash(&mut self) {
        self.mailboxes = Mailboxes::new(LIMITS, self.store.load().unwrap(), self.now);
        self.heard.clear();
        self.run();
    }

    fn advance(&mut self, span: Duration) {
        self.now = Now { wall: self.now.wall.after(span), uptime: self.now.uptime + span };
        self.run();
    }

    fn connect(&mut self, contact: &str, mode: Mode) -> ConnectionId {
        self.connections += 1;
        let connection = ConnectionId(Uuid::from_u128(self.connections));
        self.mailboxes.connect(connection, id(contact), mode, self.now);
        self.run();
        connection
    }

    fn disconnect(&mut self, connection: ConnectionId, ending: Ending) {
        self.mailboxes.disconnect(connection, ending, self.now);
        self.run();
    }

    /// Lets `connection` of `from` send without running the round.
    fn hand_over(&mut self, connection: ConnectionId, from: &str, send: Send) {
        let seen = self.store.find_seen(&id(from), send.id).unwrap();
        let fingerprint = Fingerprint::of(&send);
        self.mailboxes.accept(connection, send, fingerprint, seen, self.now);
    }

    fn send(&mut self, connection: ConnectionId, from: &str, send: Send) -> ServerFrame {
        self.hand_over(connection, from, send);
        self.run();
        self.heard.get_mut(&connection).unwrap().pop().expect("an answer")
    }

    fn ack(&mut self, connection: ConnectionId, seqs: &[u64]) {
        self.mailboxes.ack(connection, seqs, self.now);
        self.run();
    }

    /// One round, as the relay runs it.
    fn run(&mut self) {
        self.mailboxes.tick(self.now);
        let writes = self.mailboxes.take_writes(self.now);
        self.store.commit(&writes).unwrap();
        self.mailboxes.deliver(self.now);
        self.collect(true);
    }

    /// One round in which the disk fails: only what is no message is written, later.
    fn run_on_a_bad_disk(&mut self) {
        self.mailboxes.tick(self.now);
        let mut writes = self.mailboxes.take_writes(self.now);
        let is_insert = |write: &mut Write| matches!(write, Write::Insert { .. });
        let rows: Vec<_> = writes
            .extract_if(.., is_insert)
            .filter_map(|write| match write {
                Write::Insert { row, .. } => Some(row),
                _ => None,
            })
            .collect();
        self.mailboxes.withdraw(rows);
        self.store.commit(&writes).unwrap();
        self.mailboxes.deliver(self.now);
        self.collect(false);
    }

    fn collect(&mut self, is_stored: bool) {
        for effect in self.mailboxes.take_effects() {
            match effect {
                Effect::Tell { connection, frame } => {
                    self.heard.entry(connection).or_default().push(frame);
                }
                Effect::Accept { connection, accepted, row } => {
                    if is_stored || row.is_none() {
                        let frame = ServerFrame::Accepted(accepted);
                        self.heard.entry(connection).or_default().push(frame);
                    }
                }
                Effect::Deliver { connection, seq, row, attempt } => {
                    let letter = self.store.read(row).unwrap();
                    let message = letter.into_message(seq, attempt);
                    let frame = ServerFrame::Message(message);
                    self.heard.entry(connection).or_default().push(frame);
                }
                Effect::Close { connection, closing } => {
                    self.closed.insert(connection, closing.code);
                }
            }
        }
    }

    /// Takes what a connection was told since the last call, as far as it is messages: seq, content, attempt.
    fn messages(&mut self, connection: ConnectionId) -> Vec<(u64, String, u32)> {
        let frames = self.heard.remove(&connection).unwrap_or_default();
        let messages = frames.into_iter().filter_map(|frame| match frame {
            ServerFrame::Message(message) => Some((message.seq, message.content, message.attempt)),
            _ => None,
        });
        messages.collect()
    }
}

fn id(text: &str) -> ContactId {
    text.parse().unwrap()
}

fn message(to: &str, content: &str) -> Send {
    Send {
        id: MessageId::random(),
        to: id(to),
        content: content.to_owned(),
        chat_id: None,
        in_reply_to: None,
        ttl_ms: None,
        meta: None,
    }
}

fn in_chat(chat: &str, send: Send) -> Send {
    Send { chat_id: Some(ChatId::try_from(chat.to_owned()).unwrap()), ..send }
}

fn own(messages: &[(u64, &str, u32)]) -> Vec<(u64, String, u32)> {
    messages.iter().map(|(seq, content, attempt)| (*seq, (*content).to_owned(), *attempt)).collect()
}

#[test]
fn nothing_is_delivered_whose_commit_failed() {
    let mut world = World::new();
    let alice = world.connect("alice", Mode::Exclusive);
    let bob = world.connect("bob", Mode::Exclusive);
    let sent = message("bob", "x");
    world.hand_over(alice, "alice", sent.clone());
    world.hand_over(alice, "alice", sent.clone());
    world.run_on_a_bad_disk();
    assert_eq!(world.messages(bob), []);
    let answer = world.send(alice, "alice", sent.clone());
    let accepted = Accepted { id: sent.id, duplicate: false, recipient: Recipient::Online };
    assert_eq!(answer, ServerFrame::Accepted(accepted));
    assert_eq!(world.messages(bob), own(&[(1, "x", 1)]));
}

#[test]
fn a_message_is_set_aside_after_ten_strikes_but_not_within_an_hour() {
    let mut world = World::new();
    let alice = world.connect("alice", Mode::Exclusive);
    let poison = message("bob", "poison");
    world.send(alice, "alice", poison.clone());
    for attempt in 1..=20 {
        let bob = world.connect("bob", Mode::Exclusive);
        assert_eq!(world.messages(bob), own(&[(1, "poison", attempt)]));
        world.disconnect(bob, Ending::Lost);
    }
    world.advance(Duration::from_mins(59));
    let bob = world.connect("bob", Mode::Exclusive);
    assert_eq!(world.messages(bob), own(&[(1, "poison", 21)]), "the hour is not over");
    world.advance(Duration::from_mins(1));
    assert_eq!(world.closed[&bob], close::ACK_OVERDUE);
    let notice = world.heard.get_mut(&alice).unwrap().pop();
    let Some(ServerFrame::Notice(notice)) = notice else {
        panic!("expected a notice, got {notice:?}")
    };
    assert_eq!((notice.id, notice.code), (poison.id, NoticeCode::Undeliverable));
    let bob = world.connect("bob", Mode::Exclusive);
    assert_eq!(world.messages(bob), []);
    world.crash();
    let bob = world.connect("bob", Mode::Exclusive);
    assert_eq!(world.messages(bob), [], "also after a restart");
}

#[test]
fn crashes_takeovers_naks_and_clean_ends_are_no_strikes() {
    let mut world = World::new();
    let alice = world.connect("alice", Mode::Exclusive);
    world.send(alice, "alice", message("bob", "x"));
    for _ in 0..15 {
        let bob = world.connect("bob", Mode::Exclusive);
        let seq = world.messages(bob)[0].0;
        world.mailboxes.nak(bob, &Nak { seqs: vec![seq], delay_ms: None }, world.now);
        world.run();
        world.connect("bob", Mode::Exclusive);
        let bob = world.connect("bob", Mode::Exclusive);
        world.disconnect(bob, Ending::Closed);
        world.crash();
    }
    world.advance(Duration::from_hours(2));
    let bob = world.connect("bob", Mode::Exclusive);
    world.disconnect(bob, Ending::Lost);
    let bob = world.connect("bob", Mode::Exclusive);
    assert_eq!(world.messages(bob).len(), 1);
}

#[test]
fn working_puts_off_ack_wait_for_what_it_names_alone() {
    let mut world = World::new();
    let alice = world.connect("alice", Mode::Exclusive);
    let bob = world.connect("bob", Mode::Exclusive);
    world.send(alice, "alice", message("bob", "1"));
    for _ in 0..5 {
        world.advance(Duration::from_secs(50));
        world.mailboxes.working(bob, &[1], world.now);
    }
    assert!(!world.closed.contains_key(&bob));
    world.send(alice, "alice", message("bob", "2"));
    world.advance(Duration::from_secs(50));
    world.mailboxes.working(bob, &[1], world.now);
    world.advance(Duration::from_secs(10));
    assert_eq!(world.closed[&bob], close::ACK_OVERDUE);
    world.ack(bob, &[1, 2]);
    let bob = world.connect("bob", Mode::Exclusive);
    assert_eq!(world.messages(bob), own(&[(1, "1", 2), (2, "2", 2)]), "late acks are void");
}

#[test]
fn a_message_that_expired_in_work_expires_when_it_comes_back() {
    let mut world = World::new();
    let alice = world.connect("alice", Mode::Exclusive);
    let bob = world.connect("bob", Mode::Exclusive);
    let sent = Send { ttl_ms: Some(1_000), ..message("bob", "x") };
    world.send(alice, "alice", sent.clone());
    world.advance(Duration::from_secs(2));
    assert_eq!(world.heard[&alice].len(), 1, "welcome, and no notice yet");
    world.disconnect(bob, Ending::Closed);
    let notice = world.heard.get_mut(&alice).unwrap().pop();
    assert!(matches!(notice, Some(ServerFrame::Notice(notice)) if notice.id == sent.id));
}

#[test]
fn a_paused_chat_resumes_in_order() {
    let mut world = World::new();
    let alice = world.connect("alice", Mode::Exclusive);
    let bob = world.connect("bob", Mode::Exclusive);
    for n in 1..=6 {
        world.send(alice, "alice", in_chat("a", message("bob", &n.to_string())));
    }
    world.messages(bob);
    let nak = Nak { seqs: vec![2, 3], delay_ms: Some(5_000) };
    world.mailboxes.nak(bob, &nak, world.now);
    world.run();
    assert_eq!(world.messages(bob), [], "5 and 6 wait behind, though there is room");
    world.send(alice, "alice", in_chat("b", message("bob", "other chat")));
    assert_eq!(world.messages(bob), own(&[(5, "other chat", 1)]));
    world.ack(bob, &[1, 4, 5]);
    world.advance(Duration::from_millis(4_999));
    assert_eq!(world.messages(bob), []);
    world.advance(Duration::from_millis(1));
    assert_eq!(world.messages(bob), own(&[(6, "2", 2), (7, "3", 2), (8, "5", 1), (9, "6", 1)]));
}

#[test]
fn many_notices_are_told_in_groups() {
    let mut world = World::new();
    let alice = world.connect("alice", Mode::Exclusive);
    for to in ["a", "b", "c"] {
        for n in 0..40 {
            let send = Send { ttl_ms: Some(1), ..message(to, &n.to_string()) };
            world.hand_over(alice, "alice", send);
        }
    }
    world.run();
    world.heard.clear();
    let notices = |world: &World| world.heard.get(&alice).map_or(0, Vec::len);
    world.advance(Duration::from_millis(1));
    assert_eq!(notices(&world), super::MAX_NOTICES_AT_ONCE);
    world.run();
    assert_eq!(notices(&world), super::MAX_NOTICES_AT_ONCE);
    world.advance(world.mailboxes.next_deadline(world.now));
    world.advance(world.mailboxes.next_deadline(world.now));
    assert_eq!(notices(&world), 120);
}

#[test]
fn what_is_left_of_absent_contacts_is_forgotten_in_time() {
    let mut world = World::new();
    let alice = world.connect("alice/1", Mode::Exclusive);
    world.send(alice, "alice/1", Send { ttl_ms: Some(1), ..message("bob", "x") });
    world.disconnect(alice, Ending::Closed);
    let bob = world.connect("bob", Mode::Exclusive);
    world.disconnect(bob, Ending::Closed);
    world.advance(Duration::from_secs(1));
    let names = |world: &World| {
        let list = world.mailboxes.list_contacts(world.now).into_iter();
        list.map(|contact| contact.contact_id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(&world), ["alice/1", "bob"]);
    world.advance(Duration::from_hours(2));
    assert_eq!(names(&world), ["bob"]);
    world.advance(Duration::from_hours(30 * 24));
    assert_eq!(names(&world), [""; 0]);
    world.crash();
    assert_eq!(names(&world), [""; 0]);
    let alice = world.connect("alice/1", Mode::Exclusive);
    assert_eq!(world.heard[&alice].len(), 1, "the notice is too old");
}

#[test]
fn the_store_forgets_ids_a_day_after_their_message() {
    let mut world = World::new();
    let alice = world.connect("alice", Mode::Exclusive);
    let bob = world.connect("bob", Mode::Exclusive);
    let (done, waiting) = (message("bob", "done"), message("carol", "waiting"));
    world.send(alice, "alice", done.clone());
    world.send(alice, "alice", Send { ttl_ms: Some(30 * 24 * 3_600_000), ..waiting.clone() });
    world.ack(bob, &[1]);
    world.advance(Duration::from_hours(23));
    world.store.sweep(world.now.wall).unwrap();
    assert!(world.store.find_seen(&id("alice"), done.id).unwrap().is_some());
    world.advance(Duration::from_hours(2));
    world.store.sweep(world.now.wall).unwrap();
    assert_eq!(world.store.find_seen(&id("alice"), done.id).unwrap(), None);
    assert!(world.store.find_seen(&id("alice"), waiting.id).unwrap().is_some());
}

#[test]
fn a_relay_that_goes_down_refuses_new_connections() {
    let mut world = World::new();
    let alice = world.connect("alice", Mode::Exclusive);
    world.send(alice, "alice", message("alice", "held"));
    world.mailboxes.drain(world.now);
    let late = world.connect("late", Mode::Exclusive);
    assert_eq!(world.closed[&late], close::GOING_AWAY);
    assert!(!world.mailboxes.is_drained());
    let frames = &world.heard[&alice];
    let code = ErrorCode::ShuttingDown;
    assert!(matches!(frames.last(), Some(ServerFrame::Error(error)) if error.code == code));
    world.advance(Duration::from_secs(5));
    assert!(world.mailboxes.is_drained());
    assert_eq!(world.closed[&alice], close::GOING_AWAY);
}

#[test]
fn a_relay_that_goes_down_does_not_wake_for_notices_it_no_longer_tells() {
    let mut world = World::new();
    let alice = world.connect("alice", Mode::Exclusive);
    world.send(alice, "alice", message("alice", "held"));
    world.send(alice, "alice", Send { ttl_ms: Some(1_000), ..message("bob", "x") });
    world.mailboxes.drain(world.now);
    world.advance(Duration::from_secs(2));
    world.run();
    assert!(world.mailboxes.next_deadline(world.now) > Duration::ZERO);
}
