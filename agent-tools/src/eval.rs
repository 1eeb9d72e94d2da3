//! Measuring how well a hub finds: question sets, a scratch hub that holds one, and what came of it.
//!
//! # Layout
//!
//! - `set`: question sets and pairs, read from files of several formats.
//! - `scratch`: a hub of its own, started as a process.
//! - `load`: puts the passages into it, and waits until it can find them.
//! - `ask`: asks it the questions.
//! - `join`: stores pairs, and sees which it takes for the same.
//! - `metrics`: what the answers are worth.
//! - `report`: all that was measured, for people and for programs.
//! - `gates`: what must be reached.
//! - `calibration`, `logistic`: fits what decides on relevance.
//! - `plot`: the same as a picture.

pub(crate) mod ask;
pub(crate) mod calibration;
pub(crate) mod gates;
pub(crate) mod join;
pub(crate) mod load;
mod logistic;
pub(crate) mod metrics;
pub(crate) mod plot;
pub(crate) mod report;
pub(crate) mod scratch;
pub(crate) mod set;

use std::{io, path::PathBuf};

use crate::hub;

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A file of the set is wrong.
    #[error(transparent)]
    Set(#[from] set::Fault),
    /// The hub's program cannot be started.
    #[error("cannot start {}", .program.display())]
    Start {
        /// The program that was tried.
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The hub ended, or never said where it listens.
    #[error("the scratch hub {what}; it logged:\n{logged}")]
    Ended {
        /// What it did instead of serving.
        what: &'static str,
        /// The end of its log.
        logged: String,
    },
    /// The folder that is to be kept cannot be used.
    #[error("{}: {what}", .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it, and what would be right.
        what: String,
    },
    /// The scratch hub's folder cannot be made or read.
    #[error("cannot use the scratch hub's folder")]
    Io(#[from] io::Error),
    /// The hub failed a call.
    #[error("{doing}")]
    Hub {
        /// What was being done.
        doing: String,
        #[source]
        source: hub::Error,
    },
    /// There is too little to fit a calibration to.
    #[error("cannot fit a calibration: {0}")]
    Calibration(String),
    /// The hub works, and gets nowhere.
    #[error("{0}")]
    Stalled(String),
}

/// Hears how far the measuring is: what is being done, how many are done, of how many.
pub(crate) type Watch<'a> = &'a (dyn Fn(&str, usize, usize) + Sync);
