//! The rows that a search reads, some time after it found them in an index.

use std::{cell::Cell, collections::HashMap, ops::Deref};

use super::Error;
use crate::{index::Hit, store::Reader};

/// How often a search looks for rows at most; a row that changes faster than that is left out.
const MAX_LOOKS: usize = 3;

/// Reads rows of the store for one search.
pub(super) struct Rows<'a> {
    reader: &'a Reader<'a>,
    /// One is no longer as it was found, so that the search lacks it.
    has_changed: Cell<bool>,
}

impl<'a> Deref for Rows<'a> {
    type Target = Reader<'a>;

    fn deref(&self) -> &Reader<'a> {
        self.reader
    }
}

/// Does `work`, and does it again when a row has changed between the index and the store.
pub(super) fn unchanged<T>(
    reader: &Reader<'_>,
    work: impl Fn(&Rows<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let rows = Rows { reader, has_changed: Cell::new(false) };
    for _ in 1..MAX_LOOKS {
        let done = work(&rows)?;
        if !rows.has_changed.take() {
            return Ok(done);
        }
    }
    work(&rows)
}

impl Rows<'_> {
    /// Returns of these rows those that are as the hits found them, by their numbers.
    ///
    /// `place` tells a row's number and its last change.
    pub(super) fn as_found<T>(
        &self,
        hits: &[Hit],
        rows: Vec<T>,
        place: impl Fn(&T) -> (i64, i64),
    ) -> HashMap<i64, T> {
        let seqs: HashMap<i64, i64> = hits.iter().map(|hit| (hit.row, hit.seq)).collect();
        let mut found = HashMap::with_capacity(rows.len());
        for row in rows {
            let (number, seq) = place(&row);
            if seqs.get(&number) == Some(&seq) {
                found.insert(number, row);
            } else {
                self.has_changed.set(true);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{metrics::CommitMetrics, store::Store};

    #[tokio::test]
    async fn a_search_is_repeated_while_rows_change_under_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub.db");
        let store = Store::open(&path, CommitMetrics::default(), |_| {}).unwrap();
        for (changes, looks, found) in [(0, 1, 1), (1, 2, 1), (2, 3, 1), (9, 3, 0)] {
            let searched = store.reading(move |reader| {
                let looked = Cell::new(0);
                let found = unchanged(reader, |rows| {
                    let hit = Hit { row: 1, seq: looked.get().min(changes), score: 0.0 };
                    looked.set(looked.get() + 1);
                    Ok(rows.as_found(&[hit], vec![(1, changes)], |row| *row).len())
                })?;
                Ok::<_, Error>((looked.get(), found))
            });
            assert_eq!(searched.await.unwrap(), (looks, found), "{changes} changes");
        }
        store.close().await;
    }
}
