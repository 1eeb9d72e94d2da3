//! Imports: any line is a record, or refused with a short complaint, in whatever pieces it comes.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[expect(dead_code, reason = "the other targets use the rest")]
#[path = "../../protocol/tests/it/properties.rs"]
mod properties;

fuzz_target!(|bytes: &[u8]| {
    bytes.split(|byte| *byte == b'\n').for_each(properties::import_line);
    let piece_bytes = bytes.first().copied().unwrap_or_default();
    properties::import_in_pieces(bytes, piece_bytes.into());
});
