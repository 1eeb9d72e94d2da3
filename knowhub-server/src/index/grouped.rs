//! The best hits of each of a few groups, collected in one pass over what matches.

use tantivy::{
    DocId, Score, SegmentOrdinal, SegmentReader,
    collector::{Collector, SegmentCollector},
    columnar::Column,
};

use super::{Hit, fields, view::sort_hits};

/// Collects the best hits of each group.
pub(super) struct BestOfGroups<'a> {
    /// The groups, each once; hits of others are passed by.
    pub(super) groups: &'a [u64],
    /// How many hits of each.
    pub(super) limit: usize,
}

/// What is collected in one segment.
pub(super) struct OfSegment {
    limit: usize,
    rows: Column<i64>,
    seqs: Column<i64>,
    group_of: Column<u64>,
    /// The wanted groups, sorted, and where each one's hits go.
    wanted: Vec<(u64, usize)>,
    hits: Vec<Vec<Hit>>,
    /// The least score of each group that can still be among its best.
    least: Vec<Score>,
}

impl Collector for BestOfGroups<'_> {
    type Fruit = Vec<Vec<Hit>>;
    type Child = OfSegment;

    fn for_segment(
        &self,
        _: SegmentOrdinal,
        segment: &SegmentReader,
    ) -> tantivy::Result<OfSegment> {
        let fast = segment.fast_fields();
        let mut wanted: Vec<_> = self.groups.iter().copied().zip(0..).collect();
        wanted.sort_unstable();
        Ok(OfSegment {
            limit: self.limit,
            rows: fast.i64(fields::ROW)?,
            seqs: fast.i64(fields::SEQ)?,
            group_of: fast.u64(fields::GROUP)?,
            wanted,
            hits: vec![Vec::new(); self.groups.len()],
            least: vec![Score::MIN; self.groups.len()],
        })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn merge_fruits(&self, segments: Vec<Vec<Vec<Hit>>>) -> tantivy::Result<Vec<Vec<Hit>>> {
        let mut merged = vec![Vec::new(); self.groups.len()];
        for (group, hits) in segments.into_iter().flat_map(|hits| hits.into_iter().enumerate()) {
            merged[group].extend(hits);
        }
        Ok(merged)
    }
}

impl SegmentCollector for OfSegment {
    type Fruit = Vec<Vec<Hit>>;

    fn collect(&mut self, doc: DocId, score: Score) {
        let Some(group) = self.group_of.first(doc) else { return };
        let Ok(at) = self.wanted.binary_search_by_key(&group, |(group, _)| *group) else {
            return;
        };
        let group = self.wanted[at].1;
        if score < self.least[group] {
            return;
        }
        if let (Some(row), Some(seq)) = (self.rows.first(doc), self.seqs.first(doc)) {
            let hits = &mut self.hits[group];
            hits.push(Hit { row, seq, score });
            // Now and then, so that a hit costs next to nothing however many there are.
            if hits.len() >= 4 * self.limit {
                sort_hits(hits, self.limit);
                self.least[group] = hits.last().map_or(Score::MIN, |hit| hit.score);
            }
        }
    }

    fn harvest(self) -> Vec<Vec<Hit>> {
        self.hits
    }
}
