//! Searching an index: what one search sees of it, on disk and in memory.

use std::{
    collections::{HashMap, hash_map},
    sync::Arc,
};

use tantivy::{
    Searcher,
    collector::{Count, TopDocs},
};

use super::{
    Committed, Error, Hit, Query,
    fields::{self, Fields},
    grouped::BestOfGroups,
    recent::{Entry, Newest},
    statistics::Statistics,
};

/// What one search sees: each row once, either on disk or in memory.
pub(super) struct View<'a> {
    fields: &'a Fields,
    searcher: Searcher,
    recent: Vec<Arc<Entry>>,
    /// Rows whose state on disk is no longer theirs.
    changed: Vec<i64>,
}

impl<'a> View<'a> {
    /// Puts together what is on disk and what is `newest`, which must have been read first:
    /// a row that moves to disk in between is then seen there.
    pub(super) fn new(fields: &'a Fields, mut newest: Vec<Newest>, committed: Committed) -> Self {
        let Committed { searcher, progress } = committed;
        newest.retain(|change| change.seq > progress.mark);
        let rows = newest.iter().map(|change| change.row);
        let changed = rows.filter(|row| *row <= progress.top_row).collect();
        let recent = newest.into_iter().filter_map(|change| change.entry).collect();
        Self { fields, searcher, recent, changed }
    }

    /// Counts in how many rows each token stands.
    pub(super) fn statistics<'t>(
        &self,
        tokens: impl IntoIterator<Item = &'t String>,
    ) -> Result<Statistics<'_>, Error> {
        Statistics::new(&self.searcher, self.fields, &self.recent, tokens)
    }

    /// Returns the best `limit` hits, best first, among equals the newest.
    pub(super) fn search(
        &self,
        query: &Query,
        limit: usize,
        statistics: &Statistics<'_>,
    ) -> Result<Vec<Hit>, Error> {
        let query = query.with_rarest_tokens(statistics.frequencies());
        let mut hits = query.score_recent(&self.recent, statistics)?;
        if self.searcher.num_docs() > 0 {
            hits.extend(self.search_disk(&query, limit, statistics)?);
        }
        sort_hits(&mut hits, limit);
        Ok(hits)
    }

    /// Returns the best `limit` hits of each group, best first, among equals the newest.
    pub(super) fn search_groups(
        &self,
        query: &Query,
        groups: &[u64],
        limit: usize,
        statistics: &Statistics<'_>,
    ) -> Result<Vec<Vec<Hit>>, Error> {
        let query = query.with_rarest_tokens(statistics.frequencies());
        let mut found = self.searcher.search_with_statistics_provider(
            &query.on_disk(self.fields, &self.changed),
            &BestOfGroups { groups, limit },
            statistics,
        )?;
        for (hits, group) in found.iter_mut().zip(groups) {
            let in_group: Vec<_> =
                self.recent.iter().filter(|entry| entry.group == Some(*group)).cloned().collect();
            hits.extend(query.score_recent(&in_group, statistics)?);
            sort_hits(hits, limit);
        }
        Ok(found)
    }

    /// Returns how many rows match, as a search for the same query would find them.
    pub(super) fn count(&self, query: &Query) -> Result<u64, Error> {
        let query = query.with_rarest_tokens(self.statistics(&query.tokens)?.frequencies());
        let in_memory = self.recent.iter().filter(|entry| query.matches(entry)).count();
        let on_disk = query.on_disk(self.fields, &self.changed);
        Ok(in_memory as u64 + self.searcher.search(&on_disk, &Count)? as u64)
    }

    fn search_disk(
        &self,
        query: &Query,
        limit: usize,
        statistics: &Statistics<'_>,
    ) -> Result<Vec<Hit>, Error> {
        let Self { searcher, changed, .. } = self;
        let query = query.on_disk(self.fields, changed);
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
}

/// Puts the best hits first, among equals the newest, and lets go of all beyond `limit`.
pub(super) fn sort_hits(hits: &mut Vec<Hit>, limit: usize) {
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.seq.cmp(&a.seq)));
    hits.truncate(limit);
}
