//! Synthetic vectors, the same in every run: clusters around random directions.

use std::thread;

use super::corpus::Random;

/// How many rows a cluster has on average.
const CLUSTER_ROWS: u64 = 100;

/// How far a vector is from its cluster's middle, which is of length 1.
const SPREAD: f32 = 0.7;

/// How many rows one turn of [`Vectors::nearest`] makes at once.
const BLOCK_ROWS: u64 = 1_000;

/// Makes the vectors of rows and queries; none is kept.
pub struct Vectors {
    dimension: usize,
    middles: Vec<Vec<f32>>,
    seed: u64,
}

impl Vectors {
    /// Draws the middles of clusters for so many rows.
    pub fn new(rows: u64, dimension: usize, seed: u64) -> Self {
        let middle = |cluster| {
            let mut random = Random::new(seed ^ cluster);
            unit((0..dimension).map(|_| random.normal()).collect())
        };
        let middles = (0..(rows / CLUSTER_ROWS).max(10)).map(middle).collect();
        Self { dimension, middles, seed }
    }

    /// Returns vector number `index`, of unit length, near to the middle of some cluster.
    pub fn vector(&self, index: u64) -> Vec<f32> {
        let mut random = Random::new((self.seed + 1) ^ index.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let middle = &self.middles[random.below(self.middles.len())];
        let spread = SPREAD / (self.dimension as f32).sqrt();
        unit(middle.iter().map(|number| number + spread * random.normal()).collect())
    }

    /// Returns the `limit` truly nearest rows, for each share and in it for each query; of a share `n` every `n`-th row is kept.
    ///
    /// `vector_of` tells which vector a row has.
    pub fn nearest(
        &self,
        queries: &[Vec<f32>],
        rows: u64,
        vector_of: impl Fn(u64) -> u64 + Sync,
        shares: &[u64],
        limit: usize,
    ) -> Vec<Vec<Vec<u64>>> {
        let threads = thread::available_parallelism().map_or(1, usize::from) as u64;
        let part = |first: u64| {
            let mut best = vec![vec![Best::default(); shares.len()]; queries.len()];
            for block in (0..rows)
                .step_by(BLOCK_ROWS as usize)
                .skip(first as usize)
                .step_by(threads as usize)
            {
                let rows: Vec<_> = (block..rows.min(block + BLOCK_ROWS))
                    .map(|row| (row, self.vector(vector_of(row))))
                    .collect();
                for (query, best) in queries.iter().zip(&mut best) {
                    for (row, vector) in &rows {
                        let cosine = dot(query, vector);
                        for (share, best) in shares.iter().zip(&mut *best) {
                            if row.is_multiple_of(*share) {
                                best.push(cosine, *row, limit);
                            }
                        }
                    }
                }
            }
            best
        };
        let parts: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> =
                (0..threads).map(|first| scope.spawn(move || part(first))).collect();
            threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
        });
        let merged = |query: usize, way: usize| {
            let mut all = Best::default();
            for part in &parts {
                all.0.extend(&part[query][way].0);
            }
            all.into_rows(limit)
        };
        (0..shares.len())
            .map(|way| (0..queries.len()).map(|query| merged(query, way)).collect())
            .collect()
    }
}

/// The best rows of a query so far, in no order.
#[derive(Clone, Default)]
struct Best(Vec<(f32, u64)>);

impl Best {
    fn push(&mut self, cosine: f32, row: u64, limit: usize) {
        if self.0.len() < limit {
            self.0.push((cosine, row));
        } else if let Some(worst) = self.0.iter_mut().min_by(|a, b| a.0.total_cmp(&b.0))
            && worst.0 < cosine
        {
            *worst = (cosine, row);
        }
    }

    fn into_rows(mut self, limit: usize) -> Vec<u64> {
        self.0.sort_by(|a, b| b.0.total_cmp(&a.0));
        self.0.into_iter().take(limit).map(|(_, row)| row).collect()
    }
}

fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = dot(&vector, &vector).sqrt();
    for number in &mut vector {
        *number /= length;
    }
    vector
}

/// Sums in parts, so that the compiler takes several numbers at once.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}
