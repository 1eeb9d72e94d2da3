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
    entry::{Entry, Sought},
    fields::{Fields, is_character},
    query::{FAINT, Query},
};

/// In how many rows tokens stand.
#[derive(Clone, Debug)]
pub(crate) struct Frequencies {
    /// How many rows there are.
    pub(crate) rows: u64,
    /// How many tokens a row has on average; 1 where there is none.
    pub(crate) mean_length: f64,
    of_tokens: HashMap<String, u64>,
}

impl Default for Frequencies {
    /// The counts of an index without rows.
    fn default() -> Self {
        Self { rows: 0, mean_length: 1.0, of_tokens: HashMap::new() }
    }
}

impl Frequencies {
    /// Makes up the counts of an index.
    #[cfg(test)]
    pub(crate) fn of(rows: u64, of_tokens: &[(&str, u64)]) -> Self {
        let of_tokens = of_tokens.iter().map(|(token, rows)| ((*token).to_owned(), *rows));
        Self { rows, mean_length: 100.0, of_tokens: of_tokens.collect() }
    }

    /// Returns in how many rows a token stands; 0 for one that was not asked for.
    pub(crate) fn rows_with(&self, token: &str) -> u64 {
        self.of_tokens.get(token).copied().unwrap_or(0)
    }
}

/// From so many rows on disk on, their mean length is taken for that of the rows in memory, which saves splitting those.
const MANY_ROWS: u64 = 1_000;

/// What BM25 must know of the whole index, counted once for all queries of one search.
pub(super) struct Statistics<'a> {
    searcher: Searcher,
    fields: &'a Fields,
    recent_words: u64,
    /// How often each token stands in each row in memory.
    recent_counts: HashMap<String, Vec<u32>>,
    frequencies: Frequencies,
    /// The same counts, as the engine asks for them.
    of_terms: HashMap<Term, u64>,
}

impl<'a> Statistics<'a> {
    /// Counts these tokens.
    pub(super) fn new<'t>(
        searcher: Searcher,
        fields: &'a Fields,
        recent: &[Arc<Entry>],
        tokens: impl IntoIterator<Item = &'t String>,
    ) -> Result<Self, Error> {
        let recent_rows = recent.len() as u64;
        let rows = searcher.total_num_docs()? + recent_rows;
        let recent_words = recent_words(&searcher, fields, recent)?;
        let words = searcher.total_num_tokens(fields.words)? + recent_words;
        let mean_length = (words as f64 / rows.max(1) as f64).max(1.0);
        let mut counted = Self {
            searcher,
            fields,
            recent_counts: HashMap::new(),
            recent_words,
            frequencies: Frequencies { rows, mean_length, of_tokens: HashMap::new() },
            of_terms: HashMap::new(),
        };
        counted.count(recent, tokens)?;
        Ok(counted)
    }

    /// Counts further tokens; `recent` are the same rows in memory.
    pub(super) fn count<'t>(
        &mut self,
        recent: &[Arc<Entry>],
        tokens: impl IntoIterator<Item = &'t String>,
    ) -> Result<(), Error> {
        for token in tokens {
            if self.recent_counts.contains_key(token) {
                continue;
            }
            let sought = Sought::new(token);
            let counts: Vec<u32> = recent.iter().map(|entry| entry.count(&sought)).collect();
            let in_memory = counts.iter().filter(|count| **count > 0).count() as u64;
            let term = self.fields.token_term(token);
            let rows = self.searcher.doc_freq(&term)? + in_memory;
            self.recent_counts.insert(token.clone(), counts);
            self.of_terms.insert(term, rows);
            self.frequencies.of_tokens.insert(token.clone(), rows);
        }
        Ok(())
    }

    pub(super) fn frequencies(&self) -> &Frequencies {
        &self.frequencies
    }

    /// Returns how often each token stands in the rows in memory, and what it weighs; of the query's tokens those that were counted.
    pub(super) fn columns(&self, query: &Query) -> Result<Vec<Column<'_>>, Error> {
        let mut columns = Vec::new();
        for token in &query.tokens {
            let Some(counts) = self.recent_counts.get(token) else { continue };
            let bm25 = Bm25Weight::for_terms(self, &[self.fields.token_term(token)])?;
            let bm25 = if query.faint.contains(token) { bm25.boost_by(FAINT) } else { bm25 };
            columns.push(Column { counts, bm25, is_character: is_character(token) });
        }
        Ok(columns)
    }
}

impl Bm25StatisticsProvider for Statistics<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        if field == self.fields.words {
            Ok(self.searcher.total_num_tokens(field)? + self.recent_words)
        } else {
            // Grams keep no lengths, so each row counts as one.
            Ok(self.frequencies.rows)
        }
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.frequencies.rows)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        match self.of_terms.get(term) {
            Some(rows) => Ok(*rows),
            None => self.searcher.doc_freq(term),
        }
    }
}

/// Returns how many words the rows in memory have, or would have if they were like those on disk.
fn recent_words(
    searcher: &Searcher,
    fields: &Fields,
    recent: &[Arc<Entry>],
) -> tantivy::Result<u64> {
    let rows = searcher.total_num_docs()?;
    if rows < MANY_ROWS {
        return Ok(recent.iter().map(|entry| u64::from(entry.length_of_words())).sum());
    }
    Ok(recent.len() as u64 * searcher.total_num_tokens(fields.words)? / rows)
}

/// One token in the rows in memory.
pub(super) struct Column<'a> {
    counts: &'a [u32],
    bm25: Bm25Weight,
    is_character: bool,
}

impl Column<'_> {
    /// Tells whether the token stands in the row at this place.
    pub(super) fn is_in(&self, at: usize) -> bool {
        self.counts[at] > 0
    }

    /// Returns the token's share in the score of the row at this place, which has so many words.
    pub(super) fn score(&self, at: usize, length_of_words: u32) -> f32 {
        if !self.is_in(at) {
            return 0.0;
        }
        // Grams keep neither counts nor lengths.
        let length = if self.is_character { 1 } else { length_of_words };
        self.bm25.score(FieldNormReader::fieldnorm_to_id(length), self.counts[at])
    }
}
