//! The HTTP API: what comes in is read and checked here, what goes out is written here.

mod caller;
mod cors;
mod demand;
mod error;
mod experiences;
mod extract;
mod knowledge;
mod large_bodies;
mod metrics;
mod openapi;
mod params;
mod request;
mod router;
mod transfer;

pub(crate) use error::Error;
pub(crate) use router::router;

use std::sync::Arc;

use prometheus_client::registry::Registry;

use crate::{access::Gate, lookups::Lookups, metrics::Metrics, search::Search, store::Store};

/// What the handlers work with; cheap to clone.
#[derive(Clone)]
pub(crate) struct Handles {
    pub(crate) store: Store,
    pub(crate) search: Search,
    pub(crate) gate: Gate,
    /// What is noted of searches and misses.
    pub(crate) lookups: Lookups,
    /// What is counted.
    pub(crate) metrics: Metrics,
    /// The same with its names, for `GET /metrics`.
    pub(crate) registry: Arc<Registry>,
}
