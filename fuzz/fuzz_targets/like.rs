//! The substring promise: whatever `LIKE` would find stands in the text, and so do its grams in an index.

#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;

#[path = "../../knowhub-server/src/text/folded.rs"]
mod folded;

use folded::{Folded, grams_at};

/// Looks for `word` at every place, as the definition of `LIKE` has it.
fn is_like(text: &str, word: &str) -> bool {
    let word = word.as_bytes();
    text.as_bytes().windows(word.len()).any(|place| place.eq_ignore_ascii_case(word))
}

fuzz_target!(|input: (&str, &str)| {
    let (text, query) = input;
    let folded = Folded::new(text);
    let text_grams: HashSet<_> = folded
        .as_str()
        .char_indices()
        .flat_map(|(start, _)| grams_at(folded.as_str(), start))
        .collect();
    for word in Folded::words(query) {
        let found = folded.contains(&word);
        assert_eq!(found, is_like(text, word.as_str()), "{word:?}");
        if found {
            assert!(word.required_grams().all(|gram| text_grams.contains(gram)), "{word:?}");
        }
    }
});
