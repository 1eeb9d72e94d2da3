//! KnowHub's librarian without its wires: how a question becomes a cited answer, and how uploads
//! become one submission.
//!
//! Everything but [`ask`] and [`shelf`] is a function of values; those two wait for the shelf and
//! for the model, and for nothing else.
//!
//! # Layout
//!
//! - [`ask`]: the way from a question to an answer, within its deadline.
//! - [`answer`]: what an answer consists of.
//! - [`shelf`]: the seam behind which knowledge is kept.
//! - [`prompt`]: what the model is told.
//! - [`citation`]: which citations may stand in an answer.
//! - [`upload`]: the merge window, and the receipt.
//! - [`wording`]: every sentence the librarian says by itself, in two languages.
//! - [`language`]: which of the two languages a text is in.

pub mod answer;
pub mod ask;
pub mod citation;
pub mod language;
pub mod prompt;
pub mod shelf;
pub mod upload;
pub mod wording;

pub use answer::{Answer, Question};
pub use ask::Librarian;
pub use language::Language;
pub use shelf::{Shelf, ShelfError};
