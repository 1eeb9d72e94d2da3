//! A listener that half-open and foreign requests cannot hurt.

mod authority;
mod guard;
mod health;
mod request_id;
mod server;

pub use authority::{parse_host, parse_origin};
pub use guard::{Guard, Refusal};
pub use health::health_routes;
pub use request_id::{REQUEST_ID, request_id};
pub use server::{Io, announce, bind, parse_addr, require_loopback, serve};
