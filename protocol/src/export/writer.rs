//! Writing an export: the lines, and the sum over them that its end states.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::{Counts, Header, Kind, Line, Manifest};

/// Makes the lines of one export, in this order: header, records, manifest.
#[derive(Clone, Debug)]
pub struct Writer {
    counts: Counts,
    digest: Sha256,
}

impl Writer {
    /// Starts an export by writing its header to `out`.
    pub fn start(header: &Header, out: &mut Vec<u8>) -> Self {
        write_line(&serde_json::to_string(header).expect("a header is plain JSON"), out);
        let counts = Kind::ALL.into_iter().map(|kind| (kind, 0)).collect();
        Self { counts, digest: Sha256::new() }
    }

    /// Writes a record to `out`; a manifest is none and is left out.
    pub fn write(&mut self, line: &Line, out: &mut Vec<u8>) {
        let Some(kind) = line.kind() else { return };
        let start = out.len();
        write_line(&line.to_json(), out);
        self.digest.update(&out[start..]);
        *self.counts.entry(kind).or_default() += 1;
    }

    /// Writes the manifest to `out`, and returns it.
    pub fn finish(self, out: &mut Vec<u8>) -> Manifest {
        let manifest = Manifest { counts: self.counts, sha256: hex(self.digest) };
        write_line(&Line::Manifest(manifest.clone()).to_json(), out);
        manifest
    }
}

fn write_line(json: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(json.as_bytes());
    out.push(b'\n');
}

/// Returns the sum of what was hashed.
pub(super) fn hex(digest: Sha256) -> String {
    digest.finalize().iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
