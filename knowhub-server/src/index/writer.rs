//! Writing an index on disk.

use tantivy::{
    IndexWriter, SegmentMeta, Term,
    index::SegmentId,
    indexer::{IndexWriterOptions, LogMergePolicy},
};

use super::{Error, Update, disk::Progress, fields::Fields};

/// The engine's memory budget, the smallest it takes; it is used only once something is written.
const MEMORY_BYTES: usize = 15_000_000;

/// How many segments of a like size become one while rows come in.
///
/// Each term of a query is looked up in every segment, so few are good for searches; but each merge writes its rows again.
pub(super) const MERGED_SEGMENTS: usize = 8;

/// Segments of fewer rows count as of a like size.
const SMALL_SEGMENT_ROWS: u32 = 1_000;

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
        merging.set_min_layer_size(SMALL_SEGMENT_ROWS);
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

    /// Has the engine merge what leaves fewer segments at a fair price; it does so in the background.
    pub(super) fn merge_at_rest(&mut self, mut segments: Vec<SegmentMeta>) {
        segments.sort_by_key(SegmentMeta::num_docs);
        let sizes: Vec<u32> = segments.iter().map(SegmentMeta::num_docs).collect();
        segments.truncate(worth_merging(&sizes));
        let ids: Vec<SegmentId> = segments.iter().map(SegmentMeta::id).collect();
        if !ids.is_empty() {
            // It refuses when one of them is in a merge already, and then there is nothing to do.
            drop(self.engine.merge(&ids));
        }
    }

    /// Waits until the engine has merged what it is merging.
    pub(super) fn finish(self) -> Result<(), Error> {
        Ok(self.engine.wait_merging_threads()?)
    }
}

/// Returns how many of the smallest segments, given by their rows in growing order, should become one.
///
/// A segment is written again only with others that have at least half its rows together,
/// so that a single new row never costs a merge of many.
fn worth_merging(sizes: &[u32]) -> usize {
    let mut smaller = 0;
    let mut worth = 0;
    for (at, size) in sizes.iter().copied().map(u64::from).enumerate() {
        if at > 0 && size <= 2 * smaller {
            worth = at + 1;
        }
        smaller += size;
    }
    worth
}

#[cfg(test)]
mod tests {
    use super::worth_merging;

    #[test]
    fn small_segments_are_merged_and_large_ones_left_alone() {
        for (sizes, expected) in [
            (&[] as &[u32], 0),
            (&[5], 0),
            (&[1, 300_000], 0),
            (&[1, 2], 2),
            (&[1, 3], 0),
            (&[1, 1, 3, 300_000], 3),
            (&[1, 300, 300, 300, 100_000], 4),
            (&[16_000, 128_000, 128_000, 1_000_000], 3),
            (&[u32::MAX, u32::MAX], 2),
        ] {
            assert_eq!(worth_merging(sizes), expected, "{sizes:?}");
        }
    }
}
