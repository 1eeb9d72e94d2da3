//! Query strings: any is read or refused, and what was encoded is read again.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[expect(dead_code, reason = "the hub uses the rest")]
#[path = "../../knowhub-server/src/http/params.rs"]
mod params;

use params::Params;

fuzz_target!(|query: &str| {
    if let Ok(params) = Params::parse(query) {
        let _ = (params.query_text(), params.number("limit", 10, 1..=100));
        let _ = (params.flag("all"), params.list("types"), params.text("category"));
    }
    let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let params = Params::parse(&format!("category={encoded}")).expect("this is UTF-8, encoded");
    assert_eq!(params.text("category"), Ok(Some(query)));
});
