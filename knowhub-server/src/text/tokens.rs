//! Tokens for ranking: stemmed words, and overlapping bigrams where a script writes no spaces.

use memchr::memmem::Finder;
use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;

/// The longest indexed word, in characters; what a longer one (base64, a hash) says after that is not found by rank.
const MAX_WORD_CHARS: usize = 64;

/// How many letters at its end a stem may have that its word has not: `ability` becomes `abl`, `dying` becomes `die`.
const MAX_STEM_CHANGE: usize = 2;

/// Splits text into tokens: lower-cased, NFKC, English lightly stemmed, CJK runs as overlapping bigrams.
///
/// A CJK run of one character is a token as it is, so `C盘` becomes `c` and `盘`.
/// No stop word is dropped: ranking weighs them by how common they are.
pub(crate) fn tokens(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut tokens = Vec::new();
    split(text, |piece| {
        tokens.push(match piece {
            Piece::Word(word) if is_stemmed(word) => stemmer.stem(word).into_owned(),
            Piece::Word(word) => word.to_owned(),
            Piece::Bigram(first, second) => String::from_iter([first, second]),
            Piece::Character(c) => c.to_string(),
        });
    });
    tokens
}

/// Returns how many [`tokens`] a text has.
pub(crate) fn count_tokens(text: &str) -> usize {
    let mut count = 0;
    split(text, |_| count += 1);
    count
}

/// Returns each CJK character of the text, for queries of one character.
pub(crate) fn characters(text: &str) -> impl Iterator<Item = char> {
    text.nfkc().filter(|c| is_cjk(*c))
}

/// A token, prepared to be counted in many [plain](is_plain) texts, without splitting them.
pub(crate) struct PlainToken {
    token: String,
    /// A part of the token that stands wherever the token does.
    part: Finder<'static>,
    /// A bigram.
    is_cjk: bool,
}

impl PlainToken {
    /// Prepares a word or a bigram; nothing when it stands in no plain text.
    pub(crate) fn new(token: &str) -> Option<Self> {
        let part = Finder::new(unchanged_part(token)?).into_owned();
        Some(Self { token: token.to_owned(), part, is_cjk: token.chars().all(is_cjk) })
    }

    /// Returns how often the token is among the [`tokens`] of a plain text in lower case.
    pub(crate) fn count_in(&self, text: &str) -> u32 {
        let (mut count, mut from) = (0, 0);
        while let Some(at) = self.part.find(&text.as_bytes()[from..]) {
            let start = from + at;
            let end = if self.is_cjk { start } else { end_of_word(text, start) };
            count += u32::from(self.is_cjk || self.is_word(text, start, end));
            // Bigrams overlap by a character; none begins inside one, so a byte further is the next.
            from = end.max(start + 1);
        }
        count
    }

    fn is_word(&self, text: &str, start: usize, end: usize) -> bool {
        !text[..start].ends_with(is_part_of_word)
            && tokens(&text[start..end]) == [self.token.as_str()]
    }
}

fn end_of_word(text: &str, start: usize) -> usize {
    text[start..].find(|c| !is_part_of_word(c)).map_or(text.len(), |length| start + length)
}

/// Returns a part of a token that stands in every [plain](is_plain) text that has the token, apart from the case of letters.
///
/// None where what the text had cannot be told.
fn unchanged_part(token: &str) -> Option<&str> {
    if token.chars().all(is_cjk) {
        return Some(token);
    }
    if !token.is_ascii() {
        return None;
    }
    let changed = if is_stemmed(token) { MAX_STEM_CHANGE } else { 0 };
    token.get(..token.len().saturating_sub(changed).max(1))
}

/// Tells whether [`tokens`] takes all letters of a text as they are, apart from case; true for most English and Chinese.
pub(crate) fn is_plain(text: &str) -> bool {
    text.chars().all(|c| {
        matches!(c,
            '\0'..='\x7f' | '\u{2010}'..='\u{2027}'            // dashes, quotes, ellipses
            | '\u{3000}'..='\u{3003}' | '\u{3007}'..='\u{3020}' // Chinese punctuation, 〇
            | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' // Han
            | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}') // punctuation of full width
    })
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

/// What a token is made of.
enum Piece<'a> {
    /// A word in lower case.
    Word(&'a str),
    /// Two CJK characters side by side.
    Bigram(char, char),
    /// A CJK character alone.
    Character(char),
}

/// Hands the pieces of a text to `take`, in their order.
fn split(text: &str, take: impl FnMut(Piece<'_>)) {
    let mut splitter = Splitter { word: String::new(), previous: None, take };
    if is_plain(text) {
        // The same, at a fraction of the cost.
        text.chars().for_each(|c| splitter.next(c.to_ascii_lowercase()));
    } else {
        text.nfkc().flat_map(char::to_lowercase).for_each(|c| splitter.next(c));
    }
    splitter.next(' ');
}

struct Splitter<F> {
    /// The word being read.
    word: String,
    /// The last character of the CJK run being read, and whether a bigram has it already.
    previous: Option<(char, bool)>,
    take: F,
}

impl<F: FnMut(Piece<'_>)> Splitter<F> {
    fn next(&mut self, c: char) {
        if is_cjk(c) {
            self.end_word();
            if let Some((previous, _)) = self.previous {
                (self.take)(Piece::Bigram(previous, c));
            }
            self.previous = Some((c, self.previous.is_some()));
            return;
        }
        if let Some((previous, false)) = self.previous.take() {
            (self.take)(Piece::Character(previous));
        }
        if is_part_of_word(c) {
            self.word.push(c);
        } else {
            self.end_word();
        }
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let end =
            self.word.char_indices().nth(MAX_WORD_CHARS).map_or(self.word.len(), |(at, _)| at);
        (self.take)(Piece::Word(&self.word[..end]));
        self.word.clear();
    }
}

fn is_part_of_word(c: char) -> bool {
    c.is_alphanumeric() && !is_cjk(c)
}

/// Tells whether a word of lower case, or what is left of it, is stemmed.
fn is_stemmed(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_lowercase())
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

    #[test]
    fn a_part_of_a_token_is_as_the_text_had_it() {
        assert_eq!(unchanged_part("extract"), Some("extra"));
        assert_eq!(unchanged_part("c"), Some("c"));
        assert_eq!(unchanged_part("http2"), Some("http2"));
        assert_eq!(unchanged_part("表格"), Some("表格"));
        assert_eq!(unchanged_part("naïve"), None);
        for plain in ["Tables, “quickly”—see §".trim_end_matches(" §"), "提取表格，然后（再）看！"]
        {
            assert!(is_plain(plain), "{plain}");
        }
        for other in ["Ｆｕｌｌ", "ﬁt", "ｶﾞ", "㍿", "é", "½"] {
            assert!(!is_plain(other), "{other}");
        }
    }

    #[test]
    fn a_plain_character_is_in_words_as_it_is() {
        for c in (char::MIN..=char::MAX).filter(|c| is_plain(&c.to_string()) && !c.is_ascii()) {
            let expected = if is_cjk(c) { vec![c.to_string()] } else { Vec::new() };
            assert_eq!(tokens(&c.to_string()), expected, "{c:?}");
        }
    }

    /// English words and what only looks like them, so that every rule of the stemmer has its turn.
    const WORDS: &str = "(([a-z]{0,4}|sk|d|l|t|id|gent|ugl|earl|onl|singl|abl|hop|ag|gener|arsen|comm)\
        (ational|tional|enci|anci|izer|ization|ation|ator|alism|aliti|alli|fulness|ousli|ousness|iveness|\
        iviti|biliti|bility|bli|ogi|fulli|lessli|entli|icate|iciti|ical|ative|alize|ement|ment|ence|able|\
        ies|ied|ying|ing|ingly|ed|edly|eed|eedly|sses|ss|s|y|ly|e|l|ion|es)?( |，|表格|1|_)?){1,6}";

    /// Plain texts of few letters, so that tokens come more than once and inside others.
    const PLAIN: &str = "([abAB]{1,3}|table|tables|Tabling|a1|表{1,3}|格|〇|，|_|\u{2019}|[ .]|[a-z]{62,66}s?){0,12}";

    proptest! {
        #[test]
        fn every_token_leaves_its_unchanged_part(text in WORDS) {
            prop_assert!(is_plain(&text));
            let lower = text.to_ascii_lowercase();
            for token in tokens(&text) {
                let part = unchanged_part(&token).unwrap();
                prop_assert!(lower.contains(part), "{part:?} of {token:?}");
            }
        }

        #[test]
        fn a_plain_text_leaves_the_parts_of_its_tokens(text: String) {
            let lower = text.to_ascii_lowercase();
            for token in tokens(&text).iter().filter(|_| is_plain(&text)) {
                prop_assert!(unchanged_part(token).is_none_or(|part| lower.contains(part)));
            }
        }

        #[test]
        fn tokens_are_counted_as_they_are_split(text in PLAIN, other in PLAIN) {
            prop_assert!(is_plain(&text));
            let lower = text.to_ascii_lowercase();
            let all = tokens(&text);
            prop_assert_eq!(count_tokens(&lower), all.len());
            for token in all.iter().chain(&tokens(&other)).filter(|token| token.chars().count() > 1) {
                let Some(plain) = PlainToken::new(token) else { continue };
                let expected = all.iter().filter(|one| *one == token).count();
                prop_assert_eq!(plain.count_in(&lower) as usize, expected, "{} in {:?}", token, &text);
            }
        }

        #[test]
        fn never_panics_and_never_returns_an_empty_token(text: String) {
            prop_assert!(tokens(&text).iter().all(|token| !token.is_empty()));
            let _ = characters(&text).count();
        }
    }
}
