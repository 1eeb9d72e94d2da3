//! Writing an index on disk.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use tantivy::{
    IndexWriter, SegmentMeta, Term,
    indexer::{IndexWriterOptions, LogMergePolicy, MergeCandidate, MergePolicy},
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
    /// Told to the engine's [`Merging`].
    at_rest: Arc<AtomicBool>,
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
        let at_rest = Arc::new(AtomicBool::new(false));
        engine.set_merge_policy(Box::new(Merging::new(Arc::clone(&at_rest))));
        Ok(Self { engine, top_row, at_rest })
    }

    /// Takes in the next changes, in order.
    pub(super) fn add(&mut self, fields: &Fields, updates: &[Update]) -> Result<(), Error> {
        self.at_rest.store(false, Ordering::Relaxed);
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

    /// Has the engine merge segments [at rest](at_rest), in the background, until rows come in.
    ///
    /// All that was taken in must be durable as far as change `mark`.
    pub(super) fn rest(&mut self, store_id: &str, mark: i64) -> Result<(), Error> {
        self.at_rest.store(true, Ordering::Relaxed);
        // A commit makes the engine look for merges; it alone knows which segments are in one already.
        self.commit(store_id, mark)?;
        Ok(())
    }
}

/// What the engine merges, of segments that are in no merge yet.
#[derive(Debug)]
struct Merging {
    under_load: LogMergePolicy,
    at_rest: Arc<AtomicBool>,
}

impl Merging {
    fn new(at_rest: Arc<AtomicBool>) -> Self {
        let mut under_load = LogMergePolicy::default();
        under_load.set_min_num_segments(MERGED_SEGMENTS);
        under_load.set_min_layer_size(SMALL_SEGMENT_ROWS);
        Self { under_load, at_rest }
    }
}

impl MergePolicy for Merging {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        if self.at_rest.load(Ordering::Relaxed) {
            at_rest(segments).into_iter().collect()
        } else {
            self.under_load.compute_merge_candidates(segments)
        }
    }
}

/// Returns which of these segments should become one while no rows come in, if that leaves fewer at a fair price.
pub(super) fn at_rest(segments: &[SegmentMeta]) -> Option<MergeCandidate> {
    let mut segments: Vec<_> = segments.iter().collect();
    segments.sort_by_key(|segment| segment.num_docs());
    let sizes: Vec<u32> = segments.iter().map(|segment| segment.num_docs()).collect();
    segments.truncate(worth_merging(&sizes));
    let ids: Vec<_> = segments.into_iter().map(SegmentMeta::id).collect();
    (!ids.is_empty()).then_some(MergeCandidate(ids))
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
