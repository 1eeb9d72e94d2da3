//! The librarian over a shelf in memory and a scripted model.

mod ask;
mod prompt;
mod shelf;
mod wording;
