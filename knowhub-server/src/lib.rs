//! The hub: stores what agents report and know, and finds it again, over HTTP.
//!
//! # Layout
//!
//! - [`config`]: the settings, read once.
//! - [`mod@bench`]: what the programs that measure see of the inside.
//! - [`command`]: what the program does besides serving.
//! - `http`: routes, extractors, handlers, the error envelope; `http/router.rs` lists all routes.
//! - `access`: who calls, and what they may do.
//! - `secrets`: what looks like a secret in text that everybody may read.
//! - `blocking`: work that would hold up an async thread.
//! - `vault`: sealing secrets with the key of their org; `reseal` walks over all of them.
//! - `resource`: what a write makes of a stored resource.
//! - `lookups`: what is noted of every search.
//! - `demand`: what was asked for and not found.
//! - `metrics`: what the hub counts of itself.
//! - `export`, `import`: everything out of the store, and back into one.
//! - `editor`: working feedback into knowledge, with a model where there is one.
//! - `model`: the language model.
//! - `pipeline`: processing what was reported, with a model where there is one.
//! - `knowledge`: what a reported piece of knowledge becomes before it is stored.
//! - `search`: which rows answer a query, and in what order.
//! - `embedding`: vectors of knowledge, made in the background and kept after the store.
//! - `index`: the lexical index, derived from the rows.
//! - `vectors`: the vector index, derived from the rows' vectors.
//! - `text`: how text is split for all of that.
//! - `store`: the rows, in SQLite.

mod access;
pub mod bench;
mod blocking;
pub mod command;
pub mod config;
mod demand;
mod editor;
mod embedding;
mod export;
mod http;
mod import;
mod index;
mod knowledge;
mod lookups;
mod metrics;
mod model;
mod pipeline;
mod reseal;
mod resource;
mod search;
mod secrets;
mod store;
mod text;
mod vault;
mod vectors;

use std::{io, sync::Arc, time::Duration};

use axum::Router;
use service::{http::Guard, logging::chain};
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use access::{AccessError, TokensFault};
pub use config::Config;
pub use index::Error as IndexError;
pub use lookups::SearchLog;
pub use search::CalibrationFault;
pub use store::{BackupError, OpenError};
pub use vault::OrgKeysFault;
pub use vectors::Error as VectorsError;

use access::Gate;
use demand::Demand;
use editor::Editor;
use embedding::{Embeddings, Live};
use import::Importer;
use lookups::Lookups;
use metrics::Metrics;
use model::Model;
use pipeline::Pipeline;
use protocol::Timestamp;
use search::{Calibrations, Ranking, RecentRows, Reranker, Search};
use store::Store;
use vault::Vault;

/// Why the hub could not start or had to end.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings of access are wrong.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The search index cannot be opened.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// `ORG_KEYS` is wrong.
    #[error(transparent)]
    OrgKeys(#[from] OrgKeysFault),
    /// The language model's settings cannot be used.
    #[error(transparent)]
    Model(#[from] llm::config::SettingsError),
    /// The embedding model's settings cannot be used.
    #[error(transparent)]
    Embeddings(#[from] llm::embedding::config::SettingsError),
    /// `SEARCH_CALIBRATION` cannot be used.
    #[error(transparent)]
    Calibration(#[from] CalibrationFault),
    /// The listener failed.
    #[error("cannot serve")]
    Serve(#[from] io::Error),
    /// The store's writer ended by itself, so nothing can be stored any more.
    #[error("the store's writer ended; the log tells why")]
    WriterEnded,
}

/// How long the listener waits for an index that is being built.
const BUILD_PATIENCE: Duration = Duration::from_secs(2);

/// Opens the hub and serves it on `listener` until `stop`; running requests are finished first.
///
/// # Errors
///
/// When the store or the index cannot be opened, or the store's writer dies.
pub async fn serve(
    listener: TcpListener,
    config: &Config,
    stop: CancellationToken,
) -> Result<(), Error> {
    let hub = Hub::open(config)?;
    // After a crash a few rows are read anew, which takes no time; building all anew may take long,
    // and meanwhile reports are taken and searches are told to wait.
    let _ = tokio::time::timeout(BUILD_PATIENCE, hub.handles.search.built()).await;
    service::http::announce(&listener)?;
    // The hub's own page, `/docs`, calls it.
    let guard =
        Guard::new(config.knowhub_hosts.clone(), config.knowhub_origins.clone()).allow_own_pages();
    let served = tokio::select! {
        served = service::http::serve(listener, hub.router(), guard, stop) => served.map_err(Error::Serve),
        () = hub.handles.store.writer_ended() => Err(Error::WriterEnded),
    };
    hub.close().await;
    served
}

/// An open hub: store, indexes, and the tasks between them.
pub struct Hub {
    handles: http::Handles,
    /// Origins of pages that may read answers.
    origins: Vec<String>,
    /// The tasks that bring the indexes after the store and the tokens after their file, those that count, and imports.
    tasks: TaskTracker,
    /// Ends those tasks.
    stop: CancellationToken,
}

impl Hub {
    /// Opens the store and its indexes, and starts what keeps them together; needs a runtime.
    ///
    /// # Errors
    ///
    /// When the tokens, the org keys or the model's settings are wrong, the store is in use, foreign, newer or unreadable, or the index's folder cannot be used.
    pub fn open(config: &Config) -> Result<Self, Error> {
        let gate = Gate::open(config)?;
        let vault = Arc::new(Vault::new(config.org_keys.as_ref())?);
        let recent = RecentRows::default();
        let live = Live::default();
        let (publisher, live_publisher) = (recent.clone(), live.clone());
        let metrics = Arc::new(Metrics::default());
        let store = Store::open(&config.knowhub_db, metrics.commits.clone(), move |changes| {
            live_publisher.publish(&changes);
            publisher.publish(&changes);
        })?;
        import::remove_leftovers(store.path());
        let folder = store::beside(store.path(), ".index");
        let model = config.llm.model()?.map(|chat| Model::new(chat, metrics.clone()));
        let embedder = config.embeddings.embedder()?;
        let space = embedder.as_ref().map(|embedder| embedder.space().to_owned());
        let embeddings = embedder.map(|embedder| {
            let folder = folder.join("vectors");
            Embeddings::new(embedder, store.clone(), folder, live, metrics.clone())
        });
        let ranking = Ranking {
            recall_factor: config.search_recall_factor.into(),
            embeddings: embeddings.clone(),
            calibrations: Calibrations::load(
                config.search_calibration.as_deref(),
                space.as_deref(),
            )?,
            reranker: model
                .clone()
                .filter(|_| config.search_rerank)
                .map(|model| Reranker::new(model, config.search_rerank_timeout())),
        };
        let search = Search::open(store.clone(), recent, &folder, ranking)?;
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        search.follow(&tasks, &stop);
        if let Some(embeddings) = embeddings {
            tasks.spawn(embeddings.follow(stop.clone()));
        }
        gate.follow(&tasks, &stop);
        let (keys, secrets) = (Arc::clone(&vault), store.clone());
        tasks.spawn(stop.clone().run_until_cancelled_owned(async move {
            if let Err(err) = reseal::warn_of_lost(&secrets, &keys).await {
                tracing::warn!(error = %chain(&err), "whether all stored secrets open was not found out");
            }
        }));
        let demand = Demand::new(store.clone(), metrics.clone());
        tasks.spawn(demand.clone().follow(stop.clone()));
        tasks.spawn(metrics::rows::follow(store.clone(), metrics.clone(), stop.clone()));
        tasks.spawn(store.clone().probe_disk(stop.clone()));
        let importer = Importer::new(
            store.clone(),
            Arc::clone(&vault),
            demand.clone(),
            tasks.clone(),
            stop.clone(),
        );
        let lookups = Lookups { log: config.search_log, metrics: metrics.clone(), demand };
        let registry = metrics.registry(Timestamp::now());
        let pipeline = Pipeline::new(
            store.clone(),
            search.clone(),
            model.clone(),
            metrics.clone(),
            config.pipeline_timeout(),
        );
        pipeline.follow(&tasks, &stop);
        let editor = Editor::new(store.clone(), model);
        let handles = http::Handles::from(http::Parts {
            store,
            search,
            gate,
            vault,
            lookups,
            editor,
            pipeline,
            importer,
            metrics,
            registry,
        });
        let origins = config.knowhub_origins.clone();
        Ok(Self { handles, origins, tasks, stop })
    }

    /// Returns the hub's HTTP API, without the guard of the listener.
    pub fn router(&self) -> Router {
        http::router(self.handles.clone(), &self.origins)
    }

    /// Finishes the writes that were handed over and releases the store.
    pub async fn close(self) {
        self.stop.cancel();
        self.tasks.close();
        // With them the indexes' followers end, and nobody waits for these any more.
        self.tasks.wait().await;
        self.handles.store.close().await;
    }
}
