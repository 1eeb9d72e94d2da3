//! The vector index: which rows lie nearest to a query, derived from the vectors in the store.
//!
//! The rows in the store are the truth; what is here can be thrown away at any time.
//! A graph finds what is near among many rows, and a plain look at each row's vector what is near among few.
//! Which rows a search may find is told by bitmaps, so that a row can be hidden at once, whatever the graph is at.

mod disk;
mod flat;
mod graph;
mod known;
mod labels;
mod sample;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
};

use half::f16;
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use roaring::RoaringBitmap;

use crate::store::Identity;
use flat::{Flat, Halves};
use graph::Graph;
use known::Known;

/// How many rows are put before they are found.
const PUT_AT_ONCE: usize = 256;

/// How many rows are replaced before searches get a turn.
const REPLACED_AT_ONCE: usize = 8;

/// How many hidden rows are taken out before searches get a turn.
const SWEPT_AT_ONCE: usize = 256;

/// Fewer free nodes are left in the graph, however small it is.
const MIN_WORN_NODES: usize = 1_000;

/// How many rows exact search looks at in the time in which the graph comes to one more candidate.
const ROWS_PER_CANDIDATE: u64 = 47;

/// Why the vector index failed; the rows in the store are not affected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine failed, for want of memory or on its file.
    #[error("the vector index failed")]
    Engine(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// One of its files cannot be used.
    #[error("cannot use the vector index's {}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A vector of another space.
    #[error("a vector has {found} dimensions, and this index {expected}")]
    Dimension {
        /// How many dimensions the index has.
        expected: usize,
        /// How many the vector has.
        found: usize,
    },
    /// A vector with a number that is none.
    #[error("a vector has a component that is no finite number")]
    NotFinite,
    /// A row number below zero or above 4,294,967,295: such rows are not indexed.
    #[error("row {0} is out of the vector index's range")]
    Row(i64),
}

/// What decides which vectors can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    /// The model, and whatever else makes its vectors others.
    pub(crate) name: String,
    /// How many components a vector has; at least one.
    pub(crate) dimension: usize,
}

/// A row with its vector.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Vectored {
    /// The row, from 0 to 4,294,967,295.
    pub(crate) row: i64,
    /// What filters ask for.
    pub(crate) labels: Vec<String>,
    /// Of unit length, and of the index's dimension.
    pub(crate) vector: Vec<f16>,
}

/// A found row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Near {
    /// The row.
    pub(crate) row: i64,
    /// Its cosine to the query: 1 for the same direction, 0 for nothing in common.
    pub(crate) cosine: f32,
}

/// What a query's cosines to rows that were not chosen for it look like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Background {
    /// Their mean.
    pub(crate) mean: f32,
    /// Their standard deviation.
    pub(crate) deviation: f32,
}

/// A handle to the index; clones share it, and every method may be called from any thread.
///
/// Searches wait for a `put` no longer than it takes to add a few rows; `hide` waits for neither.
#[derive(Clone)]
pub(crate) struct VectorIndex {
    shared: Arc<Shared>,
}

struct Shared {
    folder: PathBuf,
    space: Space,
    store_id: String,
    /// The last change that the files have.
    mark: AtomicI64,
    /// Which rows searches may find; held for moments only, and never while waiting for `vectors`.
    known: Mutex<Known>,
    /// The engine must not be searched while it changes.
    vectors: RwLock<Vectors>,
    /// How many searches wait for `vectors`.
    searches_waiting: AtomicUsize,
    /// Held by whoever adds, removes or saves rows.
    changing: Mutex<()>,
}

/// The same rows twice.
struct Vectors {
    graph: Graph,
    flat: Flat,
}

impl VectorIndex {
    /// Opens the index of `space` that was saved in `folder`, or an empty one with mark 0.
    ///
    /// It is empty when nothing was saved, or what was saved is damaged, of another version, space or store, or ahead of the store.
    pub(crate) fn open(folder: &Path, space: &Space, store: &Identity) -> Result<Self, Error> {
        let loaded = disk::load(folder, space, store).or_else(|reason| {
            if store.last_seq > 0 {
                tracing::info!(folder = %folder.display(), %reason, "building the vector index anew");
            }
            Ok(disk::Loaded::empty(Graph::new(space.dimension)?, Flat::new(space.dimension)))
        })?;
        let disk::Loaded { graph, flat, known, mark } = loaded;
        Ok(Self {
            shared: Arc::new(Shared {
                folder: folder.to_owned(),
                space: space.clone(),
                store_id: store.id.clone(),
                mark: AtomicI64::new(mark),
                known: Mutex::new(known),
                vectors: RwLock::new(Vectors { graph, flat }),
                searches_waiting: AtomicUsize::new(0),
                changing: Mutex::new(()),
            }),
        })
    }

    /// Returns the last change of the store that the saved files have; 0 when there are none.
    pub(crate) fn mark(&self) -> i64 {
        self.shared.mark.load(Ordering::Relaxed)
    }

    /// Returns how many rows can be found.
    pub(crate) fn len(&self) -> usize {
        self.shared.known.lock().len()
    }

    /// Adds rows, or replaces their vectors and labels; the last one of a row counts.
    ///
    /// Uses all processors; searches find each row as soon as it is in.
    /// A row that is hidden meanwhile stays hidden.
    /// After an error some of the rows may be in, and none of the others has changed.
    pub(crate) fn put(&self, rows: Vec<Vectored>) -> Result<(), Error> {
        let mut labels = HashMap::new();
        let mut vectors = BTreeMap::new();
        for row in rows {
            let number = u32::try_from(row.row).map_err(|_| Error::Row(row.row))?;
            self.check(row.vector.len(), row.vector.iter().all(|number| number.is_finite()))?;
            labels.insert(number, row.labels);
            vectors.insert(number, Halves::from(row.vector.as_slice()));
        }
        let vectors: Vec<_> = vectors.into_iter().collect();

        let shared = &self.shared;
        let _turn = shared.changing.lock();
        let hidden = shared.known.lock().take_hidden();
        shared.sweep(&hidden)?;
        shared.known.lock().begin(labels);
        let mut guard = shared.vectors.write();
        let put = shared.put_all(&mut guard, &vectors);
        if put.is_err() {
            let mut known = shared.known.lock();
            for (row, _) in vectors.iter().filter(|(row, _)| guard.flat.get(*row).is_none()) {
                known.forget(*row);
            }
        }
        shared.known.lock().end();
        put
    }

    /// Notes that a row has other labels and the same vector; returns whether it has a vector here that can be found.
    pub(crate) fn relabel(&self, row: i64, labels: &[String]) -> bool {
        u32::try_from(row).is_ok_and(|row| self.shared.known.lock().relabel(row, labels))
    }

    /// Returns whether this very vector is what the row has here, visible or not.
    pub(crate) fn has(&self, row: i64, vector: &[f16]) -> bool {
        let Ok(row) = u32::try_from(row) else { return false };
        self.shared.read().flat.get(row).is_some_and(|held| Halves::from(vector).is(held))
    }

    /// Notes that a row's vector is no longer true: no search that begins from now on finds it.
    ///
    /// Takes microseconds; the vector itself is taken out later.
    pub(crate) fn hide(&self, row: i64) {
        if let Ok(row) = u32::try_from(row) {
            self.shared.known.lock().hide(row);
        }
    }

    /// Returns the `limit` rows nearest to the query, best first, among equals the newest;
    /// of each group of `filters` a row has one label.
    ///
    /// Never fewer than `limit` when as many rows are there; exact where the filters keep few.
    pub(crate) fn search(
        &self,
        query: &[f32],
        filters: &[Vec<String>],
        limit: usize,
    ) -> Result<Vec<Near>, Error> {
        let query = self.query(query)?;
        let shared = &self.shared;
        let kept = shared.known.lock().kept(filters);
        let kept = kept.rows();
        let wanted = limit.min(kept.len() as usize);
        if wanted == 0 {
            return Ok(Vec::new());
        }
        let vectors = shared.read();
        let candidates = graph::candidates(wanted);
        if !is_graph_faster(kept.len(), candidates, vectors.graph.nodes()) {
            return Ok(vectors.flat.nearest(&query, kept.iter(), wanted));
        }
        let found = vectors.graph.search(&query, candidates, |row| kept.contains(row))?;
        let near = vectors.flat.nearest(&query, found, wanted);
        if near.len() < wanted {
            return Ok(vectors.flat.nearest(&query, kept.iter(), wanted));
        }
        Ok(near)
    }

    /// Returns the cosine of each of these rows to the query; absent where it has no vector.
    pub(crate) fn cosines(&self, query: &[f32], rows: &[i64]) -> Result<Vec<Option<f32>>, Error> {
        let query = self.query(query)?;
        let visible = self.shared.known.lock().kept(&[]).rows();
        let vectors = self.shared.read();
        let cosine = |row: &i64| {
            let row = u32::try_from(*row).ok().filter(|row| visible.contains(*row))?;
            vectors.flat.get(row).map(|vector| query.cosine(vector))
        };
        Ok(rows.iter().map(cosine).collect())
    }

    /// Returns what the query's cosines to rows in general look like, from a sample of at most 256 that hardly changes as rows come and go.
    ///
    /// Absent when there are no rows.
    pub(crate) fn background(&self, query: &[f32]) -> Result<Option<Background>, Error> {
        let query = self.query(query)?;
        let rows = self.shared.known.lock().sample();
        let vectors = self.shared.read();
        let cosines: Vec<f32> = rows
            .into_iter()
            .filter_map(|row| vectors.flat.get(row).map(|vector| query.cosine(vector)))
            .collect();
        Ok(background(&cosines))
    }

    /// Saves the index; everything up to change `mark` must have been put or hidden.
    ///
    /// After a crash or an error what was saved before is still there.
    /// Searches and `hide` go on meanwhile, `put` waits.
    pub(crate) fn save(&self, mark: i64) -> Result<(), Error> {
        let shared = &self.shared;
        let _turn = shared.changing.lock();
        let (hidden, snapshot) = {
            let mut known = shared.known.lock();
            (known.take_hidden(), known.snapshot())
        };
        shared.sweep(&hidden)?;
        shared.renew()?;
        let vectors = shared.vectors.read();
        let head = disk::Head { space: &shared.space, store_id: &shared.store_id, mark };
        disk::save(&shared.folder, &head, &vectors.graph, &snapshot)?;
        shared.mark.store(mark, Ordering::Relaxed);
        Ok(())
    }

    /// Takes a query in, if it is of this space.
    fn query(&self, query: &[f32]) -> Result<Halves, Error> {
        self.check(query.len(), query.iter().all(|number| number.is_finite()))?;
        Ok(Halves::from(query))
    }

    fn check(&self, dimension: usize, is_finite: bool) -> Result<(), Error> {
        let expected = self.shared.space.dimension;
        if dimension != expected {
            return Err(Error::Dimension { expected, found: dimension });
        }
        if is_finite { Ok(()) } else { Err(Error::NotFinite) }
    }
}

impl Shared {
    /// Puts rows, and lets searches go first whenever one waits.
    fn put_all(
        &self,
        vectors: &mut RwLockWriteGuard<'_, Vectors>,
        rows: &[(u32, Halves)],
    ) -> Result<(), Error> {
        let mut left = rows;
        while !left.is_empty() {
            let (chunk, _) = left.split_at(left.len().min(PUT_AT_ONCE));
            let (put, rest) = left.split_at(vectors.put(chunk, &self.searches_waiting)?);
            self.known.lock().arrived(put.iter().map(|(row, _)| *row));
            left = rest;
            RwLockWriteGuard::bump(vectors);
        }
        Ok(())
    }

    /// Waits for the vectors, before whoever changes them.
    fn read(&self) -> RwLockReadGuard<'_, Vectors> {
        self.searches_waiting.fetch_add(1, Ordering::Relaxed);
        let vectors = self.vectors.read();
        self.searches_waiting.fetch_sub(1, Ordering::Relaxed);
        vectors
    }

    /// Takes rows out that no search may find any more; what cannot be taken out stays hidden.
    fn sweep(&self, hidden: &RoaringBitmap) -> Result<(), Error> {
        let rows: Vec<u32> = hidden.iter().collect();
        for chunk in rows.chunks(SWEPT_AT_ONCE) {
            let mut vectors = self.vectors.write();
            let removed = chunk.iter().try_for_each(|row| vectors.remove(*row));
            if removed.is_err() {
                self.known.lock().hide_again(hidden);
                return removed;
            }
        }
        Ok(())
    }

    /// Builds the graph anew when more of its nodes are free than used: they cost memory, and every search steps over them.
    fn renew(&self) -> Result<(), Error> {
        let rows = {
            let vectors = self.vectors.read();
            if vectors.graph.free() < MIN_WORN_NODES.max(vectors.graph.len()) {
                return Ok(());
            }
            vectors.flat.rows()
        };
        let mut graph = Graph::new(self.space.dimension)?;
        for chunk in rows.chunks(SWEPT_AT_ONCE) {
            let chunk: Vec<_> = {
                let vectors = self.vectors.read();
                let vector = |row: &u32| Some((*row, vectors.flat.get(*row)?.into()));
                chunk.iter().filter_map(vector).collect()
            };
            graph.add(&chunk, || false)?;
        }
        self.vectors.write().graph = graph;
        Ok(())
    }
}

impl Vectors {
    /// Adds or replaces the first of these rows, and returns how many: not all when searches wait.
    ///
    /// After an error none of them is here.
    fn put(
        &mut self,
        rows: &[(u32, Halves)],
        searches_waiting: &AtomicUsize,
    ) -> Result<usize, Error> {
        // A row that is replaced is in no graph for a moment; no search may have a turn then.
        let replaced = rows.iter().take_while(|(row, _)| self.graph.has(*row)).count();
        let (rows, must_stop) = if replaced > 0 {
            (&rows[..replaced.min(REPLACED_AT_ONCE)], false)
        } else {
            let new = rows.iter().take_while(|(row, _)| !self.graph.has(*row)).count();
            (&rows[..new], true)
        };
        let added = rows[..replaced.min(rows.len())]
            .iter()
            .try_for_each(|(row, _)| self.graph.remove(*row))
            .and_then(|()| {
                self.graph.add(rows, || must_stop && searches_waiting.load(Ordering::Relaxed) > 0)
            });
        match added {
            Ok(added) => rows[..added].iter().for_each(|(row, vector)| self.flat.set(*row, vector)),
            Err(_) => {
                for (row, _) in rows {
                    // The error itself is told; what the graph cannot remove either is not found, since it has no vector.
                    drop(self.remove(*row));
                }
            }
        }
        added
    }

    fn remove(&mut self, row: u32) -> Result<(), Error> {
        self.flat.remove(row);
        self.graph.remove(row)
    }
}

/// Tells whether the graph comes to `candidates` among `kept` rows sooner than a look at each of these.
///
/// It steps over the nodes that are not kept, so that it takes the longer the fewer are.
fn is_graph_faster(kept: u64, candidates: usize, nodes: usize) -> bool {
    let steps = ROWS_PER_CANDIDATE * candidates as u64;
    u128::from(kept).pow(2) > u128::from(steps) * nodes as u128
}

fn background(cosines: &[f32]) -> Option<Background> {
    if cosines.is_empty() {
        return None;
    }
    let count = cosines.len() as f32;
    let mean = cosines.iter().sum::<f32>() / count;
    let variance = cosines.iter().map(|cosine| (cosine - mean).powi(2)).sum::<f32>() / count;
    Some(Background { mean, deviation: variance.sqrt() })
}
