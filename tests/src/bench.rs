//! What the programs that measure share: rows, connections, peers, and figures.
//!
//! # Layout
//!
//! - [`corpus`]: synthetic experiences and questions, the same in every run.
//! - [`client`]: one keep-alive connection that costs little next to what it measures.
//! - [`load`]: filling the hub with rows.
//! - [`first_design`]: the peer of the hub, KnowHub as it was first designed.
//! - [`models`]: models that cost next to nothing.
//! - [`vectors`]: synthetic vectors, and which are truly nearest.
//! - [`chroma`]: the peer of the vector index.
//! - [`figures`]: percentiles, memory, and progress on a terminal.

pub mod chroma;
pub mod client;
pub mod corpus;
pub mod figures;
pub mod first_design;
pub mod load;
pub mod models;
pub mod vectors;
