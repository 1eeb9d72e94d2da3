//! Path ids: whatever is taken as one is kept as it came and leads nowhere but down.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[expect(dead_code, reason = "the other targets use the rest")]
#[path = "../../protocol/tests/it/properties.rs"]
mod properties;

fuzz_target!(|text: &str| properties::path_id(text));
