//! What was asked for and not found: gathered in memory, and stored a moment later so that no search waits for it.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    mem,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use protocol::{
    Timestamp,
    hub::{Demand as Listed, DemandKind},
};
use service::logging::chain;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{
    metrics::Metrics,
    store::{self, MAX_DEMAND, Missed, Noticed, Store},
};

/// How long misses gather before they are stored; a crash loses at most those.
const STORE_INTERVAL: Duration = Duration::from_secs(1);

/// How many different things are gathered at most; what is missed beyond that is counted in the metrics alone.
const MAX_GATHERED: usize = 10_000;

/// How many things are known to be wanted before the store is asked which of them still are.
const MAX_KNOWN: usize = 2 * MAX_DEMAND as usize;

/// The longest thing that is remembered, in characters: a longer query is cut, a longer id is not remembered.
const MAX_WANTED_CHARS: usize = 200;

/// A handle to the demand; clones share it.
#[derive(Clone)]
pub(crate) struct Demand {
    shared: Arc<Shared>,
}

struct Shared {
    store: Store,
    metrics: Arc<Metrics>,
    state: Mutex<State>,
    /// Signalled when there is something to store.
    noticed: Notify,
    /// Held while something is stored.
    storing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    /// What happened since it was last stored.
    gathered: HashMap<Key, Happened>,
    /// What the store knows to be wanted, and perhaps some more.
    known: HashSet<Key>,
}

type Key = (DemandKind, String);

#[derive(Default)]
struct Happened {
    was_found: bool,
    missed: Option<Missed>,
}

impl Demand {
    /// Starts with nothing; [`Demand::follow`] learns what the store knows.
    pub(crate) fn new(store: Store, metrics: Arc<Metrics>) -> Self {
        let shared = Shared {
            store,
            metrics,
            state: Mutex::default(),
            noticed: Notify::new(),
            storing: tokio::sync::Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Notes that a search found nothing; likely secrets must have been cut out of the query.
    pub(crate) fn missed_search(&self, kind: DemandKind, query: &str, now: Timestamp) {
        self.missed((kind, folded(query)), now);
    }

    /// Notes that a search found something, so that earlier misses of it no longer count.
    pub(crate) fn found_search(&self, kind: DemandKind, query: &str) {
        let key = (kind, folded(query));
        let mut state = self.state();
        if state.known.contains(&key) || state.gathered.contains_key(&key) {
            state.known.remove(&key);
            state.gathered.insert(key, Happened { was_found: true, missed: None });
            self.shared.noticed.notify_one();
        }
    }

    /// Notes that there is nothing under an id or name.
    pub(crate) fn missed_id(&self, kind: DemandKind, id: &str, now: Timestamp) {
        if id.chars().nth(MAX_WANTED_CHARS).is_none() {
            self.missed((kind, id.to_owned()), now);
        }
    }

    fn missed(&self, key: Key, now: Timestamp) {
        let mut state = self.state();
        let is_full = state.gathered.len() >= MAX_GATHERED;
        let happened = match state.gathered.entry(key) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(_) if is_full => return self.shared.metrics.demand_dropped(),
            Entry::Vacant(entry) => entry.insert(Happened::default()),
        };
        let missed =
            happened.missed.get_or_insert(Missed { count: 0, first_at: now, last_at: now });
        missed.count += 1;
        missed.last_at = missed.last_at.max(now);
        self.shared.noticed.notify_one();
    }

    /// Returns a part of the demand, most wanted first, of one kind or all, and how long the whole is.
    ///
    /// What was missed until now is in it.
    pub(crate) async fn list(
        &self,
        kind: Option<DemandKind>,
        offset: u32,
        limit: u32,
    ) -> Result<(Vec<Listed>, u64), store::Error> {
        if let Err(err) = self.store_gathered().await {
            tracing::warn!(error = %chain(&err), "the newest misses are not in the list");
        }
        self.shared.store.list_demand(kind, offset, limit).await
    }

    /// Stores what is noticed until `stop`, and once more then; a failure is logged and tried again.
    pub(crate) async fn follow(self, stop: CancellationToken) {
        self.learn().await;
        let mut is_failing = false;
        loop {
            let _ = stop.run_until_cancelled(self.shared.noticed.notified()).await;
            let _ = stop.run_until_cancelled(tokio::time::sleep(STORE_INTERVAL)).await;
            let stored = self.store_gathered().await;
            if let Err(err) = &stored {
                if !is_failing {
                    tracing::warn!(error = %chain(err), "misses cannot be stored; trying again");
                }
                self.shared.noticed.notify_one();
            }
            is_failing = stored.is_err();
            // Asked only now, so that what was missed before an early stop is stored as well.
            if stop.is_cancelled() {
                return;
            }
            if self.state().known.len() > MAX_KNOWN {
                self.learn().await;
            }
        }
    }

    /// Takes note of what an import brought, of which no more stays than the store keeps.
    pub(crate) async fn take_imported(&self) {
        if let Err(err) = self.shared.store.update_demand(Vec::new()).await {
            tracing::warn!(error = %chain(&err), "the demand is cut to its bound at the next miss");
        }
        self.learn().await;
    }

    /// Learns what the store knows to be wanted.
    async fn learn(&self) {
        let _storing = self.shared.storing.lock().await;
        match self.shared.store.list_wanted().await {
            Ok(wanted) => self.state().known = wanted.into_iter().collect(),
            Err(err) => tracing::warn!(error = %chain(&err), "the demand cannot be read"),
        }
    }

    /// Stores what was noticed; keeps it when that fails.
    async fn store_gathered(&self) -> Result<(), store::Error> {
        let _storing = self.shared.storing.lock().await;
        let gathered = mem::take(&mut self.state().gathered);
        if gathered.is_empty() {
            return Ok(());
        }
        let noticed = gathered.iter().map(|((kind, wanted), happened)| Noticed {
            kind: *kind,
            wanted: wanted.clone(),
            was_found: happened.was_found,
            missed: happened.missed,
        });
        let stored = self.shared.store.update_demand(noticed.collect()).await;
        let mut state = self.state();
        for (key, earlier) in gathered {
            if stored.is_err() {
                state.keep(key, earlier);
            } else if earlier.missed.is_some() {
                state.known.insert(key);
            }
        }
        stored
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().expect("nobody panics while holding it")
    }
}

impl State {
    /// Puts back what could not be stored, before what happened since.
    fn keep(&mut self, key: Key, Happened { was_found, missed }: Happened) {
        let later = self.gathered.entry(key).or_default();
        if later.was_found {
            return;
        }
        later.was_found = was_found;
        later.missed = match (missed, later.missed) {
            (Some(Missed { count, first_at, .. }), Some(later)) => {
                Some(Missed { count: count + later.count, first_at, last_at: later.last_at })
            }
            (earlier, later) => earlier.or(later),
        };
    }
}

/// Returns a query as it is remembered: one for all its spellings, and cut.
fn folded(query: &str) -> String {
    let words: Vec<_> = query.split_whitespace().collect();
    words.join(" ").to_lowercase().chars().take(MAX_WANTED_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missed(count: u64, first: i64, last: i64) -> Missed {
        let (first_at, last_at) = (Timestamp::from_millis(first), Timestamp::from_millis(last));
        Missed { count, first_at, last_at }
    }

    #[track_caller]
    fn check(
        earlier: (bool, Option<Missed>),
        later: (bool, Option<Missed>),
        kept: (bool, Option<Missed>),
    ) {
        let key = (DemandKind::Content, "a".to_owned());
        let happened = |(was_found, missed)| Happened { was_found, missed };
        let mut state = State::default();
        state.gathered.insert(key.clone(), happened(later));
        state.keep(key.clone(), happened(earlier));
        let Happened { was_found, missed } = &state.gathered[&key];
        assert_eq!((*was_found, *missed), kept);
    }

    #[test]
    fn what_could_not_be_stored_comes_before_what_happened_since() {
        check(
            (false, Some(missed(2, 1, 2))),
            (false, Some(missed(1, 3, 3))),
            (false, Some(missed(3, 1, 3))),
        );
        check((true, Some(missed(2, 1, 2))), (false, None), (true, Some(missed(2, 1, 2))));
        check(
            (false, Some(missed(2, 1, 2))),
            (true, Some(missed(1, 3, 3))),
            (true, Some(missed(1, 3, 3))),
        );
        check((true, None), (false, Some(missed(1, 3, 3))), (true, Some(missed(1, 3, 3))));
    }

    #[test]
    fn a_query_is_remembered_in_one_spelling_and_cut() {
        assert_eq!(folded("  Invoice\t OCR\n"), "invoice ocr");
        assert_eq!(folded(&"长".repeat(300)).chars().count(), MAX_WANTED_CHARS);
    }
}
