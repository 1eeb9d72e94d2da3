//! A lexical index over rows of one kind: derived data that can be thrown away at any time.
//!
//! The rows in the store are the truth.
//! The index on disk follows their change sequence and keeps in each commit how far it is, its *mark*;
//! rows beyond the mark are in memory ([`Recent`]), so that what was just written is found.
//! A hit names its row and the change it was indexed under; whoever reads the row again and finds another change drops it.

mod best;
mod counter;
mod disk;
mod doc;
mod entry;
mod fields;
mod grouped;
mod query;
mod recent;
mod spelling;
mod statistics;
#[cfg(test)]
mod tests;
mod tokenizers;
mod view;
mod writer;

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use tantivy::{IndexReader, Searcher, TantivyError};
use tokio::sync::watch;

pub(crate) use counter::{Counter, Counts};
pub(crate) use doc::{Doc, Update};
pub(crate) use query::{FAINT, Match, Query};
pub(crate) use recent::Recent;
pub(crate) use statistics::Frequencies;
pub(crate) use tokenizers::Grams;
pub(crate) use view::View;

use crate::{blocking, store::Identity};
use best::Segment;
use fields::Fields;
use writer::Writer;

/// Why the index failed; the rows in the store are not affected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine failed.
    #[error("the search index failed")]
    Engine(#[from] TantivyError),
    /// Its folder cannot be used.
    #[error("cannot use the search index in {}", folder.display())]
    Folder {
        /// The folder.
        folder: std::path::PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Rows are missing in it, which its follower is about to add.
    #[error("the search index is being built; try again in a moment")]
    Building,
    /// The hub is shutting down.
    #[error("the search index is closed")]
    Closed,
}

/// How well an index follows its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Following {
    /// Rows that were there at the start are missing.
    Building,
    /// Every row is here, on disk or in memory.
    Current,
    /// It could not be written; newer rows stay in memory while there is room, and then searches are refused.
    Behind,
}

/// A found row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hit {
    /// The row.
    pub(crate) row: i64,
    /// The change it was indexed under.
    pub(crate) seq: i64,
    /// BM25 of the query's tokens.
    pub(crate) score: f32,
}

/// A handle to the index; clones share it.
#[derive(Clone)]
pub(crate) struct Index {
    shared: Arc<Shared>,
}

struct Shared {
    index: tantivy::Index,
    fields: Fields,
    reader: IndexReader,
    /// The store it follows.
    store_id: String,
    /// What searches see on disk; replaced after each commit.
    committed: RwLock<Committed>,
    /// What searches see in memory.
    recent: Arc<Recent>,
    /// Opened for the first batch; gone after a failure, which undoes what was not committed.
    writer: Mutex<Option<Writer>>,
    /// Written by the follower; read by readiness, and whoever waits for it.
    following: watch::Sender<Following>,
}

/// One commit.
#[derive(Clone)]
struct Committed {
    searcher: Searcher,
    /// Its segments, the one with the newest change first.
    segments: Arc<[Segment]>,
    progress: disk::Progress,
}

impl Committed {
    fn new(searcher: Searcher, progress: disk::Progress) -> Result<Self, Error> {
        let segments = Segment::open_all(searcher.segment_readers())?.into();
        Ok(Self { searcher, segments, progress })
    }
}

impl Index {
    /// Opens the index in `folder`; one that is missing, damaged, of another version or store, or ahead of it starts anew.
    pub(crate) fn open(
        folder: &Path,
        recent: Arc<Recent>,
        store: &Identity,
    ) -> Result<Self, Error> {
        let fields = Fields::new();
        let (index, progress) = disk::open(folder, &fields.schema, recent.grams(), store)?;
        let reader =
            index.reader_builder().reload_policy(tantivy::ReloadPolicy::Manual).try_into()?;
        let committed = Committed::new(reader.searcher(), progress)?;
        Ok(Self {
            shared: Arc::new(Shared {
                index,
                fields,
                reader,
                store_id: store.id.clone(),
                committed: RwLock::new(committed),
                recent,
                writer: Mutex::new(None),
                following: watch::Sender::new(Following::Building),
            }),
        })
    }

    /// Returns the last change that is on disk; 0 when there is none.
    pub(crate) fn mark(&self) -> i64 {
        self.shared.committed().progress.mark
    }

    /// Notes that the store was read to its end, and committed, since memory [keeps](Recent::keep) what comes.
    ///
    /// Returns whether every row is here now: false when memory had no room for what came meanwhile.
    pub(crate) fn caught_up(&self) -> bool {
        let is_whole = self.shared.recent.complete(self.mark());
        if is_whole {
            self.shared.following.send_replace(Following::Current);
        }
        is_whole
    }

    /// Returns how well the index follows the store, now and whenever that changes.
    pub(crate) fn following(&self) -> watch::Receiver<Following> {
        self.shared.following.subscribe()
    }

    /// Returns the rows beyond the mark.
    pub(crate) fn recent(&self) -> &Recent {
        &self.shared.recent
    }

    /// Makes searches cheaper while nothing comes in: shows them what the engine merged, and has it merge more.
    ///
    /// Each term of a query costs a look into every segment.
    pub(crate) async fn settle(&self) -> Result<(), Error> {
        self.off_thread(|shared| {
            let segments = shared.index.searchable_segment_metas()?;
            if segments.len() != shared.committed().searcher.segment_readers().len() {
                shared.show(disk::progress(&shared.index)?)?;
            }
            if writer::at_rest(&segments).is_some() {
                let mark = shared.committed().progress.mark;
                shared.with_writer(|writer| writer.rest(&shared.store_id, mark))?;
            }
            Ok(())
        })
        .await
    }

    /// Takes in the next changes, in order; they are searched on disk only after [`Index::commit`].
    pub(crate) async fn add(&self, updates: Vec<Update>) -> Result<(), Error> {
        self.off_thread(move |shared| {
            shared.with_writer(|writer| writer.add(&shared.fields, &updates))
        })
        .await
    }

    /// Makes what was added durable, as far as change `mark`, and lets go of it in memory.
    pub(crate) async fn commit(&self, mark: i64) -> Result<(), Error> {
        self.off_thread(move |shared| {
            let progress = shared.with_writer(|writer| writer.commit(&shared.store_id, mark))?;
            shared.show(Some(progress))
        })
        .await
    }

    /// Drops what was added but not committed, after a failure; the index no longer counts as following.
    ///
    /// Merges that are under way are given up, since memory fills meanwhile.
    pub(crate) async fn undo(&self) -> Result<(), Error> {
        if *self.shared.following.borrow() == Following::Current {
            self.shared.following.send_replace(Following::Behind);
        }
        self.shared.recent.keep_while_room();
        self.off_thread(|shared| {
            drop(shared.writer().take());
            // The commit itself may have worked, and only what came after it failed.
            shared.show(disk::progress(&shared.index)?)
        })
        .await
    }

    /// Ends the writer and its threads, and gives up merges that are under way; searches go on.
    pub(crate) async fn close(&self) -> Result<(), Error> {
        self.off_thread(|shared| {
            drop(shared.writer().take());
            Ok(())
        })
        .await
    }

    /// Notes that nobody follows the store any more, so that nobody waits for it.
    pub(crate) fn leave(&self) {
        self.shared.following.send_replace(Following::Behind);
        self.shared.recent.keep_while_room();
    }

    /// Returns what a search sees, with these tokens counted: all that its queries have.
    ///
    /// Fails while rows are missing here: an answer from a part would look complete.
    pub(crate) fn view<'t>(
        &self,
        tokens: impl IntoIterator<Item = &'t String>,
    ) -> Result<View<'_>, Error> {
        let shared = &self.shared;
        let newest = shared.recent.snapshot().ok_or(Error::Building)?;
        View::new(&shared.fields, newest, shared.committed(), tokens)
    }

    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let shared = Arc::clone(&self.shared);
        blocking::run(move || work(&shared)).await.unwrap_or(Err(Error::Closed))
    }
}

impl Shared {
    fn committed(&self) -> Committed {
        self.committed.read().expect("nobody panics while holding it").clone()
    }

    /// Shows searches the last commit, and lets go of its rows in memory.
    fn show(&self, progress: Option<disk::Progress>) -> Result<(), Error> {
        let progress = progress.unwrap_or_else(|| disk::Progress::new(&self.store_id, 0, 0));
        let mark = progress.mark;
        self.reader.reload()?;
        let committed = Committed::new(self.reader.searcher(), progress)?;
        *self.committed.write().expect("nobody panics while holding it") = committed;
        self.recent.forget(mark);
        Ok(())
    }

    fn with_writer<T>(
        &self,
        work: impl FnOnce(&mut Writer) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut slot = self.writer();
        let mut writer = match slot.take() {
            Some(writer) => writer,
            None => Writer::open(&self.index, self.committed().progress.top_row)?,
        };
        let done = work(&mut writer)?;
        *slot = Some(writer);
        Ok(done)
    }

    fn writer(&self) -> MutexGuard<'_, Option<Writer>> {
        // Whoever panicked while holding it had taken the writer out, as after any failure.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
