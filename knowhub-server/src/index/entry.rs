//! A row in memory, and how tokens, words and labels are looked up in it.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{LazyLock, OnceLock},
};

use super::{Doc, fields::is_character};
use crate::text::{Folded, is_plain, tokens, unchanged_part};

/// One row.
pub(super) struct Entry {
    pub(super) row: i64,
    pub(super) seq: i64,
    pub(super) group: Option<u64>,
    texts: Vec<String>,
    is_plain: bool,
    /// By their [`hash`].
    labels: Vec<u64>,
    /// How much its texts have together.
    pub(super) bytes: usize,
    /// Made by the first search that looks: the store's writer has better things to do.
    folded: OnceLock<Vec<Folded>>,
    /// Made only for a row that may have a token of the search, since it takes long.
    split: OnceLock<Split>,
}

/// A row's texts, split.
struct Split {
    /// How often each token stands there, by [`hash`], in that order.
    counts: Vec<(u64, u32)>,
    length_of_words: u32,
}

/// A token, prepared to be looked up in many rows.
pub(super) enum Sought {
    /// A word or a bigram, by its hash, and what stands in every plain text that has it.
    Token(u64, Option<Folded>),
    /// A single CJK character.
    Character(Folded),
}

impl Sought {
    pub(super) fn new(token: &str) -> Self {
        if is_character(token) {
            Self::Character(Folded::new(token))
        } else {
            Self::Token(hash(token), unchanged_part(token).map(Folded::new))
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
    pub(super) fn new(doc: Doc) -> Self {
        Self {
            row: doc.row,
            seq: doc.seq,
            bytes: doc.texts.iter().map(String::len).sum(),
            group: doc.group,
            is_plain: doc.texts.iter().all(|text| is_plain(text)),
            texts: doc.texts,
            labels: doc.labels.iter().map(|label| hash(label)).collect(),
            folded: OnceLock::new(),
            split: OnceLock::new(),
        }
    }

    /// Returns how many tokens its texts have together.
    pub(super) fn length_of_words(&self) -> u32 {
        self.split().length_of_words
    }

    /// Returns how often a token stands in the row; for a single CJK character, whether it does.
    pub(super) fn count(&self, token: &Sought) -> u32 {
        match token {
            Sought::Character(character) => u32::from(self.contains(character)),
            Sought::Token(_, Some(part)) if self.is_plain && !self.contains(part) => 0,
            Sought::Token(hash, _) => {
                let counts = &self.split().counts;
                let at = counts.binary_search_by_key(hash, |(hash, _)| *hash);
                at.map_or(0, |at| counts[at].1)
            }
        }
    }

    pub(super) fn contains(&self, word: &Folded) -> bool {
        let folded =
            self.folded.get_or_init(|| self.texts.iter().map(|text| Folded::new(text)).collect());
        folded.iter().any(|text| text.contains(word))
    }

    pub(super) fn has_label(&self, label: u64) -> bool {
        self.labels.contains(&label)
    }

    fn split(&self) -> &Split {
        self.split.get_or_init(|| Split::new(&self.texts))
    }
}

impl Split {
    fn new(texts: &[String]) -> Self {
        let tokens = texts.iter().flat_map(|text| tokens(text));
        let mut counts: Vec<(u64, u32)> = tokens.map(|token| (hash(&token), 1)).collect();
        let length_of_words = counts.len() as u32;
        counts.sort_unstable();
        counts.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += u32::from(is_same) * next.1;
            is_same
        });
        Self { counts, length_of_words }
    }
}
