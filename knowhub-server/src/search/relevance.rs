//! Whether a text answers a question: decided apart from how it ranks, so that nonsense finds nothing.

use crate::{
    index::Frequencies,
    text::{Folded, characters, content_tokens, is_cjk, is_scaffolding, tokens},
};

/// The share of a question's weight that an answer must speak of.
///
/// Measured on the questions of CMRC2018 dev over their own passages, and on questions of `XQuAD` zh over the same passages.
const MIN_SHARE: f64 = 0.45;

/// Tokens weigh as in a store of at least this many rows; in a smaller one their counts say little.
const MIN_ROWS: u64 = 1_000;

/// A word that stands in at most one row of so many is rare.
const ROWS_PER_RARE_WORD: u64 = 1_000;

/// A shorter word is not taken for a name.
const MIN_RARE_CHARS: usize = 5;

/// A question, as far as an answer must speak of it.
pub(super) struct Question {
    /// What it asks about, and what each token weighs.
    weights: Vec<(String, f64)>,
    /// Tokens so rare that a text that has one is about it.
    rare: Vec<String>,
    /// Words written like code, such as `find_tables` or `HTTP2`.
    identifiers: Vec<Folded>,
}

impl Question {
    fn tokens(query: &str) -> Vec<String> {
        let mut tokens = content_tokens(query);
        tokens.sort();
        tokens.dedup();
        tokens
    }

    /// Weighs the tokens of a query by how rare they are.
    pub(super) fn new(query: &str, frequencies: &Frequencies) -> Self {
        let rows = frequencies.rows.max(MIN_ROWS) as f64;
        let weight = |token: &String| {
            let with = frequencies.rows_with(token) as f64;
            (1.0 + (rows - with + 0.5) / (with + 0.5)).ln()
        };
        let tokens = Self::tokens(query);
        let is_rare = |token: &&String| {
            token.chars().count() >= MIN_RARE_CHARS
                && !token.chars().any(is_cjk)
                && token.chars().any(char::is_alphabetic)
                && frequencies.rows_with(token) <= frequencies.rows / ROWS_PER_RARE_WORD
        };
        Self {
            rare: tokens.iter().filter(is_rare).cloned().collect(),
            weights: tokens.iter().map(|token| (token.clone(), weight(token))).collect(),
            identifiers: code_words(query)
                .filter(|word| is_identifier(word))
                .map(Folded::new)
                .collect(),
        }
    }

    /// Decides whether a text speaks of enough of the question, or of something rare in it.
    pub(super) fn is_answered_by(&self, text: &str) -> bool {
        // A question has few tokens: comparing each costs less than a set of all that stand in the text.
        let tokens = tokens(text);
        let has = |token: &str| {
            let mut letters = token.chars();
            match (letters.next(), letters.next()) {
                (Some(letter), None) if is_cjk(letter) => characters(text).any(|c| c == letter),
                _ => tokens.iter().any(|one| one == token),
            }
        };
        let total: f64 = self.weights.iter().map(|(_, weight)| weight).sum();
        let found: f64 =
            self.weights.iter().filter(|(token, _)| has(token)).map(|(_, weight)| weight).sum();
        if total > 0.0 && found >= MIN_SHARE * total {
            return true;
        }
        let text = Folded::new(text);
        self.rare.iter().any(|token| has(token))
            || self.identifiers.iter().any(|word| text.contains(word))
    }
}

/// Returns the tokens that a search must count: those of the query, and those of the [`Question`] in it.
pub(super) fn counted_tokens(query: &str) -> Vec<String> {
    tokens(query).into_iter().chain(Question::tokens(query)).collect()
}

/// Returns the words of a query that may be the name of a thing, in lower case.
pub(super) fn names(query: &str) -> Vec<String> {
    let words = code_words(query).map(str::to_lowercase);
    let whole = query.trim().to_lowercase();
    words.filter(|word| word.len() >= 2 && !is_scaffolding(word)).chain([whole]).collect()
}

/// Splits a query into words of the characters that names of packages and functions are made of.
fn code_words(query: &str) -> impl Iterator<Item = &str> {
    query
        .split(|c: char| !(c.is_ascii_alphanumeric() || "._-/+#@".contains(c)))
        .map(|word| word.trim_matches(|c: char| "._-/@".contains(c)))
        .filter(|word| !word.is_empty())
}

/// Tells whether a word is written as no plain word is: `find_tables`, `HTTP2`, `PyMuPDF`.
fn is_identifier(word: &str) -> bool {
    let has_letter = word.bytes().any(|b| b.is_ascii_alphabetic());
    let has_digit = word.bytes().any(|b| b.is_ascii_digit());
    let is_camel = word
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    word.len() >= 4 && has_letter && (has_digit || is_camel || word.contains('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, text: &str, expected: bool) {
        let question = Question::new(query, &Frequencies::default());
        assert_eq!(question.is_answered_by(text), expected, "{query:?} by {text:?}");
    }

    #[test]
    fn an_answer_speaks_of_the_question() {
        check("怎么从论文 PDF 里提取表格？", "从学术论文提取表格，PDF 用 find_tables", true);
        check("How do I extract tables from a PDF?", "Extracting a table out of PDF files", true);
        check("怎么从论文 PDF 里提取表格？", "怎么从冰箱里拿东西", false);
        check("How do I bake a chocolate cake?", "How do I extract tables from a PDF?", false);
        check("盘", "清理C盘空间", true);
        check("!?", "anything", false);
    }

    #[test]
    fn what_is_written_like_code_is_always_relevant() {
        check("why does find_tables crash on rotated scans of old books", "find_tables()", true);
        check("is PyMuPDF good for rotated scans of very old books", "pymupdf notes", true);
        check("is it good for rotated scans of very old books", "good notes", false);
    }

    #[test]
    fn names_are_words_that_may_name_a_thing() {
        assert_eq!(names("用pdfplumber提取"), ["pdfplumber", "用pdfplumber提取"]);
        assert_eq!(names("How to use C++?"), ["c++", "how to use c++?"]);
        assert_eq!(
            names("see knowledge-20260305-a1b2."),
            ["see", "knowledge-20260305-a1b2", "see knowledge-20260305-a1b2."]
        );
    }
}
