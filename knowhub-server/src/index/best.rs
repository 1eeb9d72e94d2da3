//! The best hits of a query on disk: by score, among equals the newest.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

use tantivy::{Score, SegmentReader, columnar::Column, query::Weight};

use super::{Hit, fields};

/// A part of the index on disk, with what its hits are made of.
#[derive(Clone)]
pub(super) struct Segment {
    reader: SegmentReader,
    rows: Column<i64>,
    seqs: Column<i64>,
}

impl Segment {
    /// Opens the columns of each segment, the one with the newest change first.
    pub(super) fn open_all(readers: &[SegmentReader]) -> tantivy::Result<Vec<Self>> {
        let open = |reader: &SegmentReader| {
            let fast = reader.fast_fields();
            let (rows, seqs) = (fast.i64(fields::ROW)?, fast.i64(fields::SEQ)?);
            Ok(Self { reader: reader.clone(), rows, seqs })
        };
        let mut segments = readers.iter().map(open).collect::<tantivy::Result<Vec<_>>>()?;
        segments.sort_by_key(|segment| Reverse(segment.seqs.max_value()));
        Ok(segments)
    }
}

/// The best hits so far.
pub(super) struct Best {
    limit: usize,
    /// The worst one on top.
    hits: BinaryHeap<Reverse<Ranked>>,
}

impl Best {
    /// Begins with none of at most `limit`.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, hits: BinaryHeap::new() }
    }

    /// Takes what is better in a segment than what is here.
    ///
    /// The newest segment should come first: with its hits here, others are passed by that are as good and older.
    pub(super) fn take(&mut self, weight: &dyn Weight, segment: &Segment) -> tantivy::Result<()> {
        let Segment { reader, rows, seqs } = segment;
        let (alive, newest) = (reader.alive_bitset(), seqs.max_value());
        weight.for_each_pruning(self.least(newest), reader, &mut |doc, score| {
            if alive.is_none_or(|alive| alive.is_alive(doc))
                && let (Some(row), Some(seq)) = (rows.first(doc), seqs.first(doc))
            {
                self.push(Hit { row, seq, score });
            }
            self.least(newest)
        })
    }

    /// Returns the hits, in no order.
    pub(super) fn into_hits(self) -> impl Iterator<Item = Hit> {
        self.hits.into_iter().map(|Reverse(Ranked(hit))| hit)
    }

    fn push(&mut self, hit: Hit) {
        if self.hits.len() < self.limit {
            self.hits.push(Reverse(Ranked(hit)));
        } else if let Some(mut worst) = self.hits.peek_mut()
            && Ranked(hit) > worst.0
        {
            *worst = Reverse(Ranked(hit));
        }
    }

    /// Returns the score that a hit must exceed where no change is newer than `newest`.
    fn least(&self, newest: i64) -> Score {
        match self.hits.peek() {
            Some(Reverse(Ranked(worst))) if self.hits.len() == self.limit => {
                if worst.seq < newest {
                    worst.score.next_down()
                } else {
                    worst.score
                }
            }
            _ => Score::MIN,
        }
    }
}

/// A hit in the order of its rank; the best is the greatest.
struct Ranked(Hit);

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.score.total_cmp(&other.0.score).then(self.0.seq.cmp(&other.0.seq))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}
