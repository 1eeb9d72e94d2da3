//! Text as search sees it: tokens for ranking, folded text for the substring promise, questions without scaffolding.
//!
//! Pure functions; the index and the ranking call them, they call nothing.

mod folded;
mod question;
mod tokens;

pub(crate) use folded::{Folded, Needle, Trace, gram_at};
pub(crate) use question::{content_tokens, is_scaffolding};
pub(crate) use tokens::{PlainToken, characters, count_tokens, is_cjk, is_plain, tokens};
