//! Searching an index: what one search sees of it, on disk and in memory.

use std::sync::Arc;

use tantivy::{
    Searcher,
    collector::Count,
    query::{EnableScoring, Query as _},
};

use super::{
    Committed, Error, Frequencies, Hit, Match, Query,
    best::{Best, Segment},
    entry::Entry,
    fields::Fields,
    grouped::BestOfGroups,
    recent::Newest,
    spelling,
    statistics::Statistics,
};

/// How many unknown words of a query are looked up under other spellings; the ones behind them are not.
const MAX_UNKNOWN: usize = 4;

/// What one search sees: each row once, either on disk or in memory.
pub(crate) struct View<'a> {
    fields: &'a Fields,
    searcher: Searcher,
    segments: Arc<[Segment]>,
    recent: Vec<Arc<Entry>>,
    /// Rows whose state on disk is no longer theirs.
    changed: Vec<i64>,
    statistics: Statistics<'a>,
}

impl<'a> View<'a> {
    /// Puts together what is on disk and what is `newest`, which must have been read first:
    /// a row that moves to disk in between is then seen there.
    ///
    /// All tokens of the queries to come are counted now, once for all.
    pub(super) fn new<'t>(
        fields: &'a Fields,
        mut newest: Vec<Newest>,
        committed: Committed,
        tokens: impl IntoIterator<Item = &'t String>,
    ) -> Result<Self, Error> {
        let Committed { searcher, segments, progress } = committed;
        newest.retain(|change| change.seq > progress.mark);
        let rows = newest.iter().map(|change| change.row);
        let changed = rows.filter(|row| *row <= progress.top_row).collect();
        let recent: Vec<_> = newest.into_iter().filter_map(|change| change.entry).collect();
        let statistics = Statistics::new(searcher.clone(), fields, &recent, tokens)?;
        Ok(Self { fields, searcher, segments, recent, changed, statistics })
    }

    /// Returns in how many rows each token stands.
    pub(crate) fn frequencies(&self) -> &Frequencies {
        self.statistics.frequencies()
    }

    /// Returns what words that stand in no row may have been meant to be, and counts it.
    ///
    /// A spelling is known from the first commit on that has it; a few seconds earlier it is in memory alone.
    pub(crate) fn spellings_of_unknown(&mut self, tokens: &[String]) -> Result<Vec<String>, Error> {
        let unknown = tokens.iter().filter(|token| self.frequencies().rows_with(token) == 0);
        let mut spellings = Vec::new();
        for token in unknown.take(MAX_UNKNOWN) {
            spellings.extend(spelling::nearest(&self.searcher, self.fields, token)?);
        }
        self.statistics.count(&self.recent, &spellings)?;
        Ok(spellings)
    }

    /// Returns the best `limit` hits, best first, among equals the newest.
    pub(crate) fn search(&self, query: &Query, limit: usize) -> Result<Vec<Hit>, Error> {
        let query = query.with_rarest_tokens(self.frequencies());
        let mut hits: Vec<Hit> = self.recent_hits(&query)?.map(|(_, hit)| hit).collect();
        hits.extend(self.search_disk(&query, limit)?);
        sort_hits(&mut hits, limit);
        Ok(hits)
    }

    /// Returns the best `limit` hits of each group, best first, among equals the newest.
    pub(crate) fn search_groups(
        &self,
        query: &Query,
        groups: &[u64],
        limit: usize,
    ) -> Result<Vec<Vec<Hit>>, Error> {
        let query = query.with_rarest_tokens(self.frequencies());
        let mut found = self.searcher.search_with_statistics_provider(
            &query.on_disk(self.fields, &self.changed),
            &BestOfGroups { groups, limit },
            &self.statistics,
        )?;
        for (group, hit) in self.recent_hits(&query)? {
            if let Some(at) = groups.iter().position(|one| group == Some(*one)) {
                found[at].push(hit);
            }
        }
        for hits in &mut found {
            sort_hits(hits, limit);
        }
        Ok(found)
    }

    /// Returns how many rows match, as a search for the same query would find them.
    pub(crate) fn count(&self, query: &Query) -> Result<u64, Error> {
        let query = query.with_rarest_tokens(self.frequencies());
        let on_disk = query.on_disk(self.fields, &self.changed);
        let in_memory = self.recent_hits(&query)?.count();
        Ok(in_memory as u64 + self.searcher.search(&on_disk, &Count)? as u64)
    }

    /// Returns how many rows can match at most, as far as the tokens tell, which costs nothing.
    pub(crate) fn count_at_most(&self, query: &Query) -> u64 {
        let rows = query.tokens.iter().map(|token| self.frequencies().rows_with(token));
        match query.matching {
            Match::AllTokens => rows.min().unwrap_or(0),
            Match::AnyToken => rows.sum(),
            Match::AllWords(_) | Match::Labels => self.frequencies().rows,
        }
    }

    /// Returns the rows in memory that match, with the scores they would have on disk, each with its group.
    fn recent_hits<'q>(
        &'q self,
        query: &'q Query,
    ) -> Result<impl Iterator<Item = (Option<u64>, Hit)> + use<'q, 'a>, Error> {
        let query = query.in_memory(self.statistics.columns(query)?);
        let hit = move |(at, entry): (usize, &Arc<Entry>)| {
            let score = query.score(at, entry)?;
            Some((entry.group, Hit { row: entry.row, seq: entry.seq, score }))
        };
        Ok(self.recent.iter().enumerate().filter_map(hit))
    }

    fn search_disk(
        &self,
        query: &Query,
        limit: usize,
    ) -> Result<impl Iterator<Item = Hit> + use<>, Error> {
        let query = query.on_disk(self.fields, &self.changed);
        let statistics = &self.statistics;
        let scoring = EnableScoring::enabled_from_statistics_provider(statistics, &self.searcher);
        let weight = query.weight(scoring)?;
        let mut best = Best::new(limit);
        for segment in self.segments.iter() {
            best.take(weight.as_ref(), segment)?;
        }
        Ok(best.into_hits())
    }
}

/// Puts the best hits first, among equals the newest, and lets go of all beyond `limit`.
pub(super) fn sort_hits(hits: &mut Vec<Hit>, limit: usize) {
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.seq.cmp(&a.seq)));
    hits.truncate(limit);
}
