//! The vectors of all rows by their numbers, for a look at single rows and at each of a few.

use std::collections::{HashMap, hash_map::Entry};

use half::slice::HalfFloatSliceExt;
use numkong::{Dot, f16};

use super::Near;

/// How many rows with neighboring numbers share an allocation; one bit of [`Page::present`] each.
const PAGE_ROWS: u32 = u128::BITS;

/// A vector in half precision, as the engine computes with it.
#[derive(Clone, Debug)]
pub(super) struct Halves(Vec<f16>);

impl From<&[half::f16]> for Halves {
    fn from(vector: &[half::f16]) -> Self {
        Self(vector.reinterpret_cast().iter().map(|bits| f16(*bits)).collect())
    }
}

impl From<&[f32]> for Halves {
    fn from(vector: &[f32]) -> Self {
        let mut halves = vec![half::f16::ZERO; vector.len()];
        halves.convert_from_f32_slice(vector);
        Self::from(halves.as_slice())
    }
}

impl From<&[f16]> for Halves {
    fn from(vector: &[f16]) -> Self {
        Self(vector.to_vec())
    }
}

impl Halves {
    /// Returns the cosine to a vector of the same dimension; both are of unit length.
    pub(super) fn cosine(&self, other: &[f16]) -> f32 {
        f16::dot(&self.0, other).expect("vectors of one space have one dimension")
    }

    /// Returns whether the other is the same, bit by bit.
    pub(super) fn is(&self, other: &[f16]) -> bool {
        self.0.iter().map(|number| number.0).eq(other.iter().map(|number| number.0))
    }

    /// Takes components as the graph gives them.
    pub(super) fn from_bits(bits: &[i16]) -> Self {
        Self(bits.iter().map(|bits| f16(bits.cast_unsigned())).collect())
    }

    /// Returns the components as the graph takes them: bits in signed integers.
    pub(super) fn bits(&self) -> Vec<i16> {
        self.0.iter().map(|number| number.0.cast_signed()).collect()
    }
}

/// The vectors, in pages of neighboring rows, since rows are mostly numbered one after the other.
pub(super) struct Flat {
    dimension: usize,
    pages: HashMap<u32, Page>,
}

struct Page {
    /// Which rows of the page are here.
    present: u128,
    vectors: Box<[f16]>,
}

impl Flat {
    /// Begins with no rows.
    pub(super) fn new(dimension: usize) -> Self {
        Self { dimension, pages: HashMap::new() }
    }

    /// Returns a row's vector.
    pub(super) fn get(&self, row: u32) -> Option<&[f16]> {
        self.pages.get(&(row / PAGE_ROWS))?.get(row, self.dimension)
    }

    /// Adds or replaces a row.
    pub(super) fn set(&mut self, row: u32, vector: &Halves) {
        let page = self.pages.entry(row / PAGE_ROWS).or_insert_with(|| Page {
            present: 0,
            vectors: vec![f16(0); PAGE_ROWS as usize * self.dimension].into(),
        });
        page.present |= bit(row);
        page.vectors[place(row, self.dimension)].copy_from_slice(&vector.0);
    }

    /// Takes a row out.
    pub(super) fn remove(&mut self, row: u32) {
        if let Entry::Occupied(mut page) = self.pages.entry(row / PAGE_ROWS) {
            page.get_mut().present &= !bit(row);
            if page.get().present == 0 {
                page.remove();
            }
        }
    }

    /// Returns all rows, in no order.
    pub(super) fn rows(&self) -> Vec<u32> {
        let rows = |(number, page): (&u32, &Page)| {
            let (first, present) = (number * PAGE_ROWS, page.present);
            (first..=first + (PAGE_ROWS - 1)).filter(move |row| present & bit(*row) != 0)
        };
        self.pages.iter().flat_map(rows).collect()
    }

    /// Returns the `limit` nearest of these rows, best first; those that are not here are passed over.
    ///
    /// Rows in growing order are looked at fastest.
    pub(super) fn nearest(
        &self,
        query: &Halves,
        rows: impl IntoIterator<Item = u32>,
        limit: usize,
    ) -> Vec<Near> {
        let mut best = Best::new(limit);
        let mut last = (0, self.pages.get(&0));
        for row in rows {
            let number = row / PAGE_ROWS;
            if last.0 != number {
                last = (number, self.pages.get(&number));
            }
            if let Some(vector) = last.1.and_then(|page| page.get(row, self.dimension)) {
                best.push(Near { row: row.into(), cosine: query.cosine(vector) });
            }
        }
        best.into_sorted()
    }
}

impl Page {
    fn get(&self, row: u32, dimension: usize) -> Option<&[f16]> {
        (self.present & bit(row) != 0).then(|| &self.vectors[place(row, dimension)])
    }
}

fn bit(row: u32) -> u128 {
    1 << (row % PAGE_ROWS)
}

fn place(row: u32, dimension: usize) -> std::ops::Range<usize> {
    let start = (row % PAGE_ROWS) as usize * dimension;
    start..start + dimension
}

/// The best of many, in little memory.
struct Best {
    limit: usize,
    near: Vec<Near>,
    /// What is below it is not among the best.
    floor: f32,
}

impl Best {
    fn new(limit: usize) -> Self {
        Self { limit, near: Vec::new(), floor: f32::NEG_INFINITY }
    }

    fn push(&mut self, near: Near) {
        if near.cosine < self.floor || self.limit == 0 {
            return;
        }
        self.near.push(near);
        if self.near.len() >= self.limit.saturating_mul(2) {
            let (_, worst, _) = self.near.select_nth_unstable_by(self.limit - 1, better_first);
            self.floor = worst.cosine;
            self.near.truncate(self.limit);
        }
    }

    fn into_sorted(mut self) -> Vec<Near> {
        self.near.sort_unstable_by(better_first);
        self.near.truncate(self.limit);
        self.near
    }
}

/// Orders by cosine, and among equals the newest first.
fn better_first(a: &Near, b: &Near) -> std::cmp::Ordering {
    b.cosine.total_cmp(&a.cosine).then(b.row.cmp(&a.row))
}
