//! A row in memory, and how tokens, words and labels are looked up in it.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{LazyLock, OnceLock},
};

use super::{Doc, Grams, fields::is_character};
use crate::text::{Folded, Needle, PlainToken, characters, count_tokens, is_plain, tokens};

/// One row.
pub(super) struct Entry {
    pub(super) row: i64,
    pub(super) seq: i64,
    pub(super) group: Option<u64>,
    /// How much its texts have together.
    pub(super) bytes: usize,
    /// By their [`hash`].
    labels: Vec<u64>,
    /// Its texts one behind the other, with white space between them, which stands in no word.
    text: Folded,
    words: Words,
}

/// How tokens are counted in a row, as far as that is found out by the first search that asks:
/// the store's writer has better things to do.
enum Words {
    /// In the text as it stands.
    Plain { length: OnceLock<u32> },
    /// In what splitting makes of texts that it changes, which takes long.
    Split { texts: Vec<String>, grams: Grams, split: OnceLock<Split> },
}

/// A row's texts, split.
struct Split {
    /// How often each token stands there, by [`hash`], in that order.
    counts: Vec<(u64, u32)>,
    /// The CJK characters that stand there, sorted; none where grams keep them as the texts have them.
    characters: Vec<char>,
    length: u32,
}

/// A token, prepared to be looked up in many rows.
pub(super) enum Sought {
    /// A word or a bigram: its hash, and itself where it can stand in a plain text.
    Token(u64, Option<PlainToken>),
    /// A single CJK character: itself, and as it is found in a text as it stands.
    Character(char, Needle<'static>),
}

impl Sought {
    pub(super) fn new(token: &str) -> Self {
        match token.chars().next() {
            Some(character) if is_character(token) => {
                Self::Character(character, Folded::new(token).needle().into_owned())
            }
            _ => Self::Token(hash(token), PlainToken::new(token)),
        }
    }
}

/// Returns what tokens and labels are compared by in memory.
///
/// Two of one hash are taken for the same; the key, drawn anew in each process, keeps anybody from aiming at that.
pub(super) fn hash(text: &str) -> u64 {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEY.hash_one(text)
}

impl Entry {
    /// Takes a row as an index with such grams does.
    pub(super) fn new(doc: Doc, grams: Grams) -> Self {
        let Doc { row, seq, group, texts, labels } = doc;
        Self {
            row,
            seq,
            group,
            bytes: texts.iter().map(String::len).sum(),
            labels: labels.iter().map(|label| hash(label)).collect(),
            text: Folded::new(&texts.join("\n")),
            words: if texts.iter().all(|text| is_plain(text)) {
                Words::Plain { length: OnceLock::new() }
            } else {
                Words::Split { texts, grams, split: OnceLock::new() }
            },
        }
    }

    /// Returns how many tokens its texts have together.
    pub(super) fn length_of_words(&self) -> u32 {
        match &self.words {
            Words::Plain { length } => {
                *length.get_or_init(|| count_tokens(self.text.as_str()) as u32)
            }
            Words::Split { texts, grams, split } => {
                split.get_or_init(|| Split::new(texts, *grams)).length
            }
        }
    }

    /// Returns how often a token stands in the row; for a single CJK character, whether it does.
    pub(super) fn count(&self, token: &Sought) -> u32 {
        match (token, &self.words) {
            (Sought::Character(c, _), Words::Split { texts, grams: Grams::Characters, split }) => {
                let split = split.get_or_init(|| Split::new(texts, Grams::Characters));
                u32::from(split.characters.binary_search(c).is_ok())
            }
            (Sought::Character(_, needle), _) => u32::from(self.contains(needle)),
            (Sought::Token(_, plain), Words::Plain { .. }) => {
                plain.as_ref().map_or(0, |token| token.count_in(self.text.as_str()))
            }
            (Sought::Token(hash, _), Words::Split { texts, grams, split }) => {
                split.get_or_init(|| Split::new(texts, *grams)).count(*hash)
            }
        }
    }

    pub(super) fn contains(&self, word: &Needle<'_>) -> bool {
        self.text.has(word)
    }

    pub(super) fn has_label(&self, label: u64) -> bool {
        self.labels.contains(&label)
    }
}

impl Split {
    fn new(texts: &[String], grams: Grams) -> Self {
        let tokens = texts.iter().flat_map(|text| tokens(text));
        let mut counts: Vec<(u64, u32)> = tokens.map(|token| (hash(&token), 1)).collect();
        let length = counts.len() as u32;
        counts.sort_unstable();
        counts.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += u32::from(is_same) * next.1;
            is_same
        });
        let mut characters: Vec<char> = match grams {
            Grams::Characters => texts.iter().flat_map(|text| characters(text)).collect(),
            Grams::Substrings => Vec::new(),
        };
        characters.sort_unstable();
        characters.dedup();
        Self { counts, characters, length }
    }

    fn count(&self, token: u64) -> u32 {
        let at = self.counts.binary_search_by_key(&token, |(hash, _)| *hash);
        at.map_or(0, |at| self.counts[at].1)
    }
}
