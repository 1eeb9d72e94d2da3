//! The librarian's grammar: plain text in a message's `content`, and the `meta` of its replies.

mod reply;
mod request;
mod upload;

pub use reply::{AnswerMode, ReplyCode, ReplyError, ReplyMeta};
pub use request::{GrammarFault, MAX_QUESTION_CHARS, Request};
pub use upload::{
    DuplicateItem, ItemKind, Items, MAX_UPLOAD_ITEMS, Receipt, ReceiptItem, RejectedItem,
};

/// The librarian's contact id, unless a setting says otherwise.
pub const DEFAULT_CONTACT_ID: &str = "knowledge_manager";
