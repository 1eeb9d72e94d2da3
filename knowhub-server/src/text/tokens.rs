//! Tokens for ranking: stemmed words, and overlapping bigrams where a script writes no spaces.

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;

/// The longest indexed word, in characters; what a longer one (base64, a hash) says after that is not found by rank.
const MAX_WORD_CHARS: usize = 64;

/// Splits text into tokens: lower-cased, NFKC, English lightly stemmed, CJK runs as overlapping bigrams.
///
/// A CJK run of one character is a token as it is, so `C盘` becomes `c` and `盘`.
/// No stop word is dropped: ranking weighs them by how common they are.
pub(crate) fn tokens(text: &str) -> Vec<String> {
    let mut splitter = Splitter {
        stemmer: Stemmer::create(Algorithm::English),
        word: String::new(),
        previous: None,
        tokens: Vec::new(),
    };
    if text.is_ascii() {
        // The same, at a fraction of the cost.
        text.chars().for_each(|c| splitter.take(c.to_ascii_lowercase()));
    } else {
        text.nfkc().flat_map(char::to_lowercase).for_each(|c| splitter.take(c));
    }
    splitter.take(' ');
    splitter.tokens
}

/// Returns each CJK character of the text, for queries of one character.
pub(crate) fn characters(text: &str) -> impl Iterator<Item = char> {
    text.nfkc().filter(|c| is_cjk(*c))
}

/// Tells whether a character belongs to a script that writes words without spaces between them.
pub(crate) fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{3005}' | '\u{3007}'                             // 々 〇
        | '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' // kana
        | '\u{30fc}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' // Han
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}'
        | '\u{ac00}'..='\u{d7a3}') // Hangul
}

struct Splitter {
    stemmer: Stemmer,
    /// The word being read.
    word: String,
    /// The last character of the CJK run being read, and whether a bigram has it already.
    previous: Option<(char, bool)>,
    tokens: Vec<String>,
}

impl Splitter {
    fn take(&mut self, c: char) {
        if is_cjk(c) {
            self.end_word();
            if let Some((previous, _)) = self.previous {
                self.tokens.push(String::from_iter([previous, c]));
            }
            self.previous = Some((c, self.previous.is_some()));
            return;
        }
        if let Some((previous, false)) = self.previous.take() {
            self.tokens.push(previous.to_string());
        }
        if c.is_alphanumeric() {
            self.word.push(c);
        } else {
            self.end_word();
        }
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let mut word = std::mem::take(&mut self.word);
        if let Some((end, _)) = word.char_indices().nth(MAX_WORD_CHARS) {
            word.truncate(end);
        }
        if word.bytes().all(|b| b.is_ascii_lowercase()) {
            word = self.stemmer.stem(&word).into_owned();
        }
        self.tokens.push(word);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(tokens(text), expected, "{text:?}");
    }

    #[test]
    fn words_are_lower_cased_and_stemmed() {
        check("Extracting TABLES, quickly!", &["extract", "tabl", "quick"]);
        check("page.find_tables()", &["page", "find", "tabl"]);
        check("HTTP2 v3.14", &["http2", "v3", "14"]);
        check("naïve Ｆｕｌｌ ﬁt", &["naïve", "full", "fit"]);
        check(" \t\n—…", &[]);
    }

    #[test]
    fn cjk_runs_become_bigrams() {
        check("提取表格", &["提取", "取表", "表格"]);
        check("表", &["表"]);
        check("清理C盘空间", &["清理", "c", "盘空", "空间"]);
        check("C盘", &["c", "盘"]);
        check("データを、読む", &["デー", "ータ", "タを", "読む"]);
        check("用pdf提取", &["用", "pdf", "提取"]);
    }

    #[test]
    fn a_very_long_word_is_cut() {
        check(&"é".repeat(70), &[&"é".repeat(64)]);
    }

    proptest! {
        #[test]
        fn never_panics_and_never_returns_an_empty_token(text: String) {
            prop_assert!(tokens(&text).iter().all(|token| !token.is_empty()));
            let _ = characters(&text).count();
        }
    }
}
