//! KnowHub's processes, started as a person would: on free ports, over a scratch folder.
//!
//! Shared by the system tests (`tests/it/`), the demo (`demo.rs`) and the programs that measure.
//!
//! # Layout
//!
//! - [`system`]: the three processes together, and the `knowhub` command against them.
//! - [`process`]: one process, its announced address, and the signals one can send it.
//! - [`binary`]: where the binaries are, and whether they are as new as their sources.
//! - [`peer`]: the real chat server that stands for a language model.
//! - [`small_disk`]: a real file system that can be full or read-only.
//! - [`mod@bench`]: what the programs that measure share.
//! - [`wait`]: waiting for something to become true.

pub mod bench;
pub mod binary;
pub mod peer;
pub mod process;
pub mod small_disk;
pub mod system;
pub mod wait;
