//! SHA-256 sums as text.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// Returns the sum of what was hashed, in lower-case hex.
pub fn hex(digest: Sha256) -> String {
    digest.finalize().iter().fold(String::new(), |mut hex, byte| {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
