//! What the hub counts of itself, for `GET /metrics`; `docs/observability.md` tells what each number means.

mod labels;
pub(crate) mod rows;

use std::time::Duration;

use llm::Usage;
use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::{Registry, Unit},
};
use protocol::{Timestamp, hub::ErrorCode};
use service::metrics::{RequestMetrics, register_process};

use labels::{Called, Code, Embedded, Kind, Searched, Stage, Stepped, Tokens};

/// Upper bounds of the classes of commit durations, in seconds.
const COMMIT_DURATIONS: [f64; 11] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

/// Upper bounds of the classes of writes per commit.
const COMMIT_SIZES: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, 512.0];

/// Everything that is counted.
#[derive(Default)]
pub(crate) struct Metrics {
    /// The requests of the HTTP API.
    pub(crate) requests: RequestMetrics,
    /// The commits of the store's writer.
    pub(crate) commits: CommitMetrics,
    refused: Family<Code, Counter>,
    searches: Family<Searched, Counter>,
    withheld: Counter,
    model_calls: Family<Called, Counter>,
    model_tokens: Family<Tokens, Counter>,
    model_cost: Counter<f64>,
    steps: Family<Stepped, Counter>,
    merges: Family<Stage, Counter>,
    merges_undone: Counter,
    records_waiting: Family<Kind, Gauge>,
    longest_wait: Gauge,
    embedded_texts: Family<Embedded, Counter>,
    embedding_remaining: Gauge,
    demand_dropped: Counter,
    rows: Family<Kind, Gauge>,
    load: LoadMetrics,
}

/// What the store's writer counts.
#[derive(Clone, Debug)]
pub(crate) struct CommitMetrics {
    sizes: Histogram,
    durations: Histogram,
    failed: Counter,
}

/// How busy the hub is at the moment of a reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    /// Writes that wait for the store's writer.
    pub(crate) writes_waiting: usize,
    /// Reads from the store.
    pub(crate) reads_running: usize,
    /// Reads that wait for a connection.
    pub(crate) reads_waiting: usize,
    /// Stored rows that were met and could not be read.
    pub(crate) rows_unreadable: usize,
    /// Searches.
    pub(crate) searches_running: usize,
    /// Searches that wait for a place.
    pub(crate) searches_waiting: usize,
}

/// How an index is at the moment of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexLoad {
    /// Changes that are not on disk yet.
    pub(crate) changes_in_memory: usize,
    /// Every row can be found.
    pub(crate) is_current: bool,
}

#[derive(Clone, Default)]
struct LoadMetrics {
    writes_waiting: Gauge,
    reads_running: Gauge,
    reads_waiting: Gauge,
    rows_unreadable: Gauge,
    searches_running: Gauge,
    searches_waiting: Gauge,
    index_changes_in_memory: Family<Kind, Gauge>,
    index_current: Family<Kind, Gauge>,
}

impl Default for CommitMetrics {
    fn default() -> Self {
        Self {
            sizes: Histogram::new(COMMIT_SIZES),
            durations: Histogram::new(COMMIT_DURATIONS),
            failed: Counter::default(),
        }
    }
}

impl CommitMetrics {
    /// Counts a commit of `writes` writes.
    pub(crate) fn committed(&self, writes: usize, duration: Duration) {
        self.sizes.observe(writes as f64);
        self.durations.observe(duration.as_secs_f64());
    }

    /// Counts a commit that failed, with all its writes.
    pub(crate) fn failed(&self) {
        self.failed.inc();
    }
}

impl Metrics {
    /// Counts a search, and the results that it held back as irrelevant; `kind` is one of a few words.
    pub(crate) fn searched(&self, kind: &'static str, found: usize, withheld: u64) {
        let outcome = if found > 0 { "hit" } else { "miss" };
        self.searches.get_or_create(&Searched { kind, outcome }).inc();
        self.withheld.inc_by(withheld);
    }

    /// Counts a request that was refused or failed, by its code.
    pub(crate) fn refused(&self, code: ErrorCode) {
        self.refused.get_or_create(&Code::new(code)).inc();
    }

    /// Counts a call of the language model and what it used, `None` when it failed.
    ///
    /// `purpose` is one of a few words such as `rerank`.
    pub(crate) fn model_called(&self, purpose: &'static str, used: Option<Usage>) {
        let outcome = if used.is_some() { "answered" } else { "failed" };
        self.model_calls.get_or_create(&Called { purpose, outcome }).inc();
        let Some(used) = used else { return };
        for (direction, count) in
            [("prompt", used.prompt_tokens), ("completion", used.completion_tokens)]
        {
            self.model_tokens.get_or_create(&Tokens { purpose, direction }).inc_by(count);
        }
        // A counter never goes down, and what is no number would stay in it forever.
        let cost = used.cost.filter(|cost| cost.is_finite() && *cost > 0.0);
        self.model_cost.inc_by(cost.unwrap_or_default());
    }

    /// Counts a step in the processing of a record; both are of a few words.
    pub(crate) fn stepped(&self, stage: &'static str, outcome: &'static str) {
        self.steps.get_or_create(&Stepped { stage, outcome }).inc();
    }

    /// Counts a record that was turned down for the sake of another; `stage` is one of a few words.
    pub(crate) fn merged(&self, stage: &'static str) {
        self.merges.get_or_create(&Stage { stage }).inc();
    }

    /// Counts a record that was let back in.
    pub(crate) fn merge_undone(&self) {
        self.merges_undone.inc();
    }

    /// Notes how many records wait in a status of the processing.
    pub(crate) fn records_waiting(&self, status: &'static str, count: i64) {
        self.records_waiting.get_or_create(&Kind { kind: status }).set(count);
    }

    /// Notes how long the record that waits longest has waited.
    pub(crate) fn longest_wait(&self, wait: Duration) {
        self.longest_wait.set(wait.as_secs().cast_signed());
    }

    /// Counts texts that an embedding model was given, and whether it answered; `role` is `query` or `passage`.
    pub(crate) fn embedded(&self, role: &'static str, texts: usize, is_answered: bool) {
        let outcome = if is_answered { "answered" } else { "failed" };
        self.embedded_texts.get_or_create(&Embedded { role, outcome }).inc_by(texts as u64);
    }

    /// Notes how many changed records are still to be embedded.
    pub(crate) fn embedding_remaining(&self, records: u32) {
        self.embedding_remaining.set(records.into());
    }

    /// Counts a miss that could not be remembered.
    pub(crate) fn demand_dropped(&self) {
        self.demand_dropped.inc();
    }

    /// Notes how many rows of a kind there are.
    pub(crate) fn rows(&self, kind: &'static str, count: i64) {
        self.rows.get_or_create(&Kind { kind }).set(count);
    }

    /// Notes how busy the hub is now.
    pub(crate) fn load(&self, load: Load) {
        let gauges = &self.load;
        for (gauge, count) in [
            (&gauges.writes_waiting, load.writes_waiting),
            (&gauges.reads_running, load.reads_running),
            (&gauges.reads_waiting, load.reads_waiting),
            (&gauges.rows_unreadable, load.rows_unreadable),
            (&gauges.searches_running, load.searches_running),
            (&gauges.searches_waiting, load.searches_waiting),
        ] {
            gauge.set(count.cast_signed() as i64);
        }
    }

    /// Notes how many changes an index has in memory only, and whether it follows the store.
    pub(crate) fn index(&self, kind: &'static str, load: IndexLoad) {
        let kind = Kind { kind };
        let in_memory = load.changes_in_memory.cast_signed() as i64;
        self.load.index_changes_in_memory.get_or_create(&kind).set(in_memory);
        self.load.index_current.get_or_create(&kind).set(load.is_current.into());
    }

    /// Returns a registry that names all counts.
    pub(crate) fn registry(&self, started: Timestamp) -> Registry {
        let mut registry = Registry::default();
        let since_epoch = started.since(Timestamp::from_millis(0));
        register_process(&mut registry, since_epoch);
        let hub = registry.sub_registry_with_prefix("knowhub");
        hub.register(
            "build",
            "The hub's version",
            Info::new([("version", env!("CARGO_PKG_VERSION"))]),
        );
        self.requests.register(hub);
        hub.register(
            "errors",
            "Requests that were refused or failed, by code",
            self.refused.clone(),
        );
        hub.register(
            "searches",
            "Searches, by what they searched and found",
            self.searches.clone(),
        );
        hub.register("withheld", "Results held back as irrelevant", self.withheld.clone());
        hub.register("rows", "Stored rows, counted once a minute", self.rows.clone());
        hub.register(
            "demand_dropped",
            "Misses that were not remembered",
            self.demand_dropped.clone(),
        );
        self.register_models(hub);
        self.register_pipeline(hub);
        self.commits.register(hub);
        self.load.register(hub);
        registry
    }

    fn register_pipeline(&self, hub: &mut Registry) {
        hub.register("pipeline_steps", "Steps in the processing of records", self.steps.clone());
        hub.register("merges", "Records turned down for the sake of another", self.merges.clone());
        hub.register("merges_undone", "Records of these let back in", self.merges_undone.clone());
        hub.register(
            "pipeline_records_waiting",
            "Records that are not processed yet, by status",
            self.records_waiting.clone(),
        );
        hub.register_with_unit(
            "pipeline_longest_wait",
            "How long the record that waits longest has waited",
            Unit::Seconds,
            self.longest_wait.clone(),
        );
    }

    fn register_models(&self, hub: &mut Registry) {
        hub.register("model_calls", "Calls of the language model", self.model_calls.clone());
        hub.register("model_tokens", "Tokens read and written by it", self.model_tokens.clone());
        hub.register(
            "model_cost",
            "Their price, in the provider's currency",
            self.model_cost.clone(),
        );
        hub.register(
            "embedded_texts",
            "Texts that the embedding model was given",
            self.embedded_texts.clone(),
        );
        hub.register(
            "embedding_remaining",
            "Changed records that are still to be embedded",
            self.embedding_remaining.clone(),
        );
    }
}

impl CommitMetrics {
    fn register(&self, hub: &mut Registry) {
        hub.register("store_commit_writes", "Writes per commit", self.sizes.clone());
        hub.register_with_unit(
            "store_commit_duration",
            "Time of a commit with its writes",
            Unit::Seconds,
            self.durations.clone(),
        );
        hub.register("store_commits_failed", "Commits that failed", self.failed.clone());
    }
}

impl LoadMetrics {
    fn register(&self, hub: &mut Registry) {
        for (name, help, gauge) in [
            ("store_writes_waiting", "Writes that wait for the writer", &self.writes_waiting),
            ("store_reads_running", "Reads from the store", &self.reads_running),
            ("store_reads_waiting", "Reads that wait for a connection", &self.reads_waiting),
            ("store_rows_unreadable", "Rows that cannot be read", &self.rows_unreadable),
            ("searches_running", "Searches that run", &self.searches_running),
            ("searches_waiting", "Searches that wait for a place", &self.searches_waiting),
        ] {
            hub.register(name, help, gauge.clone());
        }
        let help = "Changes that are not in the index on disk yet";
        hub.register("index_changes_in_memory", help, self.index_changes_in_memory.clone());
        let help = "1 while the index follows the store, 0 while it is built or cannot be written";
        hub.register("index_current", help, self.index_current.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use axum::{
        Router,
        body::{Body, to_bytes},
        http::Request,
        middleware,
        routing::get,
    };
    use tower::ServiceExt;

    use super::*;

    /// Counts something of each kind, since nothing is told of what never happened.
    async fn used() -> Metrics {
        let metrics = Metrics::default();
        let measured =
            middleware::from_fn_with_state(metrics.requests.clone(), RequestMetrics::measure);
        let router = Router::new().route("/", get(async || ())).layer(measured);
        router.oneshot(Request::get("/").body(Body::empty()).unwrap()).await.unwrap();
        metrics.searched("experience_search", 1, 0);
        metrics.refused(ErrorCode::NotFound);
        metrics.model_called("evolve", Some(Usage::default()));
        metrics.stepped("dedup", "passed");
        metrics.merged("report");
        metrics.records_waiting("pending", 1);
        metrics.embedded("query", 1, true);
        metrics.rows("experiences", 1);
        metrics.index("experiences", IndexLoad { changes_in_memory: 0, is_current: true });
        metrics
    }

    #[tokio::test]
    async fn the_table_names_what_is_counted_and_nothing_else() {
        let registry = used().await.registry(Timestamp::from_millis(0));
        let page = service::metrics::page(&registry);
        let page = to_bytes(page.into_body(), usize::MAX).await.unwrap();
        let page = String::from_utf8(page.to_vec()).unwrap();
        let counted: BTreeSet<String> = page
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
            .map(|(name, kind)| match kind {
                "counter" => format!("{name}_total"),
                "info" => format!("{name}_info"),
                _ => name.to_owned(),
            })
            .collect();
        let table = include_str!("../../docs/observability.md")
            .lines()
            .skip_while(|line| !line.starts_with("## Metrics"))
            .take_while(|line| !line.starts_with("## Logs"));
        let told: BTreeSet<String> = table
            .filter_map(|line| line.strip_prefix("| `")?.split_once(" | "))
            .flat_map(|(names, _)| names.split(", "))
            .map(|name| name.trim_matches('`').to_owned())
            .collect();
        assert_eq!(told, counted);
    }
}
