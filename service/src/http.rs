//! A listener that half-open and foreign requests cannot hurt.

mod guard;
mod health;
mod server;

pub use guard::{Guard, Refusal};
pub use health::health_routes;
pub use server::{Io, announce, bind, parse_addr, require_loopback, serve};
