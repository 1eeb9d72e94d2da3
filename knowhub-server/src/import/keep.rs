//! Keeping an import in a file until it is known to be whole, and reading it record by record.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Seek, Write},
    path::Path,
};

use axum::body::Bytes;
use protocol::{
    export::{Checker, Finding, Header, ImportReport, Line, Subject, is_manifest},
    hub::FieldFault,
};
use tokio::sync::mpsc;

use super::{
    Error,
    admission::{likely_secret, redact_reason, settle},
    scratch::Scratch,
};
use crate::secrets;

/// How many records are stored in one transaction; between two of them other writers have their turn.
const RECORDS_AT_ONCE: usize = 256;

/// About how many bytes of lines are stored in one transaction, all of them in memory until then.
const BYTES_AT_ONCE: usize = 4 << 20;

/// An export that is whole, to be read record by record.
pub(crate) struct Checked {
    /// Its first line.
    pub(super) header: Header,
    /// What is to be told of it before any record is stored.
    pub(super) report: ImportReport,
    lines: BufReader<File>,
    /// How many lines have been read.
    read: u64,
    /// Nobody looks for secrets.
    allows_secrets: bool,
    /// Vanishes when the last record has been read.
    _scratch: Scratch,
}

/// Some records as they were read, and what was found of others.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) records: Vec<Line>,
    pub(super) rejected: Vec<Finding>,
    pub(super) adjusted: Vec<Finding>,
    /// Whose history stays out with the rejected.
    pub(super) left_out: Vec<Subject>,
    /// Nothing comes after them.
    pub(super) is_last: bool,
}

/// Keeps the pieces of an export beside the store at `db` until the last has come, and checks them meanwhile.
///
/// Blocks its thread.
pub(super) fn keep(
    db: &Path,
    mut pieces: mpsc::Receiver<Bytes>,
    allows_secrets: bool,
) -> Result<Checked, Error> {
    let mut scratch = Scratch::create(db)?;
    let mut checker = Checker::default();
    while let Some(piece) = pieces.blocking_recv() {
        checker.push(&piece)?;
        scratch.file.write_all(&piece)?;
    }
    let (header, manifest) = checker.finish()?;
    let report = ImportReport { left_out: manifest.left_out, ..ImportReport::default() };
    Ok(Checked::open(header, report, scratch, allows_secrets)?)
}

impl Checked {
    /// Reads from the start of a file that holds a whole export.
    pub(super) fn open(
        header: Header,
        report: ImportReport,
        mut scratch: Scratch,
        allows_secrets: bool,
    ) -> io::Result<Self> {
        scratch.file.rewind()?;
        let mut lines = BufReader::new(scratch.file.try_clone()?);
        let mut read = 0;
        let mut line = Vec::new();
        // The header has been read; blank lines before it, and a byte order mark alone, are none of the records.
        while matches!(line.trim_ascii(), b"" | b"\xef\xbb\xbf") {
            line.clear();
            lines.read_until(b'\n', &mut line)?;
            read += 1;
        }
        Ok(Self { header, report, lines, read, allows_secrets, _scratch: scratch })
    }

    /// Reads the next records; blocks its thread.
    pub(super) fn next_records(&mut self) -> io::Result<Batch> {
        let mut batch = Batch::default();
        let mut line = Vec::new();
        let (mut count, mut bytes) = (0, 0);
        while count < RECORDS_AT_ONCE && bytes < BYTES_AT_ONCE && !batch.is_last {
            line.clear();
            batch.is_last = self.lines.read_until(b'\n', &mut line)? == 0 || is_manifest(&line);
            self.read += 1;
            if !batch.is_last && !line.trim_ascii().is_empty() {
                count += 1;
                bytes += line.len();
                self.take(&line, &mut batch);
            }
        }
        Ok(batch)
    }

    /// Reads one record into the batch, or says why it stays out.
    fn take(&self, line: &[u8], batch: &mut Batch) {
        let finding = |FieldFault { field, reason }: FieldFault| Finding {
            place: format!("line {}", self.read),
            field,
            reason,
        };
        let mut record = match Line::parse(line) {
            Ok(record) => record,
            Err(fault) => {
                batch.left_out.extend(Subject::of_wrong_line(line));
                return batch.rejected.push(finding(secrets::shown(&fault)));
            }
        };
        let Some(kind) = record.kind().map(protocol::export::Kind::as_str) else {
            let fault = FieldFault::new("", "a manifest stands at the end alone");
            return batch.rejected.push(finding(fault));
        };
        if !self.allows_secrets {
            batch.adjusted.extend(redact_reason(&mut record).map(|it| finding(it.within(kind))));
            if let Some(fault) = likely_secret(&record) {
                batch.left_out.extend(record.subject());
                return batch.rejected.push(finding(fault.within(kind)));
            }
        }
        batch.adjusted.extend(settle(&mut record).map(|fault| finding(fault.within(kind))));
        batch.records.push(record);
    }
}
