//! Which rows have which label: a bitmap of rows for each label.

use std::{collections::HashMap, sync::Arc};

use roaring::RoaringBitmap;

/// The labels of all rows.
#[derive(Default)]
pub(super) struct Labels {
    ids: HashMap<Arc<str>, u32>,
    /// One whose id is unused has no rows.
    by_id: Vec<Label>,
    unused: Vec<u32>,
    /// The ids of each row's labels, in growing order; a row without labels is not here.
    of_rows: HashMap<u32, Box<[u32]>>,
}

/// A label and its rows; searches go on with them as they were.
#[derive(Clone)]
pub(super) struct Label {
    pub(super) name: Arc<str>,
    pub(super) rows: Arc<RoaringBitmap>,
}

impl Labels {
    /// Puts together what [`Labels::list`] took apart.
    pub(super) fn restore(labels: Vec<(String, RoaringBitmap)>) -> Self {
        let mut of_rows: HashMap<u32, Vec<u32>> = HashMap::new();
        let mut restored = Self::default();
        for (id, (name, rows)) in (0..).zip(labels) {
            for row in &rows {
                of_rows.entry(row).or_default().push(id);
            }
            let label = Label { name: name.into(), rows: Arc::new(rows) };
            restored.ids.insert(Arc::clone(&label.name), id);
            restored.by_id.push(label);
        }
        restored.of_rows = of_rows.into_iter().map(|(row, ids)| (row, ids.into())).collect();
        restored
    }

    /// Returns the labels that have rows.
    pub(super) fn list(&self) -> Vec<Label> {
        self.by_id.iter().filter(|label| !label.rows.is_empty()).cloned().collect()
    }

    /// Returns the rows of a label, if it has any.
    pub(super) fn rows(&self, name: &str) -> Option<Arc<RoaringBitmap>> {
        self.ids.get(name).map(|id| Arc::clone(&self.by_id[*id as usize].rows))
    }

    /// Gives a row these labels in place of those that it had.
    pub(super) fn set(&mut self, row: u32, names: &[String]) {
        let mut ids: Vec<u32> = names.iter().map(|name| self.id(name)).collect();
        ids.sort_unstable();
        ids.dedup();
        let ids: Box<[u32]> = ids.into();
        let old = if ids.is_empty() {
            self.of_rows.remove(&row)
        } else {
            self.of_rows.insert(row, ids.clone())
        };
        let old = old.unwrap_or_default();
        for id in ids.iter().filter(|id| !old.contains(id)) {
            Arc::make_mut(&mut self.by_id[*id as usize].rows).insert(row);
        }
        for id in old.iter().filter(|id| !ids.contains(id)) {
            self.take_away(*id, row);
        }
    }

    /// Takes all labels away from a row.
    pub(super) fn clear(&mut self, row: u32) {
        for id in self.of_rows.remove(&row).unwrap_or_default() {
            self.take_away(id, row);
        }
    }

    /// Returns the id of a label, which must then be given to a row.
    fn id(&mut self, name: &str) -> u32 {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let label = Label { name: name.into(), rows: Arc::default() };
        let id = self.unused.pop().unwrap_or(self.by_id.len() as u32);
        self.ids.insert(Arc::clone(&label.name), id);
        match self.by_id.get_mut(id as usize) {
            Some(unused) => *unused = label,
            None => self.by_id.push(label),
        }
        id
    }

    fn take_away(&mut self, id: u32, row: u32) {
        let label = &mut self.by_id[id as usize];
        let rows = Arc::make_mut(&mut label.rows);
        rows.remove(row);
        if rows.is_empty() {
            self.ids.remove(&label.name);
            self.unused.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(labels: &[&str]) -> Vec<String> {
        labels.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_label_that_no_row_has_leaves_nothing_behind() {
        let mut labels = Labels::default();
        labels.set(1, &names(&["a", "b", "a"]));
        labels.set(2, &names(&["b"]));
        labels.set(1, &names(&["c"]));
        assert!(labels.rows("a").is_none());
        assert_eq!(labels.rows("b").unwrap().iter().collect::<Vec<_>>(), [2]);
        labels.set(2, &[]);
        labels.clear(1);
        labels.clear(3);
        assert!(labels.list().is_empty() && labels.ids.is_empty() && labels.of_rows.is_empty());
        for round in 0..100 {
            labels.set(7, &names(&[&format!("tag:{round}")]));
        }
        assert!(labels.by_id.len() <= 4, "ids are used again");
    }
}
