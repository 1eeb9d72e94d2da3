//! The substring promise: whatever `LIKE` would find stands in the text, and leaves its traces in an index.

#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;

#[expect(dead_code, reason = "the hub uses the rest")]
#[path = "../../knowhub-server/src/text/folded.rs"]
mod folded;

#[expect(dead_code, reason = "the hub uses the rest")]
#[path = "../../knowhub-server/src/text/tokens.rs"]
mod tokens;

use folded::{Folded, Trace, gram_at};
use tokens::tokens;

/// Looks for `word` at every place, as the definition of `LIKE` has it.
fn is_like(text: &str, word: &str) -> bool {
    let word = word.as_bytes();
    text.as_bytes().windows(word.len()).any(|place| place.eq_ignore_ascii_case(word))
}

fuzz_target!(|input: (&str, &str)| {
    let (text, query) = input;
    let folded = Folded::new(text);
    let grams: HashSet<_> = folded
        .as_str()
        .char_indices()
        .filter_map(|(start, _)| gram_at(folded.as_str(), start))
        .collect();
    let tokens: HashSet<_> = tokens(text).into_iter().collect();
    for word in Folded::words(query) {
        let found = folded.contains(&word);
        assert_eq!(found, is_like(text, word.as_str()), "{word:?}");
        let words = [word];
        for trace in Folded::traces_of(&words).into_iter().filter(|_| found) {
            let is_there = match trace {
                Trace::Gram(gram) => grams.contains(gram),
                Trace::Beginning(begin) => grams.iter().any(|gram| gram.starts_with(begin)),
                Trace::Token(token) => tokens.contains(token),
            };
            assert!(is_there, "{trace:?}");
        }
    }
});
