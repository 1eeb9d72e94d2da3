//! (placeholder)
fn main() {}
