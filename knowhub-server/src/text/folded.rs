//! The substring promise: text folded as SQLite's `LIKE` folds it, and the grams that find it in an index.

/// How many grams of one query word are looked up; the check of the text itself does the rest.
const MAX_REQUIRED_GRAMS: usize = 32;

/// Text with its ASCII letters in lower case, in which words are looked for as substrings.
///
/// `%` and `_` are ordinary characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Folded(String);

impl Folded {
    /// Folds a text.
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_ascii_lowercase())
    }

    /// Splits a query at white space into its different words, folded.
    pub(crate) fn words(query: &str) -> Vec<Self> {
        let mut words: Vec<Self> = query.split_whitespace().map(Self::new).collect();
        words.sort_by(|a, b| a.0.cmp(&b.0));
        words.dedup();
        words
    }

    /// Tells whether `word` stands in this text, inside a word or across several.
    pub(crate) fn contains(&self, word: &Self) -> bool {
        self.0.contains(&word.0)
    }

    /// Returns the grams an index keeps of this text: all sequences of one to three characters without white space.
    #[cfg(test)]
    pub(crate) fn grams(&self) -> impl Iterator<Item = &str> {
        self.0.char_indices().flat_map(|(start, _)| grams_at(&self.0, start))
    }

    /// Returns grams of this word that stand in every text that contains it: side by side, the last one maybe overlapping.
    pub(crate) fn required_grams(&self) -> impl Iterator<Item = &str> {
        let chars = self.0.chars().count();
        let length = chars.min(3);
        let is_taken = move |at: usize| at.is_multiple_of(length) || at + length == chars;
        self.0
            .char_indices()
            .enumerate()
            .filter(move |(at, _)| is_taken(*at))
            .filter_map(move |(_, (start, _))| grams_at(&self.0, start).nth(length - 1))
            .take(MAX_REQUIRED_GRAMS)
    }

    /// Returns the folded text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the grams of one, two and three characters that begin at byte `start`, as far as no white space is in them.
pub(crate) fn grams_at(text: &str, start: usize) -> impl Iterator<Item = &str> {
    let rest = &text[start..];
    rest.char_indices()
        .take(3)
        .take_while(|(_, c)| !c.is_whitespace())
        .map(move |(at, c)| &rest[..at + c.len_utf8()])
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, found: &[&str], missed: &[&str]) {
        let text = Folded::new(text);
        let grams: HashSet<_> = text.grams().collect();
        for word in found {
            let word = Folded::new(word);
            assert!(text.contains(&word), "{word:?} in {text:?}");
            assert!(word.required_grams().all(|gram| grams.contains(gram)), "{word:?} in {text:?}");
        }
        for word in missed {
            assert!(!text.contains(&Folded::new(word)), "{word} in {text:?}");
        }
    }

    #[test]
    fn finds_what_like_finds() {
        check("Parse a PDF", &["pd", "PDF", "p", "se"], &["pdfs", "%", "_"]);
        check("清理C盘空间", &["C盘", "c盘", "理C", "盘", "空间"], &["D盘"]);
        check(
            "100% of under_score",
            &["100%", "%", "under_score", "r_s"],
            &["1_0%", "under%score"],
        );
        check("École", &["cole", "École"], &["école"]);
    }

    #[test]
    fn words_are_split_at_any_white_space_once_each() {
        let words = Folded::words(" Pdf\u{3000}表格\tpdf ");
        assert_eq!(words, [Folded::new("pdf"), Folded::new("表格")]);
        assert!(Folded::words(" \n").is_empty());
    }

    proptest! {
        #[test]
        fn a_match_implies_all_its_grams(
            before in ".{0,8}", word in "[^\\s]{1,12}", after in ".{0,8}",
        ) {
            let text = Folded::new(&format!("{before}{word}{after}"));
            let word = Folded::new(&word);
            let grams: HashSet<_> = text.grams().collect();
            prop_assert!(text.contains(&word));
            prop_assert!(word.required_grams().all(|gram| grams.contains(gram)));
        }

        #[test]
        fn contains_agrees_with_like(text in "[abC%_é表格 ]{0,10}", word in "[aBc%_É表格]{1,3}") {
            let db = rusqlite::Connection::open_in_memory().unwrap();
            let escaped = word.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
            let like: bool = db
                .query_row(
                    "SELECT ?1 LIKE ?2 ESCAPE '\\'",
                    (&text, format!("%{escaped}%")),
                    |row| row.get(0),
                )
                .unwrap();
            prop_assert_eq!(Folded::new(&text).contains(&Folded::new(&word)), like);
        }
    }
}
