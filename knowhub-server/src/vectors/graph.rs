//! The graph that finds what is near among many rows: usearch, with what it wants of its callers.
//!
//! It may be searched by several threads, or grown by several, but not both at once, whatever it says:
//! a search reads the entry point and the lists of neighbors without a lock.
//! So growing takes `&mut self`, and only a lock around the graph shares it.

use std::{
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use parking_lot::{Condvar, Mutex};
use usearch::{Index, IndexOptions, MetricKind, ScalarKind, f16};

use super::{Error, flat::Halves};

/// How many neighbors a node has, twice as many at the bottom.
const CONNECTIVITY: usize = 16;

/// How many candidates are weighed for a new node's neighbors.
const EXPANSION_ADD: usize = 200;

/// How many candidates a search looks at, at least.
const EXPANSION_SEARCH: usize = 64;

/// How many rows a thread adds before it stops for others.
const MIN_ADDED: usize = 2;

/// How many threads grow the graph at most.
const MAX_THREADS: usize = 8;

/// How many searches run at once; further ones wait, and would only slow each other down.
const SEARCHES: usize = 16;

/// How many nodes there is room for at first.
const MIN_CAPACITY: usize = 1_024;

/// Returns how many candidates make the best `wanted` rows reliable.
pub(super) fn candidates(wanted: usize) -> usize {
    EXPANSION_SEARCH.max(wanted.saturating_mul(2))
}

/// The graph; rows are its keys.
pub(super) struct Graph {
    engine: Index,
    /// Nodes of removed rows, which the next rows take.
    free: usize,
    turns: Turns,
}

impl Graph {
    /// Begins with no rows.
    pub(super) fn new(dimension: usize) -> Result<Self, Error> {
        let engine = Index::new(&IndexOptions {
            dimensions: dimension,
            // Vectors are of unit length.
            metric: MetricKind::IP,
            quantization: ScalarKind::F16,
            connectivity: CONNECTIVITY,
            expansion_add: EXPANSION_ADD,
            expansion_search: EXPANSION_SEARCH,
            multi: false,
        })
        .map_err(engine_failed)?;
        let mut graph = Self { engine, free: 0, turns: Turns::new(SEARCHES) };
        graph.reserve(MIN_CAPACITY)?;
        Ok(graph)
    }

    /// Reads a graph that was [saved](Self::save), byte for byte: a damaged file may end the process.
    pub(super) fn load(dimension: usize, path: &str, free: usize) -> Result<Self, Error> {
        let mut graph = Self::new(dimension)?;
        graph.engine.load(path).map_err(engine_failed)?;
        graph.free = free;
        graph.reserve(graph.nodes())?;
        Ok(graph)
    }

    /// Writes the graph to a file, as long as [`Graph::bytes`] when nothing went wrong: the engine does not notice all.
    pub(super) fn save(&self, path: &Path) -> Result<(), Error> {
        let path = path.to_str().ok_or_else(|| engine_failed("its path is no Unicode text"))?;
        self.engine.save(path).map_err(engine_failed)
    }

    /// Returns the size of the file that [`Graph::save`] writes.
    pub(super) fn bytes(&self) -> u64 {
        self.engine.serialized_length() as u64
    }

    /// Returns whether a row is in it.
    pub(super) fn has(&self, row: u32) -> bool {
        self.engine.contains(row.into())
    }

    /// Returns how many components its vectors have.
    pub(super) fn dimension(&self) -> usize {
        self.engine.dimensions()
    }

    /// Returns how many rows it has.
    pub(super) fn len(&self) -> usize {
        self.engine.size()
    }

    /// Returns how many nodes have no row.
    pub(super) fn free(&self) -> usize {
        self.free
    }

    /// Returns how many nodes there are, used and free.
    pub(super) fn nodes(&self) -> usize {
        self.len() + self.free
    }

    /// Adds rows that are not in it, the first ones first, with as many threads as there are processors.
    ///
    /// Stops after a few of them when `must_stop` says so, and returns how many are in.
    /// After an error some of them may be in.
    pub(super) fn add(
        &mut self,
        rows: &[(u32, Halves)],
        must_stop: impl Fn() -> bool + Sync,
    ) -> Result<usize, Error> {
        let needed = self.nodes() + rows.len();
        if needed > self.engine.capacity() {
            self.reserve(needed.max(self.engine.capacity() / 2 * 3))?;
        }
        let before = self.len();
        let (engine, next) = (&self.engine, AtomicUsize::new(0));
        let add = || -> Result<(), Error> {
            for added in 0.. {
                if added >= MIN_ADDED && must_stop() {
                    break;
                }
                let Some((row, vector)) = rows.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    break;
                };
                let bits = vector.bits();
                engine.add((*row).into(), f16::from_i16s(&bits)).map_err(engine_failed)?;
            }
            Ok(())
        };
        let threads = threads().min(rows.len().div_ceil(MIN_ADDED));
        let added = if threads < 2 {
            add()
        } else {
            thread::scope(|scope| {
                let threads: Vec<_> = (0..threads).map(|_| scope.spawn(add)).collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().expect("adding a row does not panic"))
                    .fold(Ok(()), Result::and)
            })
        };
        self.free = self.free.saturating_sub(self.len() - before);
        added.map(|()| next.into_inner().min(rows.len()))
    }

    /// Takes a row out, if it is in; its node stays on the way to others until another row takes it.
    pub(super) fn remove(&mut self, row: u32) -> Result<(), Error> {
        self.free += self.engine.remove(row.into()).map_err(engine_failed)?;
        Ok(())
    }

    /// Returns a row's vector, if it is in.
    pub(super) fn get(&self, row: u32) -> Result<Option<Halves>, Error> {
        let mut bits = vec![0; self.dimension()];
        let found = self.engine.get(row.into(), f16::from_mut_i16s(&mut bits));
        let is_found = found.map_err(engine_failed)? > 0;
        Ok(is_found.then(|| Halves::from_bits(&bits)))
    }

    /// Returns rows near to the query, at most `count`, of those that `keeps` lets through, in no order that is promised.
    ///
    /// Takes the longer the fewer rows are let through, and may miss some.
    pub(super) fn search(
        &self,
        query: &Halves,
        count: usize,
        keeps: impl Fn(u32) -> bool,
    ) -> Result<Vec<u32>, Error> {
        let bits = query.bits();
        let _turn = self.turns.take();
        // All keys were rows.
        let keeps = |key: u64| u32::try_from(key).is_ok_and(&keeps);
        let found = self.engine.filtered_search(f16::from_i16s(&bits), count, keeps);
        let keys = found.map_err(engine_failed)?.keys;
        Ok(keys.into_iter().filter_map(|key| u32::try_from(key).ok()).collect())
    }

    fn reserve(&mut self, capacity: usize) -> Result<(), Error> {
        let threads = SEARCHES.max(MAX_THREADS);
        self.engine.reserve_capacity_and_threads(capacity, threads).map_err(engine_failed)
    }
}

fn engine_failed(err: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Engine(err.into())
}

/// How many threads grow the graph.
fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS))
}

/// Turns at something that only so many threads may do at once; the engine refuses more.
struct Turns {
    left: Mutex<usize>,
    given_back: Condvar,
}

struct Turn<'a>(&'a Turns);

impl Turns {
    fn new(count: usize) -> Self {
        Self { left: Mutex::new(count), given_back: Condvar::new() }
    }

    fn take(&self) -> Turn<'_> {
        let mut left = self.left.lock();
        self.given_back.wait_while(&mut left, |left| *left == 0);
        *left -= 1;
        Turn(self)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.left.lock() += 1;
        self.0.given_back.notify_one();
    }
}
