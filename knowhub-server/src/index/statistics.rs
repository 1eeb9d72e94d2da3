//! Counts over disk and memory together, so that a row has the same score in both.

use std::{collections::HashMap, sync::Arc};

use tantivy::{
    Searcher, Term,
    fieldnorm::FieldNormReader,
    query::{Bm25StatisticsProvider, Bm25Weight},
    schema::Field,
};

use super::{
    Error,
    fields::{Fields, is_character},
    recent::Entry,
};

/// In how many rows tokens stand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frequencies {
    /// How many rows there are.
    pub(crate) rows: u64,
    of_tokens: HashMap<String, u64>,
}

impl Frequencies {
    /// Returns in how many rows a token stands; 0 for one that was not asked for.
    pub(crate) fn rows_with(&self, token: &str) -> u64 {
        self.of_tokens.get(token).copied().unwrap_or(0)
    }
}

/// What BM25 must know of the whole index for one query.
pub(super) struct Statistics<'a> {
    searcher: &'a Searcher,
    fields: &'a Fields,
    recent_rows: u64,
    recent_words: u64,
    /// How many rows in memory have each token of the query.
    recent_with: HashMap<Term, u64>,
}

impl<'a> Statistics<'a> {
    pub(super) fn new(
        searcher: &'a Searcher,
        fields: &'a Fields,
        recent: &[Arc<Entry>],
        tokens: &[String],
    ) -> Self {
        let rows_with = |token: &String| recent.iter().filter(|e| e.count(token) > 0).count();
        Self {
            searcher,
            fields,
            recent_rows: recent.len() as u64,
            recent_words: recent.iter().map(|entry| u64::from(entry.length_of_words)).sum(),
            recent_with: tokens
                .iter()
                .map(|token| (fields.token_term(token), rows_with(token) as u64))
                .collect(),
        }
    }

    pub(super) fn frequencies(&self, tokens: &[String]) -> Result<Frequencies, Error> {
        let mut of_tokens = HashMap::with_capacity(tokens.len());
        for token in tokens {
            if !of_tokens.contains_key(token) {
                of_tokens.insert(token.clone(), self.doc_freq(&self.fields.token_term(token))?);
            }
        }
        Ok(Frequencies { rows: self.total_num_docs()?, of_tokens })
    }

    /// Returns what each token weighs.
    pub(super) fn weights(&self, tokens: &[String]) -> Result<Vec<Weight>, Error> {
        let weight = |token: &String| {
            let bm25 = Bm25Weight::for_terms(self, &[self.fields.token_term(token)])?;
            Ok(Weight { bm25, is_character: is_character(token) })
        };
        tokens.iter().map(weight).collect()
    }
}

impl Bm25StatisticsProvider for Statistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        let recent = if field == self.fields.words { self.recent_words } else { self.recent_rows };
        Ok(self.searcher.total_num_tokens(field)? + recent)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.searcher.total_num_docs()? + self.recent_rows)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let recent = self.recent_with.get(term).copied().unwrap_or(0);
        Ok(self.searcher.doc_freq(term)? + recent)
    }
}

/// What one token weighs in one query.
pub(super) struct Weight {
    bm25: Bm25Weight,
    is_character: bool,
}

impl Weight {
    /// Returns the token's share in the score of a row of so many words that has it `count` times.
    pub(super) fn score(&self, length_of_words: u32, count: u32) -> f32 {
        // Grams keep neither counts nor lengths.
        let length = if self.is_character { 1 } else { length_of_words };
        self.bm25.score(FieldNormReader::fieldnorm_to_id(length), count)
    }
}
