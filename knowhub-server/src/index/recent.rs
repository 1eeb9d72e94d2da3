//! Rows that are not on disk yet: a short list in memory, searched from end to end.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Condvar, Mutex, MutexGuard},
};

use tokio::sync::Notify;

use super::Doc;
use crate::text::{Folded, tokens};

/// How many rows make a commit due.
const COMMIT_ROWS: usize = 2_000;

/// How many rows wait in memory at most; then the store's writer waits, and every writer with it.
const MAX_ROWS: usize = 2 * COMMIT_ROWS;

/// How many bytes of text wait in memory at most; the same ones lose.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The rows beyond an index's mark.
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
    /// In the order of their changes.
    entries: Vec<Arc<Entry>>,
    /// The texts' sizes together.
    bytes: usize,
    /// Nobody lets go of rows any more, so nobody may wait for it.
    closed: bool,
}

impl State {
    fn is_full(&self) -> bool {
        self.entries.len() >= MAX_ROWS || self.bytes >= MAX_BYTES
    }

    fn is_due(&self) -> bool {
        self.entries.len() >= COMMIT_ROWS || self.bytes >= MAX_BYTES / 2
    }
}

impl Recent {
    /// Takes in rows in the order of their changes; waits while the list is full.
    pub(crate) fn remember(&self, docs: Vec<Doc>) {
        for doc in docs {
            let entry = Arc::new(Entry::new(doc));
            let mut state = self
                .room
                .wait_while(self.state(), |state| state.is_full() && !state.closed)
                .expect("nobody panics while holding it");
            state.bytes += entry.bytes;
            state.entries.push(entry);
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

    pub(super) fn snapshot(&self) -> Vec<Arc<Entry>> {
        self.state().entries.clone()
    }

    /// Lets go of the rows up to change `mark`.
    pub(super) fn forget(&self, mark: i64) {
        let mut state = self.state();
        state.entries.retain(|entry| entry.seq > mark);
        state.bytes = state.entries.iter().map(|entry| entry.bytes).sum();
        drop(state);
        self.room.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics while holding it")
    }
}

/// One row, split and folded once.
pub(super) struct Entry {
    pub(super) row: i64,
    pub(super) seq: i64,
    /// How many tokens its texts have together.
    pub(super) length_of_words: u32,
    counts: HashMap<String, u32>,
    texts: Vec<Folded>,
    labels: HashSet<String>,
    bytes: usize,
}

impl Entry {
    fn new(doc: Doc) -> Self {
        let mut counts = HashMap::new();
        let mut length_of_words = 0;
        for token in doc.texts.iter().flat_map(|text| tokens(text)) {
            *counts.entry(token).or_insert(0) += 1;
            length_of_words += 1;
        }
        Self {
            row: doc.row,
            seq: doc.seq,
            length_of_words,
            counts,
            texts: doc.texts.iter().map(|text| Folded::new(text)).collect(),
            labels: doc.labels.into_iter().collect(),
            bytes: doc.texts.iter().map(String::len).sum(),
        }
    }

    /// Returns how often a token stands in the row; for a single CJK character, whether it does.
    pub(super) fn count(&self, token: &str) -> u32 {
        if super::fields::is_character(token) {
            let word = Folded::new(token);
            return u32::from(self.contains(&word));
        }
        self.counts.get(token).copied().unwrap_or(0)
    }

    pub(super) fn contains(&self, word: &Folded) -> bool {
        self.texts.iter().any(|text| text.contains(word))
    }

    pub(super) fn has_label(&self, label: &str) -> bool {
        self.labels.contains(label)
    }
}
