//! Remembers what became of parts that were submitted before their upload was finalized.

use std::collections::VecDeque;

use protocol::MessageId;

use super::{Conversation, PartOutcome};

/// A part that the hub has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Whose it is.
    pub conversation: Conversation,
    /// The message it came in.
    pub id: MessageId,
    /// What became of its items.
    pub outcome: PartOutcome,
}

/// The settled parts for which no receipt was written yet, oldest first.
///
/// It is a memory for receipts alone: the hub has the items, whether or not a part stands here.
#[derive(Debug)]
pub struct Ledger {
    parts: VecDeque<Settled>,
    capacity: usize,
}

impl Ledger {
    /// A ledger of at most `capacity` parts.
    ///
    /// Past it the oldest part is forgotten: the receipt of its upload does not speak of it, and
    /// lists it as missing if its sender listed it.
    pub fn new(capacity: usize) -> Self {
        Self { parts: VecDeque::new(), capacity }
    }

    /// Remembers a part; one that was submitted again stands once.
    pub fn record(&mut self, settled: Settled) {
        let is_same = |part: &Settled| {
            part.id == settled.id && part.conversation.sender == settled.conversation.sender
        };
        self.parts.retain(|part| !is_same(part));
        self.parts.push_back(settled);
        if self.parts.len() > self.capacity {
            self.parts.pop_front();
        }
    }

    /// Takes out the parts of one conversation, for its receipt.
    pub fn take(&mut self, conversation: &Conversation) -> Vec<Settled> {
        let (taken, kept) =
            self.parts.drain(..).partition(|part| part.conversation == *conversation);
        self.parts = kept;
        Vec::from(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(sender: &str) -> Settled {
        Settled {
            conversation: Conversation { sender: sender.parse().expect("an id"), chat: None },
            id: MessageId::random(),
            outcome: PartOutcome::default(),
        }
    }

    #[test]
    fn each_conversation_takes_its_own_parts_once() {
        let mut ledger = Ledger::new(10);
        let (a, b, a_again) = (settled("a"), settled("b"), settled("a"));
        for part in [&a, &b, &a_again, &a_again] {
            ledger.record(part.clone());
        }
        assert_eq!(ledger.take(&a.conversation), [a.clone(), a_again]);
        assert_eq!(ledger.take(&a.conversation), []);
        assert_eq!(ledger.take(&b.conversation), [b]);
    }

    #[test]
    fn the_oldest_part_is_forgotten_first() {
        let mut ledger = Ledger::new(2);
        let parts = [settled("a"), settled("a"), settled("a")];
        for part in &parts {
            ledger.record(part.clone());
        }
        assert_eq!(ledger.take(&parts[0].conversation), parts[1..]);
    }
}
