//! A lexical index over rows of one kind: derived data that can be thrown away at any time.
//!
//! The rows in the store are the truth.
//! The index on disk follows their change sequence and keeps in each commit how far it is, its *mark*;
//! rows beyond the mark are in memory ([`Recent`]), so that what was just written is found.
//! A hit names its row and the change it was indexed under; whoever reads the row again and finds another change drops it.

mod disk;
mod doc;
mod fields;
mod grouped;
mod query;
mod recent;
mod statistics;
#[cfg(test)]
mod tests;
mod tokenizers;

use std::{
    collections::{HashMap, hash_map},
    path::Path,
    sync::{Arc, Mutex, RwLock},
};

use service::logging::chain;
use tantivy::{
    IndexReader, IndexWriter, Searcher, TantivyError, Term,
    collector::{Count, TopDocs},
    indexer::{IndexWriterOptions, LogMergePolicy},
};
use tokio::sync::watch;

pub(crate) use doc::{Doc, Update};
pub(crate) use query::{Match, Query};
pub(crate) use recent::Recent;
pub(crate) use statistics::Frequencies;
pub(crate) use tokenizers::Grams;

use crate::{blocking, store::Identity};
use fields::Fields;
use grouped::BestOfGroups;
use recent::Entry;
use statistics::Statistics;

/// The writer's memory budget, the smallest the engine takes; it is used only once something is written.
const WRITER_MEMORY_BYTES: usize = 15_000_000;

/// How many segments of a like size become one: each term of a query is looked up in every segment.
const MERGED_SEGMENTS: usize = 4;

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
    /// The rows that were there at the start are not all in it yet.
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
    /// It could not be written; newer rows stay in memory, and writers will have to wait.
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
    writer: Mutex<Option<IndexWriter>>,
    /// Written by the follower; read by searches, readiness, and whoever waits for it.
    following: watch::Sender<Following>,
}

/// One commit.
#[derive(Clone)]
struct Committed {
    searcher: Searcher,
    progress: disk::Progress,
}

impl Index {
    /// Opens the index in `folder`; one that is missing, damaged, of another version or store, or ahead of it starts anew.
    pub(crate) fn open(
        folder: &Path,
        grams: Grams,
        recent: Arc<Recent>,
        store: &Identity,
    ) -> Result<Self, Error> {
        let fields = Fields::new();
        let (index, progress) = disk::open(folder, &fields.schema, grams, store)?;
        let reader =
            index.reader_builder().reload_policy(tantivy::ReloadPolicy::Manual).try_into()?;
        let committed = Committed { searcher: reader.searcher(), progress };
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

    /// Notes that all rows the store has are on disk here; what comes later is in memory first.
    pub(crate) fn caught_up(&self) {
        self.shared.following.send_replace(Following::Current);
        // A row may have been read from the store before it came to memory.
        self.shared.recent.forget(self.mark());
    }

    /// Returns how well the index follows the store, now and whenever that changes.
    pub(crate) fn following(&self) -> watch::Receiver<Following> {
        self.shared.following.subscribe()
    }

    /// Returns the rows beyond the mark.
    pub(crate) fn recent(&self) -> &Recent {
        &self.shared.recent
    }

    /// Shows searches the segments that the engine merged since the last commit: each term costs a look into every segment.
    pub(crate) async fn show_merged(&self) -> Result<(), Error> {
        self.off_thread(|shared| {
            let shown = shared.committed().searcher.segment_readers().len();
            if shared.index.searchable_segment_metas()?.len() == shown {
                return Ok(());
            }
            shared.show(disk::progress(&shared.index)?)
        })
        .await
    }

    /// Takes in the next changes, in order; they are searched on disk only after [`Index::commit`].
    pub(crate) async fn add(&self, updates: Vec<Update>) -> Result<(), Error> {
        self.off_thread(move |shared| shared.with_writer(|writer| shared.add(writer, &updates)))
            .await
    }

    /// Makes what was added durable, as far as change `mark`, and lets go of it in memory.
    pub(crate) async fn commit(&self, mark: i64, top_row: i64) -> Result<(), Error> {
        self.off_thread(move |shared| shared.commit(mark, top_row)).await
    }

    /// Drops what was added but not committed, after a failure; the index no longer counts as following.
    pub(crate) async fn undo(&self) -> Result<(), Error> {
        self.shared.following.send_if_modified(|following| {
            let was_current = *following == Following::Current;
            if was_current {
                *following = Following::Behind;
            }
            was_current
        });
        self.close().await;
        // The commit itself may have worked, and only what came after it failed.
        self.off_thread(|shared| shared.show(disk::progress(&shared.index)?)).await
    }

    /// Ends the writer and its threads; searches go on.
    pub(crate) async fn close(&self) {
        let closed = self.off_thread(|shared| {
            let writer = shared.writer.lock().expect("nobody panics while holding it").take();
            Ok(writer.map(IndexWriter::wait_merging_threads).transpose()?)
        });
        if let Err(err) = closed.await {
            tracing::warn!(error = %chain(&err), "the search index's writer did not end well");
        }
    }

    /// Returns the best `limit` hits of each query, best first, among equals the newest.
    ///
    /// Fails while the rows that were there at the start are not all here: an answer from a part would look complete.
    pub(crate) fn search(&self, queries: &[(Query, usize)]) -> Result<Vec<Vec<Hit>>, Error> {
        let (shared, view) = (&self.shared, self.whole_view()?);
        let tokens = queries.iter().flat_map(|(query, _)| &query.tokens);
        let statistics = shared.statistics(&view, tokens)?;
        queries
            .iter()
            .map(|(query, limit)| shared.search(&view, query, *limit, &statistics))
            .collect()
    }

    /// Returns the best `limit` hits of each group, best first, among equals the newest.
    pub(crate) fn search_groups(
        &self,
        query: &Query,
        groups: &[u64],
        limit: usize,
    ) -> Result<Vec<Vec<Hit>>, Error> {
        let (shared, view) = (&self.shared, self.whole_view()?);
        let statistics = shared.statistics(&view, &query.tokens)?;
        shared.search_groups(&view, query, groups, limit, &statistics)
    }

    /// Returns how many rows match.
    pub(crate) fn count(&self, query: &Query) -> Result<u64, Error> {
        let view = self.whole_view()?;
        let in_memory = view.recent.iter().filter(|entry| query.matches(entry)).count();
        let on_disk = query.on_disk(&self.shared.fields, &view.changed);
        Ok(in_memory as u64 + view.searcher.search(&on_disk, &Count)? as u64)
    }

    /// Returns in how many rows each token stands.
    pub(crate) fn frequencies(&self, tokens: &[String]) -> Result<Frequencies, Error> {
        let view = self.shared.view();
        Ok(self.shared.statistics(&view, tokens)?.frequencies().clone())
    }

    /// Returns what a search sees, once the rows that were there at the start are all here.
    fn whole_view(&self) -> Result<View, Error> {
        if *self.shared.following.borrow() == Following::Building {
            return Err(Error::Building);
        }
        Ok(self.shared.view())
    }

    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let shared = Arc::clone(&self.shared);
        blocking::run(move || work(&shared)).await.unwrap_or(Err(Error::Closed))
    }
}

/// Puts the best hits first, among equals the newest, and lets go of all beyond `limit`.
fn sort_hits(hits: &mut Vec<Hit>, limit: usize) {
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.seq.cmp(&a.seq)));
    hits.truncate(limit);
}

/// What one search sees: each row once, either on disk or in memory.
struct View {
    searcher: Searcher,
    recent: Vec<Arc<Entry>>,
    /// Rows whose state on disk is no longer theirs.
    changed: Vec<i64>,
}

impl Shared {
    fn committed(&self) -> Committed {
        self.committed.read().expect("nobody panics while holding it").clone()
    }

    fn view(&self) -> View {
        // Memory first: a row that moves to disk in between is then seen on disk.
        let mut newest = self.recent.snapshot();
        let Committed { searcher, progress } = self.committed();
        newest.retain(|change| change.seq > progress.mark);
        let rows = newest.iter().map(|change| change.row);
        let changed = rows.filter(|row| *row <= progress.top_row).collect();
        View {
            searcher,
            recent: newest.into_iter().filter_map(|change| change.entry).collect(),
            changed,
        }
    }

    fn statistics<'a>(
        &'a self,
        view: &'a View,
        tokens: impl IntoIterator<Item = &'a String>,
    ) -> Result<Statistics<'a>, Error> {
        Statistics::new(&view.searcher, &self.fields, &view.recent, tokens)
    }

    fn search(
        &self,
        view: &View,
        query: &Query,
        limit: usize,
        statistics: &Statistics<'_>,
    ) -> Result<Vec<Hit>, Error> {
        let query = query.with_rarest_tokens(statistics.frequencies());
        let mut hits = query.score_recent(&view.recent, statistics)?;
        if view.searcher.num_docs() > 0 {
            hits.extend(self.search_disk(view, &query, limit, statistics)?);
        }
        sort_hits(&mut hits, limit);
        Ok(hits)
    }

    fn search_groups(
        &self,
        view: &View,
        query: &Query,
        groups: &[u64],
        limit: usize,
        statistics: &Statistics<'_>,
    ) -> Result<Vec<Vec<Hit>>, Error> {
        let query = query.with_rarest_tokens(statistics.frequencies());
        let mut found = view.searcher.search_with_statistics_provider(
            &query.on_disk(&self.fields, &view.changed),
            &BestOfGroups { groups, limit },
            statistics,
        )?;
        for (hits, group) in found.iter_mut().zip(groups) {
            let in_group: Vec<_> =
                view.recent.iter().filter(|entry| entry.group == Some(*group)).cloned().collect();
            hits.extend(query.score_recent(&in_group, statistics)?);
            sort_hits(hits, limit);
        }
        Ok(found)
    }

    fn search_disk(
        &self,
        View { searcher, changed, .. }: &View,
        query: &Query,
        limit: usize,
        statistics: &Statistics<'_>,
    ) -> Result<Vec<Hit>, Error> {
        let query = query.on_disk(&self.fields, changed);
        let limit = limit.min(searcher.num_docs() as usize);
        let found = searcher.search_with_statistics_provider(
            &query,
            &TopDocs::with_limit(limit).order_by_score(),
            statistics,
        )?;
        let mut columns = HashMap::new();
        let mut hits = Vec::with_capacity(found.len());
        for (score, address) in found {
            let (rows, seqs) = match columns.entry(address.segment_ord) {
                hash_map::Entry::Occupied(entry) => entry.into_mut(),
                hash_map::Entry::Vacant(entry) => {
                    let fast = searcher.segment_reader(address.segment_ord).fast_fields();
                    entry.insert((fast.i64(fields::ROW)?, fast.i64(fields::SEQ)?))
                }
            };
            if let (Some(row), Some(seq)) = (rows.first(address.doc_id), seqs.first(address.doc_id))
            {
                hits.push(Hit { row, seq, score });
            }
        }
        Ok(hits)
    }

    fn add(&self, writer: &mut IndexWriter, updates: &[Update]) -> Result<(), Error> {
        let top_row = self.committed().progress.top_row;
        for update in updates {
            // A row above all indexed ones is new; only others can have an older copy.
            if update.row() <= top_row {
                writer.delete_term(Term::from_field_i64(self.fields.row, update.row()));
            }
            if let Update::Put(doc) = update {
                writer.add_document(self.fields.document(doc))?;
            }
        }
        Ok(())
    }

    fn commit(&self, mark: i64, top_row: i64) -> Result<(), Error> {
        let top_row = top_row.max(self.committed().progress.top_row);
        let progress = disk::Progress::new(&self.store_id, mark, top_row);
        self.with_writer(|writer| {
            let mut commit = writer.prepare_commit()?;
            commit.set_payload(&progress.to_payload());
            commit.commit()?;
            Ok(())
        })?;
        self.show(Some(progress))
    }

    /// Shows searches the last commit, and lets go of its rows in memory.
    fn show(&self, progress: Option<disk::Progress>) -> Result<(), Error> {
        let progress = progress.unwrap_or_else(|| disk::Progress::new(&self.store_id, 0, 0));
        let mark = progress.mark;
        self.reader.reload()?;
        *self.committed.write().expect("nobody panics while holding it") =
            Committed { searcher: self.reader.searcher(), progress };
        self.recent.forget(mark);
        Ok(())
    }

    fn new_writer(&self) -> Result<IndexWriter, Error> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(WRITER_MEMORY_BYTES)
            .build();
        let writer: IndexWriter = self.index.writer_with_options(options)?;
        let mut merging = LogMergePolicy::default();
        merging.set_min_num_segments(MERGED_SEGMENTS);
        writer.set_merge_policy(Box::new(merging));
        Ok(writer)
    }

    fn with_writer(
        &self,
        work: impl FnOnce(&mut IndexWriter) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut slot = self.writer.lock().expect("nobody panics while holding it");
        let mut writer = match slot.take() {
            Some(writer) => writer,
            None => self.new_writer()?,
        };
        work(&mut writer)?;
        *slot = Some(writer);
        Ok(())
    }
}
