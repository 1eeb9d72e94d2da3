//! The hub through its public entry: its routes, and a store folder that outlives it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
mod backup;
mod concurrency;
mod contents;
mod deletion;
mod demand;
mod durability;
mod errors;
mod evolution;
mod experiences;
mod harness;
mod idempotency;
mod knowledge;
mod knowledge_batches;
mod knowledge_changes;
mod knowledge_list;
mod listener;
mod metrics;
mod openapi;
mod original;
mod resource_deletion;
mod resource_search;
mod resource_versions;
mod resources;
mod transfer;
mod vault;

#[test]
fn every_test_file_is_named_here() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = include_str!("main.rs");
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap().file_name().into_string().unwrap();
        // A folder holds the parts of the file that is called like it.
        let name = file.strip_suffix(".rs").unwrap_or(&file);
        assert!(name == "main" || main.contains(&format!("\nmod {name};")), "{file} is forgotten");
    }
}
