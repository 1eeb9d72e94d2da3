//! The HTTP API: what comes in is read and checked here, what goes out is written here.

mod calibration;
mod caller;
mod contents;
mod cors;
mod deletion;
mod demand;
mod embeddings;
mod error;
mod etag;
mod experiences;
mod extract;
mod heeded;
mod knowledge;
mod large_bodies;
mod metrics;
mod openapi;
mod org_key;
mod params;
mod path;
mod request;
mod reseal;
mod resources;
mod router;
mod transfer;
mod versions;
mod whoami;

pub(crate) use error::Error;
pub(crate) use router::router;

use std::{ops::Deref, sync::Arc};

use prometheus_client::registry::Registry;

use crate::{
    access::Gate, editor::Editor, import::Importer, lookups::Lookups, metrics::Metrics,
    pipeline::Pipeline, search::Search, store::Store, vault::Vault,
};

/// What the handlers work with; clones share it, and every request makes some.
#[derive(Clone)]
pub(crate) struct Handles(Arc<Parts>);

/// The parts of the hub, each a handle of its own.
pub(crate) struct Parts {
    pub(crate) store: Store,
    pub(crate) search: Search,
    pub(crate) gate: Gate,
    pub(crate) vault: Arc<Vault>,
    /// What is noted of searches and misses.
    pub(crate) lookups: Lookups,
    /// Works feedback into knowledge.
    pub(crate) editor: Editor,
    /// Takes reports through their stages.
    pub(crate) pipeline: Pipeline,
    /// Brings imports into the store.
    pub(crate) importer: Importer,
    /// What is counted.
    pub(crate) metrics: Arc<Metrics>,
    /// The same with its names, for `GET /metrics`.
    pub(crate) registry: Registry,
}

impl From<Parts> for Handles {
    fn from(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for Handles {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}
