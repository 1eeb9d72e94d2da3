//! The substring promise: text folded as SQLite's `LIKE` folds it, and the grams that find it in an index.

use memchr::memmem::Finder;

use super::tokens::is_cjk;

/// How many characters a gram has.
const GRAM_CHARS: usize = 3;

/// How many traces of one query word are looked up; the check of the text itself does the rest.
const MAX_TRACES: usize = 32;

/// Text with its ASCII letters in lower case, in which words are looked for as substrings.
///
/// `%` and `_` are ordinary characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Folded(String);

impl Folded {
    /// Returns what an index has of every text that contains all of these words.
    pub(crate) fn traces_of(words: &[Self]) -> Vec<Trace<'_>> {
        let mut traces: Vec<_> = words.iter().flat_map(Self::traces).collect();
        // Most texts have a gram that begins with a certain letter, and it takes long to find them all.
        let is_vague = |trace: &Trace<'_>| matches!(trace, Trace::Beginning(part) if part.chars().count() == 1);
        if !traces.iter().all(is_vague) {
            traces.retain(|trace| !is_vague(trace));
        }
        traces
    }

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

    /// Prepares this word to be looked for in many texts.
    pub(crate) fn needle(&self) -> Needle<'_> {
        Needle(Finder::new(&self.0))
    }

    /// Does what [`Folded::contains`] does, at a fraction of the cost.
    pub(crate) fn has(&self, needle: &Needle<'_>) -> bool {
        needle.0.find(self.0.as_bytes()).is_some()
    }

    /// Returns the grams an index keeps of this text.
    #[cfg(test)]
    pub(crate) fn grams(&self) -> impl Iterator<Item = &str> {
        self.0.char_indices().filter_map(|(start, _)| gram_at(&self.0, start))
    }

    /// Returns what an index has of every text that contains this word: few things, but enough to leave few others.
    fn traces(&self) -> Vec<Trace<'_>> {
        let chars: Vec<(usize, char)> = self.0.char_indices().collect();
        let part = |from: usize, to: usize| {
            let end = chars.get(to).map_or(self.0.len(), |(at, _)| *at);
            &self.0[chars[from].0..end]
        };
        let is_han = |at: usize| chars.get(at).is_some_and(|(_, c)| is_han(*c));
        let mut traces = Vec::new();
        let mut short = None;
        for (at, (_, c)) in chars.iter().enumerate() {
            if is_han(at) && is_han(at + 1) {
                traces.push(Trace::Token(part(at, at + 2)));
            } else if is_cjk(*c) {
                let is_in_token = is_han(at) && at > 0 && is_han(at - 1);
                traces.extend((!is_in_token).then(|| Trace::Gram(part(at, at + 1))));
            } else if at + GRAM_CHARS > chars.len() {
                short = short.or(Some(part(at, chars.len())));
            } else if at % GRAM_CHARS == 0 || at + GRAM_CHARS == chars.len() {
                // Side by side, the last one maybe overlapping.
                traces.push(Trace::Gram(part(at, at + GRAM_CHARS)));
            }
        }
        // Many grams begin alike, so their beginnings are looked up only where there is little else.
        let is_little = |trace| matches!(trace, &Trace::Gram(gram) if gram.chars().count() == 1);
        if traces.iter().all(is_little) {
            traces.extend(short.map(Trace::Beginning));
        }
        traces.truncate(MAX_TRACES);
        traces
    }

    /// Returns the folded text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// A word, prepared to be looked for in many texts.
pub(crate) struct Needle<'a>(Finder<'a>);

impl Needle<'_> {
    /// Returns one that lives by itself.
    pub(crate) fn into_owned(self) -> Needle<'static> {
        Needle(self.0.into_owned())
    }
}

/// Something that an index has of every text that contains a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trace<'a> {
    /// A gram.
    Gram(&'a str),
    /// A gram that begins so.
    Beginning(&'a str),
    /// A token: two Han characters side by side always are one.
    Token(&'a str),
}

/// Returns the gram an index keeps of the place at byte `start`: a CJK character alone, otherwise up to three
/// characters, as far as no white space is in them; none at white space.
pub(crate) fn gram_at(text: &str, start: usize) -> Option<&str> {
    let rest = &text[start..];
    let length = if rest.chars().next().is_some_and(is_cjk) { 1 } else { GRAM_CHARS };
    let end = rest.char_indices().take(length).take_while(|(_, c)| !c.is_whitespace()).last();
    end.map(|(at, c)| &rest[..at + c.len_utf8()])
}

/// Tells whether a character is a Han ideograph that no normalization changes or joins with its neighbor.
fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{2f7ff}')
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::text::tokens;

    #[track_caller]
    fn check_traces(text: &Folded, word: &Folded) {
        let grams: HashSet<_> = text.grams().collect();
        let tokens = tokens(text.as_str());
        for trace in word.traces() {
            let is_there = match trace {
                Trace::Gram(gram) => grams.contains(gram),
                Trace::Beginning(begin) => grams.iter().any(|gram| gram.starts_with(begin)),
                Trace::Token(token) => tokens.iter().any(|one| one == token),
            };
            assert!(is_there, "{trace:?} of {word:?} in {text:?}");
        }
    }

    #[track_caller]
    fn check(text: &str, found: &[&str], missed: &[&str]) {
        let text = Folded::new(text);
        for word in found {
            let word = Folded::new(word);
            assert!(text.contains(&word), "{word:?} in {text:?}");
            assert!(!word.traces().is_empty(), "{word:?}");
            check_traces(&text, &word);
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

    #[test]
    fn a_letter_is_looked_up_only_when_there_is_nothing_else() {
        let traces = |query| Folded::words(query).iter().flat_map(Folded::traces).count();
        assert_eq!(traces("a tab i"), 3);
        assert_eq!(Folded::traces_of(&Folded::words("a tab i")), [Trace::Gram("tab")]);
        assert_eq!(Folded::traces_of(&Folded::words("a i")).len(), 2);
    }

    #[test]
    fn few_traces_say_enough() {
        let check = |word: &str, expected: &[Trace<'_>]| {
            assert_eq!(Folded::new(word).traces(), expected, "{word}");
        };
        check("Tables", &[Trace::Gram("tab"), Trace::Gram("les")]);
        check("table", &[Trace::Gram("tab"), Trace::Gram("ble")]);
        check("表格式", &[Trace::Token("表格"), Trace::Token("格式")]);
        check("盘", &[Trace::Gram("盘")]);
        check("C盘", &[Trace::Gram("盘"), Trace::Beginning("c盘")]);
        check("pd", &[Trace::Beginning("pd")]);
        check("%", &[Trace::Beginning("%")]);
        check("pdf表格式", &[Trace::Gram("pdf"), Trace::Token("表格"), Trace::Token("格式")]);
    }

    /// What stands around a word, some of which normalization joins with it.
    const AROUND: &str = ".{0,8}|[ aB1表格理かが\u{3099}가\u{11a8}ｶﾞ]{0,6}";

    proptest! {
        #[test]
        fn a_match_leaves_all_its_traces(
            before in AROUND, word in "[^\\s]{1,12}|[aB1表格理かが\u{3099}가\u{11a8}ｶﾞ]{1,6}", after in AROUND,
        ) {
            let text = Folded::new(&format!("{before}{word}{after}"));
            let word = Folded::new(&word);
            prop_assert!(text.contains(&word));
            prop_assert!(!word.traces().is_empty());
            check_traces(&text, &word);
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
            let (text, word) = (Folded::new(&text), Folded::new(&word));
            prop_assert_eq!(text.contains(&word), like);
            prop_assert_eq!(text.has(&word.needle()), like);
        }
    }
}
