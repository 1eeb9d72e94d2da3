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
}

impl Writer {
    /// Begins to write; only one may do so at a time.
    pub(super) fn open(index: &tantivy::Index) -> Result<Self, Error> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(1)
            .num_merge_threads(1)
            .memory_budget_per_thread(MEMORY_BYTES)
            .build();
        let engine: IndexWriter = index.writer_with_options(options)?;
        let mut merging = LogMergePolicy::default();
        merging.set_min_num_segments(MERGED_SEGMENTS);
        engine.set_merge_policy(Box::new(merging));
        Ok(Self { engine })
    }

    /// Takes in the next changes; rows above `top_row` are new.
    pub(super) fn add(
        &mut self,
        fields: &Fields,
        top_row: i64,
        updates: &[Update],
    ) -> Result<(), Error> {
        for update in updates {
            // Only others can have an older copy.
            if update.row() <= top_row {
                self.engine.delete_term(Term::from_field_i64(fields.row, update.row()));
            }
            if let Update::Put(doc) = update {
                self.engine.add_document(fields.document(doc))?;
            }
        }
        Ok(())
    }

    /// Makes durable what was taken in, and how far that is.
    pub(super) fn commit(&mut self, progress: &Progress) -> Result<(), Error> {
        let mut commit = self.engine.prepare_commit()?;
        commit.set_payload(&progress.to_payload());
        commit.commit()?;
        Ok(())
    }

    /// Waits until the engine has merged what it is merging.
    pub(super) fn finish(self) -> Result<(), Error> {
        Ok(self.engine.wait_merging_threads()?)
    }
}
