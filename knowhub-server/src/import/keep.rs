//! Keeping an import in a file until it is known to be whole.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Seek, Write},
    path::Path,
};

use axum::body::Bytes;
use protocol::export::{Checker, Finding, Header, ImportReport, Line};
use tokio::sync::mpsc;

use super::{Batch, Error, scratch::Scratch};

/// An export that is whole, to be read record by record.
pub(crate) struct Checked {
    /// Its first line.
    pub(crate) header: Header,
    /// What is to be told of it before any record is stored.
    pub(super) report: ImportReport,
    lines: BufReader<File>,
    /// How many lines have been read.
    read: u64,
    /// Vanishes when the last record has been read.
    _scratch: Scratch,
}

/// Keeps the pieces of an export beside the store at `db` until the last has come, and checks them meanwhile.
///
/// Blocks its thread.
pub(crate) fn keep(db: &Path, mut pieces: mpsc::Receiver<Bytes>) -> Result<Checked, Error> {
    let mut scratch = Scratch::create(db)?;
    let mut checker = Checker::default();
    while let Some(piece) = pieces.blocking_recv() {
        checker.push(&piece)?;
        scratch.file.write_all(&piece)?;
    }
    let (header, _) = checker.finish()?;
    Ok(Checked::open(header, ImportReport::default(), scratch)?)
}

impl Checked {
    /// Reads from the start of a file that holds a whole export.
    pub(super) fn open(
        header: Header,
        report: ImportReport,
        mut scratch: Scratch,
    ) -> io::Result<Self> {
        scratch.file.rewind()?;
        let mut lines = BufReader::new(scratch.file.try_clone()?);
        let mut read = 0;
        let mut line = Vec::new();
        // The header has been read; blank lines before it are none of the records.
        while line.trim_ascii().is_empty() {
            line.clear();
            lines.read_until(b'\n', &mut line)?;
            read += 1;
        }
        Ok(Self { header, report, lines, read, _scratch: scratch })
    }

    /// Reads up to `limit` records; blocks its thread.
    pub(super) fn next_records(&mut self, limit: usize) -> io::Result<Batch> {
        let mut batch = Batch::default();
        let mut line = Vec::new();
        while batch.records.len() + batch.rejected.len() < limit && !batch.is_last {
            line.clear();
            batch.is_last = self.lines.read_until(b'\n', &mut line)? == 0;
            self.read += 1;
            if line.trim_ascii().is_empty() {
                continue;
            }
            match Line::parse(&line) {
                Ok(Line::Manifest(_)) => batch.is_last = true,
                Ok(record) => batch.records.push(record),
                Err(fault) => batch.rejected.push(Finding {
                    place: format!("line {}", self.read),
                    field: fault.field,
                    reason: fault.reason,
                }),
            }
        }
        Ok(batch)
    }
}
