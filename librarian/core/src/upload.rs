//! Uploads: what a sender hands over, what becomes of it, and the receipt for it.

use protocol::librarian::{DuplicateItem, ItemKind, Items, Receipt, ReceiptItem, RejectedItem};
use protocol::{ChatId, ContactId, MessageId};

mod ledger;
mod windows;

pub use ledger::{Ledger, Settled};
pub use windows::{Limits, Window, Windows};

/// Why tools of an upload are refused.
pub const NO_TOOLS: &str = "the hub keeps no tools of their own; put what is worth keeping into `knowledge` or `resources`";

/// Why a resource with a `secure_body` is refused: the relay keeps messages as they are.
pub const NO_SECRETS: &str = "a secret must not lie in a message; send the resource to the hub itself, with `knowhub resource put` or POST /api/resource";

/// Whose uploads belong together: those of one sender in one chat.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Conversation {
    /// Who uploads.
    pub sender: ContactId,
    /// The chat, where the sender named one.
    pub chat: Option<ChatId>,
}

/// One uploaded message.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Whose it is.
    pub conversation: Conversation,
    /// The message; together with the sender it names the part.
    pub id: MessageId,
    /// Its items.
    pub items: Items,
    /// How much text it is, in bytes.
    pub size_bytes: usize,
    /// Set when the message is the last of its upload.
    pub finalize: Option<Finalize>,
}

/// The end of an upload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finalize {
    /// The messages that the sender counts as parts of it; may be empty.
    pub parts: Vec<MessageId>,
}

/// What became of each item of a part, in the order of its lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartOutcome {
    /// For `knowledge`.
    pub knowledge: Vec<ItemOutcome>,
    /// For `resources`.
    pub resources: Vec<ItemOutcome>,
    /// For `tools`.
    pub tools: Vec<ItemOutcome>,
}

impl PartOutcome {
    /// Adds what became of the next item of a list.
    pub fn push(&mut self, kind: ItemKind, item: ItemOutcome) {
        match kind {
            ItemKind::Knowledge => self.knowledge.push(item),
            ItemKind::Resource => self.resources.push(item),
            ItemKind::Tool => self.tools.push(item),
        }
    }
}

/// What became of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemOutcome {
    /// It is stored.
    Accepted {
        /// The id that the hub gave it.
        id: String,
    },
    /// It equals a stored record.
    Duplicate {
        /// The record it equals.
        of: String,
    },
    /// It is refused for itself.
    Rejected {
        /// The field at fault; empty for the whole item.
        field: String,
        /// What would be right.
        reason: String,
    },
}

impl ItemOutcome {
    /// Returns the outcome of an item that is refused.
    pub fn refused(field: &str, reason: &str) -> Self {
        Self::Rejected { field: field.to_owned(), reason: reason.to_owned() }
    }
}

/// Returns the receipt for settled parts; items are counted through them in the order given.
///
/// A part in `listed` that is not among the settled ones is `missing`.
pub fn receipt<'a>(
    settled: impl IntoIterator<Item = &'a Settled>,
    listed: &[MessageId],
) -> Receipt {
    let mut receipt = Receipt::default();
    let mut missing: Vec<MessageId> = Vec::new();
    missing.extend(listed);
    let mut next_index = [0; 3];
    for Settled { id, outcome, .. } in settled {
        missing.retain(|part| part != id);
        let PartOutcome { knowledge, resources, tools } = outcome;
        let lists = [
            (ItemKind::Knowledge, knowledge),
            (ItemKind::Resource, resources),
            (ItemKind::Tool, tools),
        ];
        for ((kind, items), next_index) in lists.into_iter().zip(&mut next_index) {
            for item in items {
                note(&mut receipt, kind, *next_index, item.clone());
                *next_index += 1;
            }
        }
    }
    receipt.missing = missing;
    receipt
}

/// Notes in a receipt what became of the item at `index` of its list.
pub fn note(receipt: &mut Receipt, kind: ItemKind, index: usize, item: ItemOutcome) {
    match item {
        ItemOutcome::Accepted { id } => receipt.accepted.push(ReceiptItem { kind, index, id }),
        ItemOutcome::Duplicate { of } => {
            receipt.duplicates.push(DuplicateItem { kind, index, of });
        }
        ItemOutcome::Rejected { field, reason } => {
            receipt.rejected.push(RejectedItem { kind, index, field, reason });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_counts_items_through_all_parts() {
        let conversation = Conversation { sender: "agent".parse().expect("an id"), chat: None };
        let accepted = |id: &str| ItemOutcome::Accepted { id: id.to_owned() };
        let reason = "required".to_owned();
        let rejected = ItemOutcome::Rejected { field: "task".to_owned(), reason: reason.clone() };
        let first = Settled {
            conversation: conversation.clone(),
            id: MessageId::random(),
            outcome: PartOutcome {
                knowledge: vec![accepted("a"), rejected],
                tools: vec![ItemOutcome::Duplicate { of: "t".to_owned() }],
                ..PartOutcome::default()
            },
        };
        let second = Settled {
            conversation,
            id: MessageId::random(),
            outcome: PartOutcome { knowledge: vec![accepted("b")], ..PartOutcome::default() },
        };
        let lost = MessageId::random();

        let receipt = receipt([&first, &second], &[first.id, lost]);

        let kind = ItemKind::Knowledge;
        let expected = Receipt {
            accepted: vec![
                ReceiptItem { kind, index: 0, id: "a".to_owned() },
                ReceiptItem { kind, index: 2, id: "b".to_owned() },
            ],
            duplicates: vec![DuplicateItem { kind: ItemKind::Tool, index: 0, of: "t".to_owned() }],
            rejected: vec![RejectedItem { kind, index: 1, field: "task".to_owned(), reason }],
            missing: vec![lost],
        };
        assert_eq!(receipt, expected);
    }
}
