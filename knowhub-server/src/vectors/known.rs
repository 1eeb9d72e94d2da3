//! Which rows searches may find, apart from where their vectors are.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use roaring::RoaringBitmap;

use super::{
    labels::{Label, Labels},
    sample::Sample,
};

/// What is known of the rows.
#[derive(Default)]
pub(super) struct Known {
    /// The rows that searches may find; they go on with them as they were.
    visible: Arc<RoaringBitmap>,
    /// Rows that the graph still has and no search may find; they may have labels yet.
    hidden: RoaringBitmap,
    /// The labels of rows that are on their way into the graph, without those that were hidden meanwhile.
    arriving: HashMap<u32, Vec<String>>,
    labels: Labels,
    sample: Sample,
}

/// The rows at one moment, to be saved.
pub(super) struct Snapshot {
    pub(super) rows: Arc<RoaringBitmap>,
    pub(super) labels: Vec<Label>,
}

/// What a search asks for, put together without holding others up.
pub(super) struct Kept {
    visible: Arc<RoaringBitmap>,
    groups: Vec<Vec<Arc<RoaringBitmap>>>,
}

impl Kept {
    /// Returns the visible rows that have a label of each group.
    pub(super) fn rows(self) -> Arc<RoaringBitmap> {
        let mut kept = self.visible;
        for group in self.groups {
            kept = match group.as_slice() {
                [label] => Arc::new(&*kept & &**label),
                labels => {
                    let mut any = RoaringBitmap::new();
                    for label in labels {
                        any |= &**label;
                    }
                    any &= &*kept;
                    Arc::new(any)
                }
            };
        }
        kept
    }
}

impl Known {
    /// Puts together what a [`Snapshot`] has.
    pub(super) fn restore(rows: RoaringBitmap, labels: Vec<(String, RoaringBitmap)>) -> Self {
        Self {
            sample: rows.iter().collect(),
            visible: Arc::new(rows),
            labels: Labels::restore(labels),
            ..Self::default()
        }
    }

    /// Returns how many rows can be found.
    pub(super) fn len(&self) -> usize {
        self.visible.len() as usize
    }

    /// Returns what a search with these filters may find.
    pub(super) fn kept(&self, filters: &[Vec<String>]) -> Kept {
        let rows =
            |group: &Vec<String>| group.iter().filter_map(|name| self.labels.rows(name)).collect();
        Kept { visible: Arc::clone(&self.visible), groups: filters.iter().map(rows).collect() }
    }

    /// Returns a few rows that stand for all.
    pub(super) fn sample(&mut self) -> Vec<u32> {
        if self.sample.is_short() {
            self.sample = self.visible.iter().collect();
        }
        self.sample.rows()
    }

    /// Returns all that is to be saved; nothing is hidden since [`Known::take_hidden`].
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot { rows: Arc::clone(&self.visible), labels: self.labels.list() }
    }

    /// Lets no search find a row any more.
    pub(super) fn hide(&mut self, row: u32) {
        self.arriving.remove(&row);
        if self.make_invisible(row) {
            self.hidden.insert(row);
        }
    }

    /// Gives a row that can be found, or soon can be, other labels; returns whether it can be found now.
    pub(super) fn relabel(&mut self, row: u32, labels: &[String]) -> bool {
        if let Entry::Occupied(mut arriving) = self.arriving.entry(row) {
            labels.clone_into(arriving.get_mut());
        }
        let is_visible = self.visible.contains(row);
        if is_visible {
            self.labels.set(row, labels);
        }
        is_visible
    }

    /// Returns the hidden rows, to be taken out of the graph, and forgets them.
    pub(super) fn take_hidden(&mut self) -> RoaringBitmap {
        for row in &self.hidden {
            self.labels.clear(row);
        }
        std::mem::take(&mut self.hidden)
    }

    /// Notes that hidden rows could not be taken out.
    pub(super) fn hide_again(&mut self, rows: &RoaringBitmap) {
        self.hidden |= rows;
    }

    /// Notes rows on their way into the graph, with their labels.
    pub(super) fn begin(&mut self, rows: HashMap<u32, Vec<String>>) {
        self.arriving = rows;
    }

    /// Lets searches find rows that are in the graph now, unless they were hidden on their way.
    pub(super) fn arrived(&mut self, rows: impl Iterator<Item = u32>) {
        for row in rows {
            if let Some(labels) = self.arriving.remove(&row) {
                self.labels.set(row, &labels);
                self.hidden.remove(row);
                Arc::make_mut(&mut self.visible).insert(row);
                self.sample.insert(row);
            } else {
                self.hidden.insert(row);
            }
        }
    }

    /// Notes that none is on its way any more.
    pub(super) fn end(&mut self) {
        self.arriving = HashMap::new();
    }

    /// Notes that the graph lost a row.
    pub(super) fn forget(&mut self, row: u32) {
        self.make_invisible(row);
        self.hidden.remove(row);
        self.labels.clear(row);
    }

    /// Returns whether the row was visible.
    fn make_invisible(&mut self, row: u32) -> bool {
        // Looked for first: to change what a search still reads means to copy it.
        if !self.visible.contains(row) {
            return false;
        }
        self.sample.remove(row);
        Arc::make_mut(&mut self.visible).remove(row)
    }
}
