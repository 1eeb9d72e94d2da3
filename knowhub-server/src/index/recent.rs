//! Changes that are not on disk yet: a short list in memory, searched from end to end.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, OnceLock},
};

use tokio::sync::Notify;

use super::{Doc, Update};
use crate::text::{Folded, is_plain, tokens, unchanged_part};

/// How many rows make a commit due.
const COMMIT_ROWS: usize = 2_000;

/// How many rows wait in memory at most.
///
/// While the index follows, the store's writer waits for room, and every writer with it;
/// otherwise nobody knows when there will be any, and searches lose: they are refused until it follows again.
const MAX_ROWS: usize = 2 * COMMIT_ROWS;

/// How many bytes of text wait in memory at most; the same ones lose.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// What becomes of a change that comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Keeping {
    /// It is let go of: the index lacks rows anyway, and its follower reads them from the store.
    #[default]
    Nothing,
    /// It stays here; when there is no room, all are let go of.
    WhileRoom,
    /// It stays here; when there is no room, its writer waits for the follower.
    All,
}

/// The changes beyond an index's mark.
#[derive(Default)]
pub(crate) struct Recent {
    state: Mutex<State>,
    /// Signalled when rows were let go of.
    room: Condvar,
    /// Signalled when a row has come.
    arrived: Notify,
    /// Signalled when a commit is due before its time.
    due: Notify,
}

#[derive(Default)]
struct State {
    keeping: Keeping,
    /// What is here and what is on disk are together all rows of the store.
    is_whole: bool,
    /// The newest change of each row, in their order.
    changes: Vec<Newest>,
    /// The greatest row that ever was here.
    top_row: i64,
    /// The texts' sizes together.
    bytes: usize,
    /// Nobody lets go of rows any more, so nobody may wait for it.
    closed: bool,
}

/// What memory knows of a row.
#[derive(Clone)]
pub(super) struct Newest {
    pub(super) row: i64,
    pub(super) seq: i64,
    /// Absent when the row is gone.
    pub(super) entry: Option<Arc<Entry>>,
}

impl Newest {
    fn bytes(&self) -> usize {
        self.entry.as_ref().map_or(0, |entry| entry.bytes)
    }
}

impl From<Update> for Newest {
    fn from(update: Update) -> Self {
        let (row, seq) = (update.row(), update.seq());
        let entry = match update {
            Update::Put(doc) => Some(Arc::new(Entry::new(doc))),
            Update::Drop { .. } => None,
        };
        Self { row, seq, entry }
    }
}

impl State {
    fn push(&mut self, change: Newest) {
        // A row above all others is new; only others can have an older state here.
        if change.row <= self.top_row {
            let older = self.changes.iter().position(|older| older.row == change.row);
            self.bytes -= older.map_or(0, |at| self.changes.remove(at).bytes());
        }
        self.top_row = self.top_row.max(change.row);
        self.bytes += change.bytes();
        self.changes.push(change);
    }

    /// Makes room without the follower; from now on rows are missing.
    fn let_go(&mut self) {
        self.keeping = Keeping::Nothing;
        self.is_whole = false;
        self.changes = Vec::new();
        self.bytes = 0;
    }

    fn is_full(&self) -> bool {
        self.changes.len() >= MAX_ROWS || self.bytes >= MAX_BYTES
    }

    fn is_due(&self) -> bool {
        self.changes.len() >= COMMIT_ROWS || self.bytes >= MAX_BYTES / 2
    }
}

impl Recent {
    /// Takes in changes in their order; waits while the list is full and the index follows.
    pub(crate) fn remember(&self, updates: Vec<Update>) {
        for update in updates {
            let newest = Newest::from(update);
            let must_wait = |state: &mut State| {
                state.is_full() && state.keeping == Keeping::All && !state.closed
            };
            let mut state = self
                .room
                .wait_while(self.state(), must_wait)
                .expect("nobody panics while holding it");
            if state.is_full() && state.keeping == Keeping::WhileRoom {
                state.let_go();
            }
            if state.keeping != Keeping::Nothing {
                state.push(newest);
            }
            // Said for each row, since the next one may have to wait until the follower has done its work.
            self.arrived.notify_one();
            if state.is_due() {
                self.due.notify_one();
            }
        }
    }

    /// Keeps what comes from now on; whoever then reads the store to its end misses nothing.
    pub(crate) fn keep(&self) {
        let mut state = self.state();
        if state.keeping == Keeping::Nothing {
            state.keeping = Keeping::WhileRoom;
        }
    }

    /// Notes that the store was read to its end since [`Recent::keep`], and is on disk up to `mark`.
    ///
    /// Returns whether nothing is missing: false when changes were let go of meanwhile.
    pub(super) fn complete(&self, mark: i64) -> bool {
        let mut state = self.state();
        if state.keeping != Keeping::Nothing {
            state.keeping = Keeping::All;
            state.is_whole = true;
        }
        let is_whole = state.is_whole;
        drop(state);
        // A row may have been read from the store before it came to memory.
        self.forget(mark);
        is_whole
    }

    /// Lets nobody wait for a follower that has failed.
    pub(super) fn keep_while_room(&self) {
        let mut state = self.state();
        if state.keeping == Keeping::All {
            state.keeping = Keeping::WhileRoom;
        }
        drop(state);
        self.room.notify_all();
    }

    /// Waits until there is a row that came after the last call.
    pub(crate) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// Waits until so much is here that it should be committed now.
    pub(crate) async fn due(&self) {
        self.due.notified().await;
    }

    /// Lets nobody wait for room any more.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.room.notify_all();
    }

    /// Returns how many changes are here.
    pub(crate) fn len(&self) -> usize {
        self.state().changes.len()
    }

    /// Returns the changes, unless some that are not on disk either are missing.
    pub(super) fn snapshot(&self) -> Option<Vec<Newest>> {
        let state = self.state();
        state.is_whole.then(|| state.changes.clone())
    }

    /// Lets go of the changes up to `mark`.
    pub(super) fn forget(&self, mark: i64) {
        let mut state = self.state();
        state.changes.retain(|change| change.seq > mark);
        state.bytes = state.changes.iter().map(Newest::bytes).sum();
        drop(state);
        self.room.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics while holding it")
    }
}

/// One row.
pub(super) struct Entry {
    pub(super) row: i64,
    pub(super) seq: i64,
    pub(super) group: Option<u64>,
    texts: Vec<String>,
    is_plain: bool,
    /// By their [`hash`].
    labels: Vec<u64>,
    bytes: usize,
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
        if super::fields::is_character(token) {
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
    fn new(doc: Doc) -> Self {
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

#[cfg(test)]
mod tests {
    use std::{sync::Arc, thread};

    use super::*;

    /// More changes than there is room for, from `seq` on.
    fn crowd(seq: i64) -> Vec<Update> {
        let changes = MAX_ROWS.cast_signed() as i64 + 1;
        (seq..seq + changes).map(|seq| Update::Drop { row: seq, seq }).collect()
    }

    #[test]
    fn nobody_waits_while_rows_are_missing_anyway() {
        let recent = Recent::default();
        recent.remember(crowd(1));
        assert_eq!(recent.len(), 0);
        recent.keep();
        recent.remember(vec![Update::Drop { row: 1, seq: 1 }]);
        assert_eq!(recent.len(), 1);
        assert!(recent.snapshot().is_none(), "the store was not read to its end yet");

        recent.remember(crowd(2));
        assert!(!recent.complete(1), "some of what came while the store was read is missing");
        assert!(recent.snapshot().is_none());
        recent.keep();
        assert!(recent.complete(9_999));
        assert!(recent.snapshot().unwrap().is_empty());
    }

    #[test]
    fn a_writer_waits_for_a_follower_and_no_longer_when_that_fails() {
        let recent = Arc::new(Recent::default());
        recent.keep();
        assert!(recent.complete(0));
        let writer = Arc::clone(&recent);
        let writing = thread::spawn(move || writer.remember(crowd(1)));
        while recent.len() < MAX_ROWS {
            thread::yield_now();
        }
        assert!(!writing.is_finished());
        recent.forget(1);
        writing.join().unwrap();
        assert_eq!(recent.snapshot().unwrap().len(), MAX_ROWS, "nothing is let go of");

        let writer = Arc::clone(&recent);
        let writing = thread::spawn(move || writer.remember(crowd(10_000)));
        recent.keep_while_room();
        writing.join().unwrap();
        assert!(recent.snapshot().is_none(), "searches are refused rather than writers");
    }
}
