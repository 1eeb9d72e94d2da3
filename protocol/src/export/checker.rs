//! Reading an export in whatever pieces it comes, to tell a whole one from a cut or changed one.

use sha2::{Digest, Sha256};

use super::{
    FORMAT, Header, Line, MAX_LINE_BYTES, Manifest, check::MAX_NUMBER, line::is_manifest, total,
    writer::start_sum,
};
use crate::digest::hex;

/// Why something is no whole export.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExportFault {
    /// There is nothing in it.
    #[error("the export is empty")]
    Empty,
    /// It was compressed after it was taken.
    #[error("the export is compressed; unpack it first, such as with gunzip")]
    Compressed,
    /// It is a database file.
    #[error(
        "this is an SQLite file, not an export; `knowhub import --from FILE` reads one of the original system"
    )]
    Database,
    /// It is something else.
    #[error(
        "line 1: not the header of a KnowHub export, such as {{\"knowhub_export\":1,…}}: {reason}"
    )]
    NoHeader {
        /// What is wrong with the line.
        reason: String,
    },
    /// It was made by a later version.
    #[error(
        "the export has format {found}, and this version reads formats up to {FORMAT}; update KnowHub"
    )]
    Newer {
        /// The format it has.
        found: u32,
    },
    /// A line has no end.
    #[error("line {line} is longer than {MAX_LINE_BYTES} bytes")]
    LongLine {
        /// Its number, from 1.
        line: u64,
    },
    /// The end is missing.
    #[error(
        "the export was cut off after line {lines}: its last line is no manifest; take it again"
    )]
    Cut {
        /// How many lines there are.
        lines: u64,
    },
    /// The manifest cannot be read.
    #[error("line {line}: the manifest is not readable: {reason}")]
    BadManifest {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// Something stands behind the end.
    #[error("line {line} stands behind the manifest; an export ends with it")]
    Trailing {
        /// Its number, from 1.
        line: u64,
    },
    /// Lines are missing, or there are too many.
    #[error(
        "the manifest speaks of {stated} records, and there are {found}; the export was changed"
    )]
    Count {
        /// What the manifest says.
        stated: u64,
        /// What there is.
        found: u64,
    },
    /// A line says something else than when it was written.
    #[error("the records do not have the sum that the manifest states; the export was changed")]
    Sum,
}

/// Reads an export piece by piece and keeps nothing of it but a sum.
///
/// A byte order mark, `\r\n` and blank lines are read over: they come from editors, and change no record.
#[derive(Clone, Debug, Default)]
pub struct Checker {
    /// The piece of a line whose end has not come yet.
    partial: Vec<u8>,
    /// How many lines have ended.
    lines: u64,
    records: u64,
    digest: Sha256,
    header: Option<Header>,
    manifest: Option<Manifest>,
}

impl Checker {
    /// Reads the next piece.
    ///
    /// # Errors
    ///
    /// As soon as it is sure that this is no whole export.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), ExportFault> {
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.append(&rest[..end])?;
            let line = std::mem::take(&mut self.partial);
            self.read_line(&line)?;
            // Its room serves the next line.
            self.partial = line;
            self.partial.clear();
            rest = &rest[end + 1..];
        }
        self.append(rest)
    }

    /// Ends the reading, and returns what the export says of itself.
    ///
    /// # Errors
    ///
    /// When the export is cut off, or is not what its manifest says.
    pub fn finish(mut self) -> Result<(Header, Manifest), ExportFault> {
        // The last line may lack its end.
        if !self.partial.is_empty() {
            let line = std::mem::take(&mut self.partial);
            self.read_line(&line)?;
        }
        let header = self.header.ok_or(ExportFault::Empty)?;
        let manifest = self.manifest.ok_or(ExportFault::Cut { lines: self.lines })?;
        let stated = total(&manifest.counts);
        if stated != self.records {
            return Err(ExportFault::Count { stated, found: self.records });
        }
        if hex(self.digest) != manifest.sha256 {
            return Err(ExportFault::Sum);
        }
        Ok((header, manifest))
    }

    /// Returns how many records have been read.
    pub fn records(&self) -> u64 {
        self.records
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), ExportFault> {
        if self.partial.len() + bytes.len() > MAX_LINE_BYTES {
            return Err(self
                .as_foreign()
                .unwrap_or(ExportFault::LongLine { line: self.lines + 1 }));
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }

    fn read_line(&mut self, line: &[u8]) -> Result<(), ExportFault> {
        self.lines += 1;
        let line = record_bytes(line, self.lines == 1);
        if line.is_empty() {
            return Ok(());
        }
        if self.header.is_none() {
            let header = read_header(line)?;
            self.digest = start_sum(&header);
            self.header = Some(header);
            return Ok(());
        }
        if self.manifest.is_some() {
            return Err(ExportFault::Trailing { line: self.lines });
        }
        if is_manifest(line) {
            self.manifest = Some(self.read_manifest(line)?);
            return Ok(());
        }
        self.records += 1;
        self.digest.update(line);
        self.digest.update(b"\n");
        Ok(())
    }

    fn read_manifest(&self, line: &[u8]) -> Result<Manifest, ExportFault> {
        match Line::parse(line) {
            Ok(Line::Manifest(manifest)) => Ok(manifest),
            Ok(_) => Err(ExportFault::Cut { lines: self.lines }),
            Err(fault) => {
                Err(ExportFault::BadManifest { line: self.lines, reason: fault.to_string() })
            }
        }
    }

    fn as_foreign(&self) -> Option<ExportFault> {
        self.header.is_none().then(|| foreign(&self.partial)).flatten()
    }
}

/// Returns a line without what editors add: the mark at the start of a file, and `\r` before a line's end.
pub(super) fn record_bytes(line: &[u8], is_first: bool) -> &[u8] {
    let line = if is_first { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
    line.trim_ascii()
}

fn read_header(line: &[u8]) -> Result<Header, ExportFault> {
    if let Some(fault) = foreign(line) {
        return Err(fault);
    }
    let header: Header = serde_json::from_slice(line).map_err(|err| ExportFault::NoHeader {
        reason: crate::complaint::shortened(&err.to_string()),
    })?;
    if header.knowhub_export > FORMAT {
        return Err(ExportFault::Newer { found: header.knowhub_export });
    }
    if !(0..=MAX_NUMBER).contains(&header.last_experience.0) {
        let reason = format!("last_experience must be 0 to {MAX_NUMBER}");
        return Err(ExportFault::NoHeader { reason });
    }
    Ok(header)
}

/// Names the usual mistakes by the first bytes of a file.
fn foreign(start: &[u8]) -> Option<ExportFault> {
    const COMPRESSED: [&[u8]; 4] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"BZh"];
    if COMPRESSED.iter().any(|magic| start.starts_with(magic)) {
        return Some(ExportFault::Compressed);
    }
    start.starts_with(b"SQLite format 3\0").then_some(ExportFault::Database)
}
