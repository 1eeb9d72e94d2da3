//! A few rows that stand for all, and stay much the same while rows come and go.

use std::collections::BTreeMap;

/// How many rows stand for all.
const ROWS: usize = 256;

/// With fewer, others are looked for.
const MIN_ROWS: usize = ROWS / 2;

/// The rows whose scrambled numbers are the smallest.
pub(super) struct Sample {
    /// Rows by their scrambled numbers.
    rows: BTreeMap<u64, u32>,
    /// Every row whose scrambled number is below is here.
    bound: u64,
}

impl Default for Sample {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), bound: u64::MAX }
    }
}

impl FromIterator<u32> for Sample {
    fn from_iter<T: IntoIterator<Item = u32>>(rows: T) -> Self {
        let mut sample = Self::default();
        rows.into_iter().for_each(|row| sample.insert(row));
        sample
    }
}

impl Sample {
    /// Notes that a row has come.
    pub(super) fn insert(&mut self, row: u32) {
        let place = scrambled(row);
        if place < self.bound {
            self.rows.insert(place, row);
            if self.rows.len() > ROWS {
                self.bound = self.rows.pop_last().expect("it is not empty").0;
            }
        }
    }

    /// Notes that a row is gone.
    pub(super) fn remove(&mut self, row: u32) {
        self.rows.remove(&scrambled(row));
    }

    /// Returns whether so many are gone that it should be taken anew from all rows.
    pub(super) fn is_short(&self) -> bool {
        self.rows.len() < MIN_ROWS && self.bound != u64::MAX
    }

    /// Returns its rows.
    pub(super) fn rows(&self) -> Vec<u32> {
        self.rows.values().copied().collect()
    }
}

/// Spreads row numbers over all 64 bits, no two to one place: the last steps of `SplitMix64`.
fn scrambled(row: u32) -> u64 {
    let mut z = u64::from(row).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_sample_is_that_of_the_rows_however_they_came() {
        let rows = 0..5_000;
        let whole: Sample = rows.clone().collect();
        assert_eq!(whole.rows().len(), ROWS);
        assert_eq!(whole.rows(), rows.clone().rev().collect::<Sample>().rows());

        let mut changed: Sample = rows.clone().collect();
        rows.clone().step_by(3).for_each(|row| changed.remove(row));
        (5_000..5_500).for_each(|row| changed.insert(row));
        let kept: HashSet<_> = whole.rows().into_iter().collect();
        let still = changed.rows().iter().filter(|row| kept.contains(row)).count();
        assert!(still > ROWS / 2, "{still}");
        assert!(changed.rows().iter().all(|row| row % 3 != 0 || *row >= 5_000));

        assert!(!changed.is_short());
        rows.filter(|row| row % 3 != 0).for_each(|row| changed.remove(row));
        assert!(changed.is_short());
    }

    #[test]
    fn few_rows_are_all_in_the_sample() {
        let mut sample: Sample = [7, 9].into_iter().collect();
        sample.remove(7);
        assert!(!sample.is_short());
        assert_eq!(sample.rows(), [9]);
    }
}
