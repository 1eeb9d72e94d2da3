//! The relay at the wire: raw frames against the real server and a real file.

mod bounds;
mod dedupe;
mod delivery;
mod faults;
mod harness;
mod http;
mod lifecycle;
mod modes;
