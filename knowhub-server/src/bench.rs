//! What the programs that measure see of the hub's inside; no promise to anybody else.

use std::path::Path;

use half::f16;

use crate::{
    VectorsError,
    store::Identity,
    vectors::{Space, VectorIndex, Vectored},
};

/// A vector index as the hub has it.
pub struct Vectors(VectorIndex);

impl Vectors {
    /// Opens what [`Vectors::save`] left in the folder, or an empty one.
    pub fn open(folder: &Path, dimension: usize) -> Result<Self, VectorsError> {
        let space = Space { name: "measured".into(), dimension };
        let store = Identity { id: "measured".into(), last_seq: i64::MAX };
        VectorIndex::open(folder, &space, &store).map(Self)
    }

    /// Returns how many rows there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Adds or replaces rows: number, labels, and vector of unit length.
    pub fn put(&self, rows: Vec<(i64, Vec<String>, Vec<f32>)>) -> Result<(), VectorsError> {
        let vectored = |(row, labels, vector): (i64, _, Vec<f32>)| Vectored {
            row,
            labels,
            vector: vector.into_iter().map(f16::from_f32).collect(),
        };
        self.0.put(rows.into_iter().map(vectored).collect())
    }

    /// Returns the rows nearest to the query that have one label of each group, best first.
    pub fn search(
        &self,
        query: &[f32],
        filters: &[Vec<String>],
        limit: usize,
    ) -> Result<Vec<i64>, VectorsError> {
        Ok(self.0.search(query, filters, limit)?.into_iter().map(|near| near.row).collect())
    }

    /// Saves the index in its folder.
    pub fn save(&self) -> Result<(), VectorsError> {
        self.0.save(1)
    }
}
