//! Writing an index on disk.

use tantivy::{
    IndexWriter, Term,
    indexer::{IndexWriterOptions, LogMergePolicy},
};

use super::{Error, Update, disk::Progress, fields::Fields};

/// The engine's memory budget, the smallest it takes; it is used only once something is written.
const MEMORY_BYTES: usize = 15_000_000;

/// How many segments of a like size become one: each term of a query is looked up in every segment.
pub(super) const MERGED_SEGMENTS: usize = 4;

/// Takes changes in, and makes them durable; what was not committed is gone when it is dropped.
pub(super) struct Writer {
    engine: IndexWriter,
    /// The greatest row that was ever added, committed or not.
    top_row: i64,
}

impl Writer {
    /// Begins to write behind a commit whose greatest row is `top_row`; only one may do so at a time.
    pub(super) fn open(index: &tantivy::Index, top_row: i64) -> Result<Self, Error> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(MEMORY_BYTES)
            .build();
        let engine: IndexWriter = index.writer_with_options(options)?;
        let mut merging = LogMergePolicy::default();
        merging.set_min_num_segments(MERGED_SEGMENTS);
        engine.set_merge_policy(Box::new(merging));
        Ok(Self { engine, top_row })
    }

    /// Takes in the next changes, in order.
    pub(super) fn add(&mut self, fields: &Fields, updates: &[Update]) -> Result<(), Error> {
        for update in updates {
            // A row above all others is new; only others can have an older copy.
            if update.row() <= self.top_row {
                self.engine.delete_term(Term::from_field_i64(fields.row, update.row()));
            }
            if let Update::Put(doc) = update {
                self.engine.add_document(fields.document(doc))?;
            }
            self.top_row = self.top_row.max(update.row());
        }
        Ok(())
    }

    /// Makes durable what was taken in, as far as change `mark` of the store, and returns how far that is.
    pub(super) fn commit(&mut self, store_id: &str, mark: i64) -> Result<Progress, Error> {
        let progress = Progress::new(store_id, mark, self.top_row);
        let mut commit = self.engine.prepare_commit()?;
        commit.set_payload(&progress.to_payload());
        commit.commit()?;
        Ok(progress)
    }

    /// Waits until the engine has merged what it is merging.
    pub(super) fn finish(self) -> Result<(), Error> {
        Ok(self.engine.wait_merging_threads()?)
    }
}
