//! What the programs that measure share: rows, connections, the peer, and figures.
//!
//! # Layout
//!
//! - [`corpus`]: synthetic experiences and questions, the same in every run.
//! - [`client`]: one keep-alive connection that costs little next to what it measures.
//! - [`load`]: filling the hub with rows.
//! - [`first_design`]: the peer, KnowHub as it was first designed.
//! - [`figures`]: percentiles, memory, and progress on a terminal.

pub mod client;
pub mod corpus;
pub mod figures;
pub mod first_design;
pub mod load;
