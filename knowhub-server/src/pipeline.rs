//! Processing what was reported: workers that take each record through its stages, with a model where there is one.
//!
//! What they find out is settled in one transaction with the next status (`store/knowledge/pipeline.rs`), so that a
//! step that is cut off is done again and none is done by halves.

mod found;
mod linking;
mod neighbors;
mod pauses;
mod relating;
mod served;
mod slim;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use llm::Message;
use protocol::{
    Timestamp,
    hub::{Knowledge, KnowledgeStatus},
};
use service::logging::chain;
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

use found::{Found, Nothing};
use pauses::{MAX_WAIT, PAUSES, pause};

use crate::{
    knowledge::Author,
    metrics::Metrics,
    model::Model,
    search::{self, Search},
    store::{self, Claim, Step, StepNote, Store},
};

/// How many records are worked on at once; searches and writes keep their own places.
const WORKERS: usize = 2;

/// How many records a worker claims at once.
const CLAIMED_AT_ONCE: u32 = 4;

/// After how many failures in a row the model counts as one that gives nothing.
const FAILURES_TO_BE_DOWN: u32 = 3;

/// How often a worker looks for work that nobody told it of, such as a pause that has ended.
const LOOK_PERIOD: Duration = Duration::from_millis(500);

/// A handle to the processing; clones share it.
#[derive(Clone)]
pub(crate) struct Pipeline(Arc<Parts>);

struct Parts {
    store: Store,
    search: Search,
    model: Option<Model>,
    metrics: Arc<Metrics>,
    /// How long the model may take for one record; later it counts as an attempt in vain.
    patience: Duration,
    /// Whose leases are this hub's.
    owner: String,
    /// Told when a record waits.
    reported: Notify,
    /// How often the model has failed since it last answered.
    failures: AtomicU32,
}

impl Pipeline {
    /// Prepares the processing; nothing is worked on before [`Pipeline::follow`].
    ///
    /// The model may take `patience` for each record.
    pub(crate) fn new(
        store: Store,
        search: Search,
        model: Option<Model>,
        metrics: Arc<Metrics>,
        patience: Duration,
    ) -> Self {
        Self(Arc::new(Parts {
            store,
            search,
            model,
            metrics,
            patience,
            owner: Uuid::new_v4().to_string(),
            reported: Notify::new(),
            failures: AtomicU32::new(0),
        }))
    }

    /// Returns the first status of a report: it waits only where a model will judge it.
    pub(crate) fn first_status(&self) -> KnowledgeStatus {
        match self.0.model {
            Some(_) => KnowledgeStatus::Pending,
            None => KnowledgeStatus::Approved,
        }
    }

    /// Tells the workers that a record waits.
    pub(crate) fn reported(&self) {
        self.0.reported.notify_one();
    }

    /// Works until `stop`; a step that is cut off is done again by the next hub.
    pub(crate) fn follow(&self, tasks: &TaskTracker, stop: &CancellationToken) {
        let (pipeline, tracker, stop) = (self.clone(), tasks.clone(), stop.clone());
        tasks.spawn(async move {
            if let Err(err) = pipeline.0.store.end_leases().await {
                tracing::warn!(error = %chain(&err), "the leases of an earlier run were not ended");
            }
            for _ in 0..WORKERS {
                let working = pipeline.clone().work();
                tracker.spawn(stop.clone().run_until_cancelled_owned(working));
            }
        });
    }

    async fn work(self) {
        loop {
            match self.turn().await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(store::Error::Closed) => return,
                Err(err) => tracing::warn!(error = %chain(&err), "the processing of records halts"),
            }
            let _ = timeout(LOOK_PERIOD, self.0.reported.notified()).await;
        }
    }

    /// Takes some records one step further; tells whether any waited.
    async fn turn(&self) -> Result<bool, store::Error> {
        let Parts { store, owner, .. } = &*self.0;
        let now = Timestamp::now();
        let rows = store.list_waiting(now, CLAIMED_AT_ONCE).await?;
        if rows.is_empty() {
            return Ok(false);
        }
        let until = now.after(lease(self.0.patience));
        let mut halted = Ok(true);
        for claim in store.claim(rows, owner.clone(), now, until).await? {
            // The others are not held up by it; it is done anew when its lease ends.
            if let Err(err) = self.step(claim).await {
                halted = Err(err);
            }
        }
        halted
    }

    async fn step(&self, claim: Claim) -> Result<(), store::Error> {
        let is_first = claim.row.record.status == KnowledgeStatus::Processing;
        let stage = if is_first { "dedup" } else { "link" };
        let fallback = if is_first { Step::Distinct(Vec::new()) } else { Step::Linked(Vec::new()) };
        let Some(model) = &self.0.model else {
            let outcome = outcome(&fallback);
            return self.settle(claim, stage, outcome, fallback, StepNote::default()).await;
        };
        if self.is_overdue(&claim) {
            let error = "the language model gave nothing for too long".to_owned();
            let nothing = Nothing { error, ..Nothing::default() };
            return self.degrade(claim, stage, fallback, nothing).await;
        }
        let record = &claim.row.record;
        let found = if is_first {
            relating::relate(self, model, record).await
        } else {
            linking::link(self, model, record).await
        };
        match found {
            Ok(Found::Step(step, error)) => {
                let note = StepNote { error, judged: true, ..StepNote::default() };
                self.settle(claim, stage, outcome(&step), step, note).await
            }
            Ok(Found::Unasked(step, why)) => {
                let note = StepNote { error: why.to_owned(), ..StepNote::default() };
                self.settle(claim, stage, outcome(&step), step, note).await
            }
            Ok(Found::Nothing(nothing)) => {
                let Some(pause) = pause(claim.attempts, nothing.retry_after, rand::random()) else {
                    return self.degrade(claim, stage, fallback, nothing).await;
                };
                let Nothing { error, reply, .. } = nothing;
                let note = StepNote { error, reply, judged: false };
                let attempts = claim.attempts + 1;
                self.put_off(claim, stage, attempts, note, pause).await
            }
            Err(search::Error::Store(err)) => Err(err),
            // No fault of the record: it waits until searches are possible again.
            Err(err) => {
                let error = format!("no search was possible: {err}");
                let note = StepNote { error, ..StepNote::default() };
                let attempts = claim.attempts;
                self.put_off(claim, stage, attempts, note, PAUSES[0]).await
            }
        }
    }

    async fn put_off(
        &self,
        claim: Claim,
        stage: &'static str,
        attempts: u32,
        note: StepNote,
        pause: Duration,
    ) -> Result<(), store::Error> {
        self.0.metrics.stepped(stage, "put_off");
        let now = Timestamp::now();
        self.0.store.put_off(claim, attempts, note, now.after(pause), now).await
    }

    /// Lets a record go on without the model's word, and says so.
    async fn degrade(
        &self,
        claim: Claim,
        stage: &'static str,
        step: Step,
        Nothing { error, reply, .. }: Nothing,
    ) -> Result<(), store::Error> {
        tracing::warn!(knowledge.id = %claim.row.record.id, stage, "a record goes on unjudged");
        let note = StepNote { error, reply, judged: false };
        self.settle(claim, stage, "degraded", step, note).await
    }

    async fn settle(
        &self,
        claim: Claim,
        stage: &'static str,
        outcome: &'static str,
        step: Step,
        note: StepNote,
    ) -> Result<(), store::Error> {
        let author = Author { name: self.actor(), now: Timestamp::now() };
        let id = claim.row.record.id.clone();
        let is_settled = self.0.store.settle(claim, step, note, author).await?;
        self.0.metrics.stepped(stage, if is_settled { outcome } else { "anew" });
        if is_settled && outcome == "merged" {
            self.0.metrics.merged(stage);
        }
        tracing::debug!(knowledge.id = %id, stage, outcome, is_settled, "a record was processed");
        Ok(())
    }

    /// Returns who decides here.
    fn actor(&self) -> String {
        self.0.model.as_ref().map_or("hub".to_owned(), |model| format!("pipeline:{}", model.name()))
    }

    fn is_overdue(&self, claim: &Claim) -> bool {
        self.0.failures.load(Ordering::Relaxed) >= FAILURES_TO_BE_DOWN
            && Timestamp::now().since(claim.queued_at) > MAX_WAIT
    }

    /// Asks the model; its reply, or what went wrong.
    async fn ask(
        &self,
        model: &Model,
        purpose: &'static str,
        messages: Vec<Message>,
    ) -> Result<String, Nothing> {
        let deadline = Instant::now() + self.0.patience;
        let replied = model.complete(purpose, messages, deadline).await;
        match &replied {
            Ok(_) => self.0.failures.store(0, Ordering::Relaxed),
            Err(_) => {
                self.0.failures.fetch_add(1, Ordering::Relaxed);
            }
        }
        replied.map(|reply| reply.content).map_err(Nothing::unanswered)
    }
}

/// Returns what a step is counted as.
fn outcome(step: &Step) -> &'static str {
    match step {
        Step::Merged(..) => "merged",
        Step::Distinct(related) if related.is_empty() => "passed",
        Step::Distinct(_) => "related",
        Step::Linked(tools) if tools.is_empty() => "passed",
        Step::Linked(_) => "linked",
    }
}

/// Returns how long a claim holds: longer than the steps of all records that are claimed at once may take.
///
/// Searches and writes get as much time as the model, and a minute more.
fn lease(patience: Duration) -> Duration {
    2 * CLAIMED_AT_ONCE * patience + Duration::from_mins(1)
}

/// Returns the text by which others like a record are sought.
fn sought_text(record: &Knowledge) -> String {
    let text = format!("{}\n{}", record.task, record.content);
    protocol::source::excerpt(&text, SOUGHT_CHARS)
}

/// How much of a record is sought by, in characters.
const SOUGHT_CHARS: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_outlasts_what_is_claimed_at_once() {
        let patience = Duration::from_secs(30);
        assert_eq!(lease(patience), Duration::from_mins(5));
        assert!(lease(Duration::from_mins(10)) > CLAIMED_AT_ONCE * Duration::from_mins(10));
    }
}
