//! Tests of the wire: each message against its golden file, and the grammar as a pair.

mod body;
mod golden;
mod grammar;
