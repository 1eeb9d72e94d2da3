//! What is asked of an index, and how it is looked up on disk and in memory.

use std::sync::Arc;

use tantivy::{
    Term,
    query::{BooleanQuery, ConstScoreQuery, EmptyQuery, Occur, TermQuery, TermSetQuery},
    schema::IndexRecordOption,
};

use super::{Error, Frequencies, Hit, fields::Fields, recent::Entry, statistics::Statistics};
use crate::text::Folded;

/// How many different tokens of a query rank; of a longer query the most common ones lose.
const MAX_TOKENS: usize = 128;

/// One search in one index.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    /// Rank the rows, by BM25.
    pub(crate) tokens: Vec<String>,
    /// What a row must have.
    pub(crate) matching: Match,
    /// Of each group a row must have one label.
    pub(crate) labels: Vec<Vec<String>>,
    /// A row must have none of these labels.
    pub(crate) without: Vec<String>,
}

/// What a row must have, apart from labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// At least one of the tokens.
    AnyToken,
    /// All of the tokens.
    AllTokens,
    /// All of these words, as substrings; on disk a row may slip in that has only their grams.
    AllWords(Vec<Folded>),
    /// Nothing but the labels.
    Labels,
}

impl Query {
    /// Returns the query with each token once, and only the rarest when there are too many.
    pub(super) fn with_rarest_tokens(&self, frequencies: &Frequencies) -> Self {
        let mut tokens = self.tokens.clone();
        tokens.sort_by_key(|token| frequencies.rows_with(token));
        let mut seen = std::collections::HashSet::new();
        tokens.retain(|token| seen.insert(token.clone()));
        tokens.truncate(MAX_TOKENS);
        Self { tokens, ..self.clone() }
    }

    /// Returns the query in the engine's terms; rows that `changed` since are left to memory.
    pub(super) fn on_disk(&self, fields: &Fields, changed: &[i64]) -> BooleanQuery {
        let ranked: Vec<_> = self
            .tokens
            .iter()
            .map(|token| {
                let term = fields.token_term(token);
                (Occur::Should, boxed(TermQuery::new(term, IndexRecordOption::WithFreqs)))
            })
            .collect();
        let is_plain = self.labels.is_empty() && self.without.is_empty() && changed.is_empty();
        let mut clauses = Vec::new();
        match &self.matching {
            // Without further clauses the engine skips what cannot be among the best.
            Match::AnyToken if is_plain => return BooleanQuery::new(ranked),
            Match::AllTokens if is_plain && ranked.len() == 1 => return BooleanQuery::new(ranked),
            Match::AnyToken => clauses.push((Occur::Must, boxed(BooleanQuery::new(ranked)))),
            Match::AllTokens if ranked.is_empty() => clauses.push((Occur::Must, boxed(EmptyQuery))),
            Match::AllTokens => {
                clauses.extend(ranked.into_iter().map(|(_, token)| (Occur::Must, token)));
            }
            Match::AllWords(words) => {
                clauses.extend(ranked);
                let grams = words.iter().flat_map(Folded::required_grams);
                clauses.extend(grams.map(|gram| {
                    (Occur::Must, unranked(has(Term::from_field_text(fields.grams, gram))))
                }));
            }
            Match::Labels => clauses.extend(ranked),
        }
        let label = |label: &String| has(Term::from_field_text(fields.labels, label));
        for group in &self.labels {
            let group = BooleanQuery::union(group.iter().map(|one| boxed(label(one))).collect());
            clauses.push((Occur::Must, unranked(group)));
        }
        clauses.extend(self.without.iter().map(|one| (Occur::MustNot, boxed(label(one)))));
        if !changed.is_empty() {
            let rows = changed.iter().map(|row| Term::from_field_i64(fields.row, *row));
            clauses.push((Occur::MustNot, boxed(TermSetQuery::new(rows))));
        }
        BooleanQuery::new(clauses)
    }

    /// Tells whether a row in memory matches.
    pub(super) fn matches(&self, entry: &Entry) -> bool {
        let has = |token: &String| entry.count(token) > 0;
        self.has_labels(entry)
            && match &self.matching {
                Match::AnyToken => self.tokens.iter().any(has),
                Match::AllTokens => !self.tokens.is_empty() && self.tokens.iter().all(has),
                Match::AllWords(words) => words.iter().all(|word| entry.contains(word)),
                Match::Labels => true,
            }
    }

    /// Returns the rows in memory that match, with the scores they would have on disk.
    pub(super) fn score_recent(
        &self,
        recent: &[Arc<Entry>],
        statistics: &Statistics<'_>,
    ) -> Result<Vec<Hit>, Error> {
        if recent.is_empty() {
            return Ok(Vec::new());
        }
        let weights = statistics.weights(&self.tokens)?;
        let hits = recent.iter().filter(|entry| self.matches(entry)).map(|entry| {
            let counts = self.tokens.iter().map(|token| entry.count(token));
            let score = counts
                .zip(&weights)
                .filter(|(count, _)| *count > 0)
                .map(|(count, weight)| weight.score(entry.length_of_words(), count))
                .sum();
            Hit { row: entry.row, seq: entry.seq, score }
        });
        Ok(hits.collect())
    }

    fn has_labels(&self, entry: &Entry) -> bool {
        self.labels.iter().all(|group| group.iter().any(|label| entry.has_label(label)))
            && !self.without.iter().any(|label| entry.has_label(label))
    }
}

fn boxed(query: impl tantivy::query::Query) -> Box<dyn tantivy::query::Query> {
    Box::new(query)
}

fn has(term: Term) -> TermQuery {
    TermQuery::new(term, IndexRecordOption::Basic)
}

fn unranked(query: impl tantivy::query::Query) -> Box<dyn tantivy::query::Query> {
    boxed(ConstScoreQuery::new(boxed(query), 0.0))
}
