//! Embeddings of knowledge: made in the background, stored beside the records, searched in an index of their own.
//!
//! The store's change sequence says what is still to be embedded, so that a stopped hub goes on where it was.
//! A model of another name or dimension makes a space of its own, which is used once every record has a vector in it.

mod failure;
mod follow;
mod page;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use llm::embedding::{Embedder, Embedding, EmbeddingError, TextRole};
use protocol::hub::{EmbeddingProgress, EmbeddingStage, Knowledge};
use service::logging::chain;
use tokio::{sync::Notify, time::Instant};

use crate::{
    metrics::Metrics,
    search::knowledge_labels,
    store::{Change, RecordKind, Store},
    vectors::VectorIndex,
};

/// How long a search waits for the embedding of its query; then it goes on by words alone.
const QUERY_PATIENCE: Duration = Duration::from_secs(2);

/// How long searches go by words alone after a query could not be embedded, so that a dead model slows down only one of them.
///
/// The processing's own lookups are searches too: one of theirs that fails makes the users' go by words alone for as long.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(5);

/// Returns how it is with embeddings where there is no model for them.
pub(crate) fn off() -> EmbeddingProgress {
    EmbeddingProgress {
        space: String::new(),
        dimension: 0,
        stage: EmbeddingStage::Off,
        remaining: 0,
        problem: String::new(),
    }
}

/// What is embedded of a record, and indexed.
pub(crate) fn embedded_text(record: &Knowledge) -> String {
    format!("{}\n{}", record.task, record.content)
}

/// What searches and the store's writer know of the vectors; clones share it.
#[derive(Clone, Default)]
pub(crate) struct Live(Arc<LiveState>);

#[derive(Default)]
struct LiveState {
    /// The space in use; none before its index is open.
    space: RwLock<Option<Arc<OpenSpace>>>,
    /// Signalled when a record has changed, or a query's vector has another dimension.
    changed: Notify,
}

/// A space with its index.
pub(crate) struct OpenSpace {
    /// Its number in the store.
    pub(crate) space: i64,
    /// Its name.
    pub(crate) name: String,
    /// How many numbers a vector has.
    pub(crate) dimension: usize,
    /// Its vectors.
    pub(crate) index: VectorIndex,
    /// Every record has its vector here, but for fresh ones.
    is_whole: AtomicBool,
}

impl Live {
    /// Takes in what was committed, so that the next search neither finds a deleted record nor filters by old labels.
    pub(crate) fn publish(&self, changes: &[Change]) {
        let mut is_changed = false;
        let space = self.space();
        for change in changes {
            match (change, &space) {
                (Change::Knowledge(row), Some(space)) => match knowledge_labels(&row.record) {
                    Some(labels) => _ = space.index.relabel(row.row, &labels),
                    None => space.index.hide(row.row),
                },
                (Change::Deleted(gone), Some(space)) if gone.kind == RecordKind::Knowledge => {
                    space.index.hide(gone.row);
                }
                _ => {}
            }
            is_changed |= change.kind() == RecordKind::Knowledge;
        }
        if is_changed {
            self.0.changed.notify_one();
        }
    }

    fn space(&self) -> Option<Arc<OpenSpace>> {
        self.0.space.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn show(&self, space: Option<Arc<OpenSpace>>) {
        *self.0.space.write().unwrap_or_else(PoisonError::into_inner) = space;
    }
}

/// A query's vector, and where to search by it.
#[derive(Clone)]
pub(crate) struct QueryVector {
    /// Of unit length.
    pub(crate) vector: Vec<f32>,
    /// What it can be compared with.
    pub(crate) space: Arc<OpenSpace>,
}

/// A handle to what makes embeddings; clones share it.
#[derive(Clone)]
pub(crate) struct Embeddings {
    shared: Arc<Shared>,
}

struct Shared {
    embedder: Arc<dyn Embedder>,
    store: Store,
    /// Where the indexes are.
    folder: PathBuf,
    live: Live,
    metrics: Arc<Metrics>,
    progress: Mutex<EmbeddingProgress>,
    /// Until then searches go by words alone.
    paused_until: Mutex<Option<Instant>>,
    /// The dimension of a query's vector that is not that of the space; 0 when the follower has seen to it.
    other_dimension: AtomicUsize,
}

impl Embeddings {
    /// Takes a model into use; [`Embeddings::follow`] does the work.
    pub(crate) fn new(
        embedder: Arc<dyn Embedder>,
        store: Store,
        folder: PathBuf,
        live: Live,
        metrics: Arc<Metrics>,
    ) -> Self {
        let (space, stage) = (embedder.space().to_owned(), EmbeddingStage::Opening);
        let progress = Mutex::new(EmbeddingProgress { space, stage, ..off() });
        let paused_until = Mutex::default();
        let other_dimension = AtomicUsize::new(0);
        let shared = Shared {
            embedder,
            store,
            folder,
            live,
            metrics,
            progress,
            paused_until,
            other_dimension,
        };
        Self { shared: Arc::new(shared) }
    }

    /// Returns how far the records are embedded.
    pub(crate) fn progress(&self) -> EmbeddingProgress {
        self.shared.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the number of the space in use, once there is one.
    pub(crate) fn space(&self) -> Option<i64> {
        self.shared.live.space().map(|space| space.space)
    }

    /// Embeds a query; nothing when not all records have their vectors yet, or the model does not answer in time.
    pub(crate) async fn embed_query(&self, query: &str) -> Option<QueryVector> {
        let space =
            self.shared.live.space().filter(|space| space.is_whole.load(Ordering::Acquire))?;
        if self.is_paused() {
            return None;
        }
        let (texts, deadline) = ([query.to_owned()], Instant::now() + QUERY_PATIENCE);
        let embedded = self.shared.embedder.embed(&texts, TextRole::Query, deadline).await;
        self.shared.metrics.embedded("query", 1, embedded.is_ok());
        let found = match embedded.map(|mut embedded| embedded.pop()) {
            Ok(Some(Embedding::Vector { vector, .. })) if vector.len() == space.dimension => {
                return Some(QueryVector { vector, space });
            }
            Ok(Some(Embedding::Vector { vector, .. })) => vector.len(),
            Ok(_) => return None,
            Err(EmbeddingError::Dimension { found, .. }) if found != space.dimension => found,
            Err(err) => {
                tracing::warn!(error = %chain(&err), "a query was not embedded; searches go by words alone for a moment");
                self.pause();
                return None;
            }
        };
        self.shared.other_dimension.store(found, Ordering::Relaxed);
        self.shared.live.0.changed.notify_one();
        self.pause();
        None
    }

    fn is_paused(&self) -> bool {
        let until = self.shared.paused_until.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    fn pause(&self) {
        let until = Some(Instant::now() + PAUSE_AFTER_FAILURE);
        *self.shared.paused_until.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }
}
