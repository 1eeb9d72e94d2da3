//! Search over the store's rows: two lexical indexes that follow it, and what counts as an answer.

mod experiences;
mod follow;
mod knowledge;
mod places;
mod relevance;

use std::{path::Path, sync::Arc};

use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use experiences::{ExperienceQuery, shown as shown_experience};
pub(crate) use knowledge::KnowledgeQuery;
use places::Places;

use crate::{
    blocking,
    index::{self, Following, Grams, Index, Recent},
    store::{self, Change, Store},
};

/// Why a search failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The rows could not be read.
    #[error(transparent)]
    Store(#[from] store::Error),
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

/// The rows that are in no index on disk yet, of both kinds.
#[derive(Clone, Default)]
pub(crate) struct RecentRows {
    experiences: Arc<Recent>,
    knowledge: Arc<Recent>,
}

impl RecentRows {
    /// Takes in what was committed, so that the next search finds it; waits while there is no room.
    pub(crate) fn publish(&self, changes: Vec<Change>) {
        let mut experiences = Vec::new();
        let mut knowledge = Vec::new();
        for change in changes {
            match change {
                Change::Experience(row) => experiences.push(experiences::doc(&row)),
                Change::Knowledge(row) => knowledge.push(knowledge::doc(&row)),
                Change::Resource(_) | Change::Deleted(_) => {}
            }
        }
        self.experiences.remember(experiences);
        self.knowledge.remember(knowledge);
    }

    /// Lets the writer wait for room no more; called when nothing follows the store any longer.
    pub(crate) fn close(&self) {
        self.experiences.close();
        self.knowledge.close();
    }
}

/// A handle to search; clones share it.
#[derive(Clone)]
pub(crate) struct Search {
    store: Store,
    experiences: Index,
    knowledge: Index,
    /// Where searches run.
    places: Places,
    /// How many candidates a knowledge search recalls per result.
    recall_factor: usize,
}

impl Search {
    /// Opens the indexes in `folder`.
    pub(crate) fn open(
        store: Store,
        recent: RecentRows,
        folder: &Path,
        recall_factor: usize,
    ) -> Result<Self, index::Error> {
        let identity = store.identity();
        let experiences = Index::open(
            &folder.join("experiences"),
            Grams::Substrings,
            recent.experiences,
            identity,
        )?;
        let knowledge =
            Index::open(&folder.join("knowledge"), Grams::Characters, recent.knowledge, identity)?;
        Ok(Self { store, experiences, knowledge, places: Places::new(), recall_factor })
    }

    /// Starts the tasks that bring the indexes after the store until `stop`.
    pub(crate) fn follow(&self, tasks: &TaskTracker, stop: &CancellationToken) {
        let kinds = [
            (follow::Kind::Experiences, &self.experiences),
            (follow::Kind::Knowledge, &self.knowledge),
        ];
        for (kind, index) in kinds {
            tasks.spawn(follow::follow(kind, self.store.clone(), index.clone(), stop.clone()));
        }
    }

    /// Returns how many searches run and how many wait for a place.
    pub(crate) fn load(&self) -> (usize, usize) {
        self.places.load()
    }

    /// Tells whether every row of the store can be found.
    pub(crate) fn ready(&self) -> Result<(), String> {
        for (index, what) in [(&self.experiences, "experiences"), (&self.knowledge, "knowledge")] {
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
        for index in [&self.experiences, &self.knowledge] {
            // It fails only when the index is gone, and then nobody waits for it.
            let _ = index.following().wait_for(|state| *state != Following::Building).await;
        }
    }
}
