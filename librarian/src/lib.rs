//! KnowHub's librarian as a daemon: the core behind a contact of the relay, its shelf the hub.
//!
//! It keeps nothing on disk. A message is acknowledged to the relay when its effect stands
//! elsewhere: a reply when the relay has it, an upload when the hub has it. So the relay's mailbox
//! is the journal, and a crash means that messages are delivered again.
//!
//! # Layout
//!
//! - [`config`]: every setting.
//! - [`daemon`]: starts and stops the whole.
//! - `inbox`: takes deliveries and hands each to whom it concerns; `sort` decides to whom.
//! - `asks`: answers questions.
//! - `uploads`: keeps the merge windows; `submission` brings one of them to the hub.
//! - `reply`: sends replies so that none is sent twice.
//! - `shelf`: the hub as the core sees it; `health`: whether it answers.

pub mod config;
pub mod daemon;

mod asks;
mod health;
mod inbox;
mod reply;
mod shelf;
mod sort;
mod submission;
mod uploads;
