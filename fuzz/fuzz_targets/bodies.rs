//! Bodies: any JSON is taken, or refused with a short complaint.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[expect(dead_code, reason = "the other targets use the rest")]
#[path = "../../protocol/tests/it/properties.rs"]
mod properties;

fuzz_target!(|json: &[u8]| {
    if let Ok(value) = serde_json::from_slice(json) {
        properties::body(&value);
    }
});
