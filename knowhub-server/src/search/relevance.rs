//! Whether a text answers a question: decided apart from how it ranks, so that nonsense finds nothing.

use crate::{
    index::{Counter, Counts, FAINT, Frequencies},
    text::{Folded, content_tokens, is_cjk, is_scaffolding, tokens},
};

/// The share of a question's weight that an answer must speak of.
///
/// Measured on the questions of CMRC2018 dev over their own passages, and on questions of `XQuAD` zh over the same passages.
const MIN_SHARE: f64 = 0.45;

/// Tokens weigh as in a store of at least this many rows; in a smaller one their counts say little.
const MIN_ROWS: u64 = 1_000;

/// A word that stands in at most one row of so many is rare; one that stands in a single row always is.
const ROWS_PER_RARE_WORD: u64 = 1_000;

/// A rare word makes a text relevant by itself when it is at least this part of the question, by weight.
///
/// Measured: in a store of aeronautics, a fifth of all questions of general knowledge have some word that is rare there.
const MIN_RARE_SHARE: f64 = 0.3;

/// A shorter word is not taken for a name.
const MIN_RARE_CHARS: usize = 5;

/// How much a token's repetition counts in BM25, as the engine has it.
const K1: f64 = 1.2;

/// How much a row's length counts in BM25, as the engine has it.
const B: f64 = 0.75;

/// A text of which one letter in so many is CJK is CJK.
const CJK_OF_LETTERS: usize = 5;

/// A question, as far as an answer must speak of it.
pub(super) struct Question {
    tokens: Vec<Asked>,
    /// What its content weighs together.
    content_weight: f64,
    counter: Counter,
    /// Words written like code, such as `find_tables` or `HTTP2`.
    identifiers: Vec<Folded>,
    /// How many tokens a row has on average.
    mean_length: f64,
    ideal_score: f64,
    is_cjk: bool,
}

/// A token of a question.
struct Asked {
    /// How rare it is.
    weight: f64,
    /// How often the question says it; 0 for a character that only stands alone once the question words are gone.
    times: usize,
    /// It is what the question asks about, and not what holds it together.
    is_content: bool,
    /// It is so rare, and so much of the question, that a text that has it is about it.
    is_rare: bool,
}

/// What a text has of a question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Evidence {
    /// From 0 to 1: the part of what the question asks about, by weight.
    pub(super) share: f64,
    /// From 0 to 1: the same for all its words, with how often and how densely they stand there.
    pub(super) matched: f64,
    /// It has a word that makes it relevant by itself.
    pub(super) is_certain: bool,
    /// It is written in another script, so that it shares names and numbers with the question at most.
    pub(super) is_across: bool,
}

impl Question {
    /// Weighs the tokens of a query by how rare they are.
    pub(super) fn new(query: &str, frequencies: &Frequencies) -> Self {
        let rows = frequencies.rows.max(MIN_ROWS) as f64;
        let (said, content) = (tokens(query), content_tokens(query));
        let mut all = [said.as_slice(), &content].concat();
        all.sort();
        all.dedup();
        let weight = |token: &String| {
            let with = frequencies.rows_with(token) as f64;
            (1.0 + (rows - with + 0.5) / (with + 0.5)).ln()
        };
        let content_weight =
            all.iter().filter(|token| content.contains(token)).map(weight).sum::<f64>();
        let asked = |token: &String| {
            let (weight, is_content) = (weight(token), content.contains(token));
            let is_much = is_content && weight >= MIN_RARE_SHARE * content_weight;
            Asked {
                weight,
                times: said.iter().filter(|one| *one == token).count(),
                is_content,
                is_rare: is_much && is_rare(token, frequencies),
            }
        };
        Self {
            tokens: all.iter().map(asked).collect(),
            content_weight,
            counter: Counter::new(&all),
            identifiers: code_words(query)
                .filter(|word| is_identifier(word))
                .map(Folded::new)
                .collect(),
            mean_length: frequencies.mean_length,
            ideal_score: ideal_score(query, frequencies),
            is_cjk: is_mostly_cjk(query),
        }
    }

    /// Returns the BM25 score of a text that says all of the question again and again, and nothing else.
    pub(super) fn ideal_score(&self) -> f64 {
        self.ideal_score
    }

    /// Tells whether it is asked in a script without spaces.
    pub(super) fn is_cjk(&self) -> bool {
        self.is_cjk
    }

    /// Returns what a text has of the question.
    pub(super) fn evidence_in(&self, text: &str) -> Evidence {
        let Counts { of_tokens, length } = self.counter.count(text.to_owned());
        let (mut found, mut most, mut matched) = (0.0, 0.0, 0.0);
        let length = K1 * (1.0 - B + B * f64::from(length) / self.mean_length);
        let mut is_certain = false;
        for (token, count) in self.tokens.iter().zip(of_tokens) {
            let count = f64::from(count);
            found += if token.is_content && count > 0.0 { token.weight } else { 0.0 };
            let weight =
                if token.is_content { token.weight } else { f64::from(FAINT) * token.weight };
            most += token.times as f64 * weight;
            matched += token.times as f64 * weight * count / (count + length);
            is_certain |= token.is_rare && count > 0.0;
        }
        if !is_certain && !self.identifiers.is_empty() {
            let folded = Folded::new(text);
            is_certain = self.identifiers.iter().any(|word| folded.contains(word));
        }
        let part = |of: f64, whole: f64| if whole > 0.0 { of / whole } else { 0.0 };
        Evidence {
            share: part(found, self.content_weight),
            matched: part(matched, most),
            is_certain,
            is_across: self.is_cjk != is_mostly_cjk(text),
        }
    }

    /// Decides whether a text speaks of enough of the question, or of something rare in it.
    pub(super) fn is_answered_by(&self, text: &str) -> bool {
        let Evidence { share, is_certain, .. } = self.evidence_in(text);
        is_certain || share >= MIN_SHARE
    }
}

/// Tells whether a token is rare, and a word that may name a thing.
fn is_rare(token: &str, frequencies: &Frequencies) -> bool {
    token.chars().count() >= MIN_RARE_CHARS
        && !token.chars().any(is_cjk)
        && token.chars().any(char::is_alphabetic)
        && frequencies.rows_with(token) <= (frequencies.rows / ROWS_PER_RARE_WORD).max(1)
}

/// Tells whether a text is written in a script without spaces, names and code aside.
fn is_mostly_cjk(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let cjk = text.chars().filter(|c| is_cjk(*c)).count();
    // A word of another script has many letters, where a character is half a word.
    cjk * CJK_OF_LETTERS >= letters && cjk > 0
}

/// Returns the tokens of a query that rank, each once, and those of them that only hold the question together.
pub(super) fn ranked_tokens(query: &str) -> (Vec<String>, Vec<String>) {
    let (mut ranked, content) = (tokens(query), content_tokens(query));
    ranked.sort();
    ranked.dedup();
    let faint = ranked.iter().filter(|token| !content.contains(token)).cloned().collect();
    (ranked, faint)
}

fn ideal_score(query: &str, frequencies: &Frequencies) -> f64 {
    let (ranked, faint) = ranked_tokens(query);
    let rows = frequencies.rows as f64;
    let best = |token: &String| {
        let with = frequencies.rows_with(token) as f64;
        let weight = if faint.contains(token) { f64::from(FAINT) } else { 1.0 };
        weight * (1.0 + (rows - with + 0.5) / (with + 0.5)).ln() * (1.0 + K1)
    };
    ranked.iter().map(best).sum()
}

/// Returns the tokens that a search must count: those of the query, and those of the [`Question`] in it.
pub(super) fn counted_tokens(query: &str) -> Vec<String> {
    tokens(query).into_iter().chain(content_tokens(query)).collect()
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
    fn a_rare_word_is_relevant_by_itself_where_the_question_is_about_it() {
        let known = [("zephyrine", 1), ("wing", 900), ("flow", 3_000)];
        let certain = |query: &str| {
            let question = Question::new(query, &Frequencies::of(5_000, &known));
            question.evidence_in("Zephyrine foils flutter.").is_certain
        };
        assert!(certain("zephyrine"));
        assert!(certain("Does zephyrine change the flow over a wing?"));
        assert!(!certain("Which emperor of the second dynasty was zephyrine in old songs?"));
        assert!(!certain("flow"), "common words are never certain");
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
