//! Writing an export: the lines, and the sum over them that its end states.

use sha2::{Digest, Sha256};

use super::{Counts, Header, Kind, LeftOut, Line, Manifest};
use crate::digest::hex;

/// Makes the lines of one export, in this order: header, records, manifest.
#[derive(Clone, Debug)]
pub struct Writer {
    counts: Counts,
    digest: Sha256,
    left_out: LeftOut,
}

impl Writer {
    /// Starts an export by writing its header to `out`.
    pub fn start(header: &Header, out: &mut Vec<u8>) -> Self {
        write_line(&serde_json::to_string(header).expect("a header is plain JSON"), out);
        let counts = Kind::ALL.into_iter().map(|kind| (kind, 0)).collect();
        Self { counts, digest: start_sum(header), left_out: LeftOut::default() }
    }

    /// Writes a record to `out`; a manifest is none and is left out.
    pub fn write(&mut self, line: &Line, out: &mut Vec<u8>) {
        let Some(kind) = line.kind() else { return };
        let start = out.len();
        write_line(&line.to_json(), out);
        self.digest.update(&out[start..]);
        *self.counts.entry(kind).or_default() += 1;
    }

    /// Notes in the manifest that a record is missing, because it cannot be read.
    pub fn leave_out(&mut self, kind: Kind, id: &str) {
        self.left_out.add(kind, id);
    }

    /// Writes the manifest to `out`, and returns it.
    pub fn finish(self, out: &mut Vec<u8>) -> Manifest {
        let Self { counts, digest, left_out } = self;
        let manifest = Manifest { counts, sha256: hex(digest), left_out };
        write_line(&Line::Manifest(manifest.clone()).to_json(), out);
        manifest
    }
}

fn write_line(json: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(json.as_bytes());
    out.push(b'\n');
}

/// Starts the sum of an export with what its header says of the records; the rest of it differs between equal stores.
pub(super) fn start_sum(header: &Header) -> Sha256 {
    Sha256::new().chain_update(format!("{}\n", header.last_experience))
}
