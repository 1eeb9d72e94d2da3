//! Changes that are not on disk yet: a short list in memory, searched from end to end.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use tokio::sync::Notify;

use super::{Grams, Update, entry::Entry};

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
pub(crate) struct Recent {
    /// What the index keeps on disk, so that the same is found here.
    grams: Grams,
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
    fn new(update: Update, grams: Grams) -> Self {
        let (row, seq) = (update.row(), update.seq());
        let entry = match update {
            Update::Put(doc) => Some(Arc::new(Entry::new(doc, grams))),
            Update::Drop { .. } => None,
        };
        Self { row, seq, entry }
    }

    fn bytes(&self) -> usize {
        self.entry.as_ref().map_or(0, |entry| entry.bytes)
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
    /// Begins with none, for an index with such grams.
    pub(crate) fn new(grams: Grams) -> Self {
        Self {
            grams,
            state: Mutex::default(),
            room: Condvar::new(),
            arrived: Notify::new(),
            due: Notify::new(),
        }
    }

    /// Returns which grams the index keeps.
    pub(super) fn grams(&self) -> Grams {
        self.grams
    }

    /// Takes in changes in their order; waits while the list is full and the index follows.
    pub(crate) fn remember(&self, updates: Vec<Update>) {
        for update in updates {
            let newest = Newest::new(update, self.grams);
            let must_wait = |state: &mut State| state.is_full() && state.keeping == Keeping::All;
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

    /// Lets nobody wait for a follower that has failed or ended.
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
        let recent = Recent::new(Grams::Substrings);
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
        let recent = Arc::new(Recent::new(Grams::Substrings));
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
