//! Search over the store's rows: lexical indexes that follow it, and what counts as an answer.

mod calibration;
mod experiences;
mod follow;
mod fusion;
mod knowledge;
mod places;
mod relevance;
mod rerank;
mod resources;
mod rows;

use std::{path::Path, sync::Arc};

use protocol::hub::{Calibration, EmbeddingProgress};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use calibration::CalibrationFault;
pub(crate) use calibration::Calibrations;
pub(crate) use experiences::{ExperienceQuery, shown as shown_experience};
pub(crate) use knowledge::{KnowledgeQuery, Means, filter_labels as knowledge_labels};
use places::Places;
pub(crate) use rerank::Reranker;
pub(crate) use resources::ResourceQuery;
use rows::Rows;

use crate::{
    blocking,
    embedding::{self, Embeddings},
    index::{self, Following, Grams, Index, Recent, Update},
    metrics::IndexLoad,
    store::{self, Change, RecordKind, Store},
    vectors,
};

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The rows could not be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The index of vectors could not be searched.
    #[error(transparent)]
    Vectors(#[from] vectors::Error),
    /// The index could not be searched.
    #[error(transparent)]
    Index(#[from] index::Error),
    /// Too many searches wait for a place already.
    #[error("too many searches at once; try again in a moment")]
    Crowded,
}

impl From<blocking::Closed> for Error {
    fn from(_: blocking::Closed) -> Self {
        Self::Index(index::Error::Closed)
    }
}

/// One for each kind of row that is searched.
#[derive(Clone, Debug, Default)]
struct Kinds<T> {
    experiences: T,
    knowledge: T,
    resources: T,
}

impl<T> Kinds<T> {
    fn get_mut(&mut self, kind: RecordKind) -> &mut T {
        match kind {
            RecordKind::Experience => &mut self.experiences,
            RecordKind::Knowledge => &mut self.knowledge,
            RecordKind::Resource => &mut self.resources,
        }
    }

    /// Returns each kind with its own, and its name in messages and folders.
    fn each(&self) -> [(RecordKind, &'static str, &T); 3] {
        [
            (RecordKind::Experience, "experiences", &self.experiences),
            (RecordKind::Knowledge, "knowledge", &self.knowledge),
            (RecordKind::Resource, "resources", &self.resources),
        ]
    }
}

/// The changes that are in no index on disk yet.
#[derive(Clone)]
pub(crate) struct RecentRows(Kinds<Arc<Recent>>);

impl Default for RecentRows {
    fn default() -> Self {
        let recent = |grams| Arc::new(Recent::new(grams));
        Self(Kinds {
            experiences: recent(Grams::Substrings),
            knowledge: recent(Grams::Characters),
            resources: recent(Grams::Characters),
        })
    }
}

impl RecentRows {
    /// Takes in what was committed, so that the next search finds it; waits while there is no room.
    ///
    /// A search leaves out a record that has changed until its new state is here,
    /// so what changes does not wait behind experiences, which come in bursts and never change.
    pub(crate) fn publish(&self, changes: &[Change]) {
        let mut updates = Kinds::<Vec<Update>>::default();
        for change in changes {
            updates.get_mut(change.kind()).push(update(change));
        }
        self.0.knowledge.remember(updates.knowledge);
        self.0.resources.remember(updates.resources);
        self.0.experiences.remember(updates.experiences);
    }
}

/// Returns what the index of its kind hears of a change.
fn update(change: &Change) -> Update {
    match change {
        Change::Experience(row) => Update::Put(experiences::doc(row)),
        Change::Knowledge(row) => Update::Put(knowledge::doc(row)),
        Change::Resource(row) => Update::Put(resources::doc(row)),
        Change::Deleted(gone) => Update::Drop { row: gone.row, seq: gone.seq },
    }
}

/// A handle to search; clones share it.
#[derive(Clone)]
pub(crate) struct Search {
    store: Store,
    indexes: Kinds<Index>,
    /// Where searches run.
    places: Places,
    ranking: Arc<Ranking>,
}

/// What ranks knowledge besides its words.
pub(crate) struct Ranking {
    /// How many candidates a search recalls per result, of each half.
    pub(crate) recall_factor: usize,
    /// Embeds queries and records, if there is a model for it.
    pub(crate) embeddings: Option<Embeddings>,
    /// Orders what was found, if there is a model for it.
    pub(crate) reranker: Option<Reranker>,
    /// When a record is taken for an answer.
    pub(crate) calibrations: Calibrations,
}

impl Search {
    /// Opens the indexes in `folder`.
    pub(crate) fn open(
        store: Store,
        recent: RecentRows,
        folder: &Path,
        ranking: Ranking,
    ) -> Result<Self, index::Error> {
        let RecentRows(recent) = recent;
        let open = |name, recent| Index::open(&folder.join(name), recent, store.identity());
        let indexes = Kinds {
            experiences: open("experiences", recent.experiences)?,
            knowledge: open("knowledge", recent.knowledge)?,
            resources: open("resources", recent.resources)?,
        };
        Ok(Self { store, indexes, places: Places::new(), ranking: Arc::new(ranking) })
    }

    /// Runs a whole search where it may block: to hand it from thread to thread costs more than most of its steps.
    ///
    /// It is run again when a row has changed since it was found.
    async fn run<T: Send + 'static>(
        &self,
        work: impl Fn(&Self, &Rows<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let _place = self.places.take().await?;
        let search = self.clone();
        self.store.reading(move |reader| rows::unchanged(reader, |rows| work(&search, rows))).await
    }

    /// Starts the tasks that bring the indexes after the store until `stop`.
    pub(crate) fn follow(&self, tasks: &TaskTracker, stop: &CancellationToken) {
        for (kind, _, index) in self.indexes.each() {
            tasks.spawn(follow::follow(kind, self.store.clone(), index.clone(), stop.clone()));
        }
    }

    /// Returns how far the knowledge is embedded.
    pub(crate) fn embedding_progress(&self) -> EmbeddingProgress {
        let embeddings = self.ranking.embeddings.as_ref();
        embeddings.map_or_else(embedding::off, Embeddings::progress)
    }

    /// Returns the number of the embedding space in use, if there is one.
    pub(crate) fn embedding_space(&self) -> Option<i64> {
        self.ranking.embeddings.as_ref().and_then(Embeddings::space)
    }

    /// Returns when a search takes a record for an answer.
    pub(crate) fn calibration(&self) -> &Calibration {
        let Calibrations { by_words, by_vectors, .. } = &self.ranking.calibrations;
        if self.ranking.embeddings.is_some() { by_vectors } else { by_words }
    }

    /// Returns how many searches run and how many wait for a place.
    pub(crate) fn load(&self) -> (usize, usize) {
        self.places.load()
    }

    /// Returns how each index is, by the name of its kind.
    pub(crate) fn index_loads(&self) -> [(&'static str, IndexLoad); 3] {
        self.indexes.each().map(|(_, name, index)| {
            let is_current = *index.following().borrow() == Following::Current;
            (name, IndexLoad { changes_in_memory: index.recent().len(), is_current })
        })
    }

    /// Tells whether every row of the store can be found.
    pub(crate) fn ready(&self) -> Result<(), String> {
        for (_, what, index) in self.indexes.each() {
            match *index.following().borrow() {
                Following::Current => {}
                Following::Building => {
                    return Err(format!("the search index of {what} is being built"));
                }
                Following::Behind => {
                    return Err(format!("the search index of {what} cannot be written"));
                }
            }
        }
        Ok(())
    }

    /// Waits until every row that was there at the start can be found.
    pub(crate) async fn built(&self) {
        for (_, _, index) in self.indexes.each() {
            // It fails only when the index is gone, and then nobody waits for it.
            let _ = index.following().wait_for(|state| *state != Following::Building).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::{metrics::CommitMetrics, store::DeletedRow};

    fn by_words() -> Ranking {
        let calibrations = Calibrations::load(None, None).unwrap();
        Ranking { recall_factor: 1, embeddings: None, reranker: None, calibrations }
    }

    #[tokio::test]
    async fn what_changes_does_not_wait_behind_experiences() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub.db");
        let store = Store::open(&path, CommitMetrics::default(), |_| {}).unwrap();
        let recent = RecentRows::default();
        let search =
            Search::open(store, recent.clone(), &folder.path().join("index"), by_words()).unwrap();
        for (_, _, index) in search.indexes.each() {
            index.recent().keep();
            assert!(index.caught_up());
        }
        let gone = |kind, row| Change::Deleted(DeletedRow { kind, row, seq: row });
        // More than there is room for.
        let mut changes: Vec<_> =
            (1..10_000).map(|row| gone(RecordKind::Experience, row)).collect();
        changes.push(gone(RecordKind::Knowledge, 10_000));
        changes.push(gone(RecordKind::Resource, 10_001));
        let publisher = recent.clone();
        let publishing = thread::spawn(move || publisher.publish(&changes));
        while recent.0.experiences.len() == 0 {
            thread::yield_now();
        }
        assert_eq!((recent.0.knowledge.len(), recent.0.resources.len()), (1, 1));
        assert!(!publishing.is_finished());
        search.indexes.experiences.leave();
        publishing.join().unwrap();
    }
}
