//! Who waits for which reply, and which replies come too late.

use std::collections::{HashMap, VecDeque};

use protocol::{
    ChatId, ContactId, MessageId,
    im::{Message, NoticeCode},
};
use tokio::sync::oneshot;

/// How many finished requests are remembered, to know a late reply.
///
/// Past it the oldest is forgotten, and a reply to it reaches the inbox like any other message.
const REMEMBERED: usize = 1024;

/// What a request ends with, as far as the relay knows.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The reply.
    Reply(Box<Message>),
    /// The relay gave the request up.
    GivenUp(NoticeCode),
}

/// What a message is to the requests.
#[derive(Debug, PartialEq)]
pub(super) enum Fate {
    /// It settled one; the message is processed.
    Settled,
    /// It answers one that is over; nobody waits any more.
    Late,
}

/// Who waits for which reply.
#[derive(Default)]
pub(super) struct Replies {
    waiting: HashMap<MessageId, Waiting>,
    finished: VecDeque<Finished>,
}

/// Whom a request went to: what a reply that names no request is matched by.
#[derive(Clone, Debug, PartialEq)]
struct Route {
    to: ContactId,
    chat_id: Option<ChatId>,
}

struct Waiting {
    route: Route,
    done: oneshot::Sender<Outcome>,
}

struct Finished {
    id: MessageId,
    route: Route,
    /// Nobody answered it in time, so an answer may still come.
    is_open: bool,
}

impl Replies {
    /// Registers a request; its outcome arrives at the returned receiver.
    pub(super) fn expect(
        &mut self,
        id: MessageId,
        to: ContactId,
        chat_id: Option<ChatId>,
    ) -> oneshot::Receiver<Outcome> {
        let (done, outcome) = oneshot::channel();
        self.finished.retain(|finished| finished.id != id);
        self.waiting.insert(id, Waiting { route: Route { to, chat_id }, done });
        outcome
    }

    /// Forgets a request nobody waits for any more.
    pub(super) fn give_up(&mut self, id: MessageId) {
        if let Some(waiting) = self.waiting.remove(&id) {
            self.remember(id, waiting.route, true);
        }
    }

    /// Gives a message to the request it answers, or back when it answers none.
    ///
    /// Only the contact that was asked can answer.
    /// A reply that names no request is taken when exactly one can be meant: better none than another's answer.
    pub(super) fn offer(&mut self, message: Message) -> Result<Fate, Box<Message>> {
        let Some(id) = message.in_reply_to else { return self.offer_unnamed(message) };
        if self.waiting.get(&id).is_some_and(|waiting| waiting.route.to == message.from) {
            return Ok(self.settle(id, message));
        }
        let is_late = |finished: &Finished| finished.id == id && finished.route.to == message.from;
        if self.finished.iter().any(is_late) { Ok(Fate::Late) } else { Err(Box::new(message)) }
    }

    /// The relay gave a message up; whoever waits for its reply is told.
    ///
    /// Returns whether it was a request of ours.
    pub(super) fn give_notice(&mut self, id: MessageId, code: NoticeCode) -> bool {
        match self.waiting.remove(&id) {
            Some(waiting) => {
                let _ = waiting.done.send(Outcome::GivenUp(code));
                self.remember(id, waiting.route, false);
                true
            }
            None => self.finished.iter().any(|finished| finished.id == id),
        }
    }

    /// Returns how many requests wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    fn offer_unnamed(&mut self, message: Message) -> Result<Fate, Box<Message>> {
        let answers = |route: &Route| {
            route.to == message.from
                && (message.chat_id.is_none() || route.chat_id == message.chat_id)
        };
        let mut waiting = self.waiting.iter().filter(|(_, waiting)| answers(&waiting.route));
        let first = waiting.next().map(|(&id, _)| id);
        let is_only = waiting.next().is_none();
        let is_open = self.finished.iter().any(|over| over.is_open && answers(&over.route));
        match first {
            Some(id) if is_only && !is_open => Ok(self.settle(id, message)),
            None if is_open => Ok(Fate::Late),
            _ => Err(Box::new(message)),
        }
    }

    fn settle(&mut self, id: MessageId, message: Message) -> Fate {
        let Some(waiting) = self.waiting.remove(&id) else { return Fate::Late };
        self.remember(id, waiting.route, false);
        match waiting.done.send(Outcome::Reply(Box::new(message))) {
            Ok(()) => Fate::Settled,
            Err(_) => Fate::Late,
        }
    }

    fn remember(&mut self, id: MessageId, route: Route, is_open: bool) {
        if self.finished.len() == REMEMBERED {
            self.finished.pop_front();
        }
        self.finished.push_back(Finished { id, route, is_open });
    }
}
