//! Who waits for which reply, and which replies come too late.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use protocol::{
    ChatId, ContactId, MessageId,
    im::{Message, NoticeCode},
};
use tokio::{sync::oneshot, time::Instant};

/// How many finished requests are remembered, to know a late reply.
///
/// Past it the oldest is forgotten, and a reply to it reaches the inbox like any other message.
const REMEMBERED: usize = 1024;

/// How long a request that timed out may still be answered by a reply that does not name it.
///
/// Until then such a reply is not taken for a later request of the same chat; that one loses it.
const LATE_WINDOW: Duration = Duration::from_mins(5);

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
    /// Nobody answered it in time, and an answer may still come until then; `None` once one came.
    open_until: Option<Instant>,
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
    pub(super) fn give_up(&mut self, id: MessageId, now: Instant) {
        if let Some(waiting) = self.waiting.remove(&id) {
            self.remember(id, waiting.route, Some(now + LATE_WINDOW));
        }
    }

    /// Gives a message to the request it answers, or back when it answers none.
    ///
    /// Only the contact that was asked can answer.
    /// A reply that names no request is taken when exactly one can be meant: better none than another's answer.
    pub(super) fn offer(&mut self, message: Message, now: Instant) -> Result<Fate, Box<Message>> {
        let Some(id) = message.in_reply_to else { return self.offer_unnamed(message, now) };
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
                self.remember(id, waiting.route, None);
                true
            }
            None => self.finished.iter().any(|finished| finished.id == id),
        }
    }

    /// Returns how many requests wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    fn offer_unnamed(&mut self, message: Message, now: Instant) -> Result<Fate, Box<Message>> {
        let answers = |route: &Route| {
            route.to == message.from
                && (message.chat_id.is_none() || route.chat_id == message.chat_id)
        };
        let mut waiting = self.waiting.iter().filter(|(_, waiting)| answers(&waiting.route));
        let first = waiting.next().map(|(&id, _)| id);
        let is_only = waiting.next().is_none();
        let is_open = |over: &&mut Finished| {
            over.open_until.is_some_and(|end| now < end) && answers(&over.route)
        };
        match (first, self.finished.iter_mut().find(is_open)) {
            (Some(id), None) if is_only => Ok(self.settle(id, message)),
            (None, Some(over)) => {
                over.open_until = None;
                Ok(Fate::Late)
            }
            _ => Err(Box::new(message)),
        }
    }

    fn settle(&mut self, id: MessageId, message: Message) -> Fate {
        let Some(waiting) = self.waiting.remove(&id) else { return Fate::Late };
        self.remember(id, waiting.route, None);
        match waiting.done.send(Outcome::Reply(Box::new(message))) {
            Ok(()) => Fate::Settled,
            Err(_) => Fate::Late,
        }
    }

    fn remember(&mut self, id: MessageId, route: Route, open_until: Option<Instant>) {
        if self.finished.len() == REMEMBERED {
            self.finished.pop_front();
        }
        self.finished.push_back(Finished { id, route, open_until });
    }
}

#[cfg(test)]
mod tests {
    use protocol::Timestamp;

    use super::*;

    const CHAT: &str = "chat";

    fn expect(replies: &mut Replies, id: MessageId) -> oneshot::Receiver<Outcome> {
        replies.expect(id, "librarian".parse().unwrap(), Some(CHAT.parse().unwrap()))
    }

    fn unnamed(chat: Option<&str>) -> Message {
        Message {
            seq: 1,
            id: MessageId::random(),
            from: "librarian".parse().unwrap(),
            to: "agent".parse().unwrap(),
            content: String::new(),
            chat_id: chat.map(|chat| chat.parse().unwrap()),
            in_reply_to: None,
            meta: None,
            sent_at: Timestamp::from_millis(0),
            expires_at: Timestamp::from_millis(0),
            attempt: 1,
        }
    }

    #[test]
    fn an_unnamed_reply_is_taken_if_one_request_can_be_meant() {
        let (mut replies, now) = (Replies::default(), Instant::now());
        let [first, second] = [MessageId::random(), MessageId::random()];
        let (_first, _second) = (expect(&mut replies, first), expect(&mut replies, second));
        assert!(replies.offer(unnamed(Some(CHAT)), now).is_err(), "it may be meant for either");
        assert!(replies.offer(unnamed(Some("other")), now).is_err(), "it is meant for neither");
        replies.give_notice(first, NoticeCode::Expired);
        assert_eq!(replies.offer(unnamed(None), now), Ok(Fate::Settled));
        assert_eq!(replies.len(), 0);
    }

    #[test]
    fn a_late_reply_is_waited_for_once_and_not_forever() {
        let (mut replies, now) = (Replies::default(), Instant::now());
        for later in [Duration::ZERO, LATE_WINDOW] {
            let [first, second] = [MessageId::random(), MessageId::random()];
            drop(expect(&mut replies, first));
            replies.give_up(first, now);
            let _second = expect(&mut replies, second);
            let fate = replies.offer(unnamed(Some(CHAT)), now + later);
            assert_eq!(fate.is_ok(), later == LATE_WINDOW);
            replies.give_notice(second, NoticeCode::Expired);
            let fate = replies.offer(unnamed(Some(CHAT)), now);
            assert_eq!(fate, Ok(Fate::Late));
        }
        assert!(replies.offer(unnamed(Some(CHAT)), now).is_err(), "none is open any more");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let (mut replies, now) = (Replies::default(), Instant::now());
        for _ in 0..2 * REMEMBERED {
            let id = MessageId::random();
            drop(expect(&mut replies, id));
            replies.give_up(id, now);
        }
        assert_eq!((replies.len(), replies.finished.len()), (0, REMEMBERED));
    }
}
