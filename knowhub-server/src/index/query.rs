//! What is asked of an index, and how it is looked up on disk and in memory.

use tantivy::{
    Term,
    query::{
        BooleanQuery, BoostQuery, ConstScoreQuery, EmptyQuery, FuzzyTermQuery, Occur, TermQuery,
        TermSetQuery,
    },
    schema::IndexRecordOption,
};

use super::{
    Frequencies,
    entry::{Entry, hash},
    fields::Fields,
    statistics::Column,
};
use crate::text::{Folded, Needle, Trace};

/// How many different tokens of a query rank; of a longer query the most common ones lose.
const MAX_TOKENS: usize = 128;

/// What a faint token counts beside others.
///
/// Measured: it lifts questions of `CMRC2018`, `XQuAD` and Cranfield alike over counting them in full or not at all.
pub(crate) const FAINT: f32 = 0.5;

/// One search in one index.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    /// Rank the rows, by BM25.
    pub(crate) tokens: Vec<String>,
    /// Those of them that count half: words that only hold a question together.
    pub(crate) faint: Vec<String>,
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
    /// All of these words, as substrings; on disk a row may slip in that has only their traces.
    AllWords(Vec<Folded>),
    /// Nothing but the labels.
    Labels,
}

impl Query {
    /// Returns the query with each token once, and only the rarest when there are too many.
    ///
    /// Tokens that stand nowhere take the place of no others, unless every token must be there.
    pub(super) fn with_rarest_tokens(&self, frequencies: &Frequencies) -> Self {
        let mut tokens = self.tokens.clone();
        if self.matching != Match::AllTokens {
            tokens.retain(|token| frequencies.rows_with(token) > 0);
        }
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
                let has = TermQuery::new(term, IndexRecordOption::WithFreqs);
                let is_faint = self.faint.contains(token);
                let ranks =
                    if is_faint { boxed(BoostQuery::new(boxed(has), FAINT)) } else { boxed(has) };
                (Occur::Should, ranks)
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
                let traces = Folded::traces_of(words).into_iter();
                clauses.extend(traces.map(|trace| (Occur::Must, unranked(left(trace, fields)))));
            }
            Match::Labels => clauses.extend(ranked),
        }
        let label = |label: &String| has(Term::from_field_text(fields.labels, label));
        for group in &self.labels {
            let group = BooleanQuery::union(group.iter().map(|one| boxed(label(one))).collect());
            clauses.push((Occur::Must, unranked(boxed(group))));
        }
        clauses.extend(self.without.iter().map(|one| (Occur::MustNot, boxed(label(one)))));
        if !changed.is_empty() {
            let rows = changed.iter().map(|row| Term::from_field_i64(fields.row, *row));
            clauses.push((Occur::MustNot, boxed(TermSetQuery::new(rows))));
        }
        BooleanQuery::new(clauses)
    }

    /// Prepares the query for the rows in memory; `columns` are those of its tokens.
    pub(super) fn in_memory<'a>(&'a self, columns: Vec<Column<'a>>) -> InMemory<'a> {
        let hashes = |labels: &Vec<String>| labels.iter().map(|label| hash(label)).collect();
        let words = match &self.matching {
            Match::AllWords(words) => words.iter().map(Folded::needle).collect(),
            _ => Vec::new(),
        };
        InMemory {
            matching: &self.matching,
            words,
            columns,
            labels: self.labels.iter().map(hashes).collect(),
            without: hashes(&self.without),
        }
    }
}

/// A query, prepared to be put to many rows in memory.
pub(super) struct InMemory<'a> {
    matching: &'a Match,
    /// Those that must stand in the row.
    words: Vec<Needle<'a>>,
    columns: Vec<Column<'a>>,
    labels: Vec<Vec<u64>>,
    without: Vec<u64>,
}

impl InMemory<'_> {
    /// Returns the score of the row at this place, as it would be on disk; nothing when the row does not match.
    pub(super) fn score(&self, at: usize, entry: &Entry) -> Option<f32> {
        self.matches(at, entry).then(|| {
            let length = entry.length_of_words();
            self.columns.iter().map(|column| column.score(at, length)).sum()
        })
    }

    fn matches(&self, at: usize, entry: &Entry) -> bool {
        // What costs least goes first, since most rows do not match.
        let has_tokens = match self.matching {
            Match::AnyToken => self.columns.iter().any(|column| column.is_in(at)),
            Match::AllTokens => {
                !self.columns.is_empty() && self.columns.iter().all(|column| column.is_in(at))
            }
            Match::AllWords(_) | Match::Labels => true,
        };
        has_tokens
            && self.labels.iter().all(|group| group.iter().any(|label| entry.has_label(*label)))
            && !self.without.iter().any(|label| entry.has_label(*label))
            && self.words.iter().all(|word| entry.contains(word))
    }
}

fn boxed(query: impl tantivy::query::Query) -> Box<dyn tantivy::query::Query> {
    Box::new(query)
}

fn has(term: Term) -> TermQuery {
    TermQuery::new(term, IndexRecordOption::Basic)
}

/// Finds the rows in which a word left this trace.
fn left(trace: Trace<'_>, fields: &Fields) -> Box<dyn tantivy::query::Query> {
    let gram = |gram| Term::from_field_text(fields.grams, gram);
    match trace {
        Trace::Gram(whole) => boxed(has(gram(whole))),
        Trace::Beginning(part) => boxed(FuzzyTermQuery::new_prefix(gram(part), 0, true)),
        Trace::Token(token) => boxed(has(Term::from_field_text(fields.words, token))),
    }
}

fn unranked(query: Box<dyn tantivy::query::Query>) -> Box<dyn tantivy::query::Query> {
    boxed(ConstScoreQuery::new(query, 0.0))
}
