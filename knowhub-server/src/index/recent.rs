//! Changes that are not on disk yet: a short list in memory, searched from end to end.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock},
};

use tokio::sync::Notify;

use super::{Doc, Update};
use crate::text::{Folded, tokens};

/// How many rows make a commit due.
const COMMIT_ROWS: usize = 2_000;

/// How many rows wait in memory at most; then the store's writer waits, and every writer with it.
const MAX_ROWS: usize = 2 * COMMIT_ROWS;

/// How many bytes of text wait in memory at most; the same ones lose.
const MAX_BYTES: usize = 16 * 1024 * 1024;

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

    fn is_full(&self) -> bool {
        self.changes.len() >= MAX_ROWS || self.bytes >= MAX_BYTES
    }

    fn is_due(&self) -> bool {
        self.changes.len() >= COMMIT_ROWS || self.bytes >= MAX_BYTES / 2
    }
}

impl Recent {
    /// Takes in changes in their order; waits while the list is full.
    pub(crate) fn remember(&self, updates: Vec<Update>) {
        for update in updates {
            let newest = Newest::from(update);
            let mut state = self
                .room
                .wait_while(self.state(), |state| state.is_full() && !state.closed)
                .expect("nobody panics while holding it");
            state.push(newest);
            // Said for each row, since the next one may have to wait until the follower has done its work.
            self.arrived.notify_one();
            if state.is_due() {
                self.due.notify_one();
            }
        }
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

    pub(super) fn snapshot(&self) -> Vec<Newest> {
        self.state().changes.clone()
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
    labels: HashSet<String>,
    bytes: usize,
    /// Made by the first search that looks: the store's writer has better things to do.
    split: OnceLock<Split>,
}

/// A row's texts, split and folded.
struct Split {
    counts: HashMap<String, u32>,
    length_of_words: u32,
    folded: Vec<Folded>,
}

impl Entry {
    fn new(doc: Doc) -> Self {
        Self {
            row: doc.row,
            seq: doc.seq,
            bytes: doc.texts.iter().map(String::len).sum(),
            group: doc.group,
            texts: doc.texts,
            labels: doc.labels.into_iter().collect(),
            split: OnceLock::new(),
        }
    }

    /// Returns how many tokens its texts have together.
    pub(super) fn length_of_words(&self) -> u32 {
        self.split().length_of_words
    }

    /// Returns how often a token stands in the row; for a single CJK character, whether it does.
    pub(super) fn count(&self, token: &str) -> u32 {
        if super::fields::is_character(token) {
            let word = Folded::new(token);
            return u32::from(self.contains(&word));
        }
        self.split().counts.get(token).copied().unwrap_or(0)
    }

    pub(super) fn contains(&self, word: &Folded) -> bool {
        self.split().folded.iter().any(|text| text.contains(word))
    }

    pub(super) fn has_label(&self, label: &str) -> bool {
        self.labels.contains(label)
    }

    fn split(&self) -> &Split {
        self.split.get_or_init(|| Split::new(&self.texts))
    }
}

impl Split {
    fn new(texts: &[String]) -> Self {
        let mut counts = HashMap::new();
        let mut length_of_words = 0;
        for token in texts.iter().flat_map(|text| tokens(text)) {
            *counts.entry(token).or_insert(0) += 1;
            length_of_words += 1;
        }
        let folded = texts.iter().map(|text| Folded::new(text)).collect();
        Self { counts, length_of_words, folded }
    }
}
