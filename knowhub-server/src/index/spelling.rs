//! Words that stand nowhere, taken for misspelt ones: what the index has that is spelt nearly so.

use std::collections::HashMap;

use tantivy::{Searcher, Term, query::FuzzyTermQuery};

use super::{Error, fields::Fields};

/// A shorter word is not looked up: too many are spelt nearly like it.
const MIN_CHARS: usize = 5;

/// From this length on two letters may be wrong, before it one.
const CHARS_FOR_TWO: usize = 6;

/// How many words are taken for one that is misspelt; of more, the rarest lose.
const MAX_SPELLINGS: usize = 3;

/// Returns the words on disk whose spelling is nearest to a word that stands nowhere, the most common one first.
///
/// They begin with the same letter; letters may be wrong, missing, too many, or two of them swapped.
pub(super) fn nearest(
    searcher: &Searcher,
    fields: &Fields,
    word: &str,
) -> Result<Vec<String>, Error> {
    let length = word.len();
    if length < MIN_CHARS || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return Ok(Vec::new());
    }
    let distances = if length < CHARS_FOR_TWO { 1..=1 } else { 1..=2 };
    for distance in distances {
        let mut near: Vec<_> = within(searcher, fields, word, distance)?.into_iter().collect();
        if !near.is_empty() {
            near.sort_by(|(a, rows), (b, more)| more.cmp(rows).then_with(|| a.cmp(b)));
            near.truncate(MAX_SPELLINGS);
            return Ok(near.into_iter().map(|(word, _)| word).collect());
        }
    }
    Ok(Vec::new())
}

/// Returns the words within a distance, each with the number of rows that have it.
fn within(
    searcher: &Searcher,
    fields: &Fields,
    word: &str,
    distance: u8,
) -> Result<HashMap<String, u64>, Error> {
    let term = Term::from_field_text(fields.words, word);
    let query = FuzzyTermQuery::new(term, distance, true);
    let first = word.as_bytes()[0];
    let mut near = HashMap::new();
    for segment in searcher.segment_readers() {
        let words = segment.inverted_index(fields.words)?;
        let alike = words.terms().search(query.automaton()?);
        let mut stream =
            alike.ge([first]).lt([first + 1]).into_stream().map_err(tantivy::TantivyError::from)?;
        while stream.advance() {
            if let Ok(word) = str::from_utf8(stream.key()) {
                *near.entry(word.to_owned()).or_default() += u64::from(stream.value().doc_freq);
            }
        }
    }
    Ok(near)
}
