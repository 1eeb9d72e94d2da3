//! Bringing an export into the store: it is kept and checked as a whole, then its records are stored in small steps.

mod admission;
mod cells;
mod keep;
mod original;
mod scratch;

use std::{io, sync::Arc};

use axum::body::Bytes;
use protocol::{
    ExperienceId, KnowledgeId,
    export::{Conflict, ExportFault, Finding, ImportReport, Kind, Line, total},
};
use service::logging::chain;
use tokio::sync::{Mutex, mpsc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument;

pub(crate) use keep::Checked;
pub(crate) use scratch::remove_leftovers;

use crate::{
    blocking,
    demand::Demand,
    knowledge::Author,
    store::{self, Fate, Importing, Store, original::OriginalFault},
    vault::Vault,
};

/// Why an import ended; what it has stored by then stays, and the same import done again goes on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// It is no whole export.
    #[error("{0}; nothing was imported")]
    Fault(#[from] ExportFault),
    /// It is no database of the original system.
    #[error("{0}; nothing was imported")]
    Original(#[from] OriginalFault),
    /// The import cannot be kept while it is checked.
    #[error(
        "the import cannot be kept beside the store while it is checked, \
         perhaps because the disk is full; nothing was imported"
    )]
    Scratch(#[from] io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl From<blocking::Closed> for Error {
    fn from(_: blocking::Closed) -> Self {
        Self::Store(store::Error::Closed)
    }
}

/// How something is imported.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// It is a database file of the original system, and not an export.
    pub(crate) is_original: bool,
    /// Nothing is stored; the report tells what would be.
    pub(crate) dry_run: bool,
    /// What looks like a secret is let in.
    pub(crate) allows_secrets: bool,
    /// Who imports, and when.
    pub(crate) author: Author,
}

/// How many records are asked in one transaction whether their relations are told by both sides.
const RELATED_AT_ONCE: usize = 256;

/// Brings imports into the store, one after the other; clones share the turn.
#[derive(Clone)]
pub(crate) struct Importer {
    store: Store,
    vault: Arc<Vault>,
    demand: Demand,
    /// Held while records are stored: of two imports at once, neither would know what the other brings.
    turn: Arc<Mutex<()>>,
    /// The imports that store.
    tasks: TaskTracker,
    /// Ends them.
    stop: CancellationToken,
}

impl Importer {
    pub(crate) fn new(
        store: Store,
        vault: Arc<Vault>,
        demand: Demand,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        Self { store, vault, demand, turn: Arc::default(), tasks, stop }
    }

    /// Keeps the pieces of an import beside the store until the last has come, and checks them.
    ///
    /// Blocks its thread.
    pub(crate) fn keep(
        &self,
        pieces: mpsc::Receiver<Bytes>,
        order: &Order,
    ) -> Result<Checked, Error> {
        if order.is_original {
            original::convert(&self.store, &self.vault, pieces, order.allows_secrets)
        } else {
            keep::keep(self.store.path(), pieces, order.allows_secrets)
        }
    }

    /// Stores the records of a checked import, and reports what became of each; waits for an earlier one to end.
    ///
    /// It goes on when the caller leaves, and ends early with the hub alone; the log tells how it ended.
    pub(crate) async fn store(
        &self,
        checked: Checked,
        order: Order,
    ) -> Result<ImportReport, Error> {
        let importer = self.clone();
        let storing = async move {
            let stored = importer.stop.run_until_cancelled(importer.store_all(checked, &order));
            let stored = stored.await.unwrap_or_else(|| Err(store::Error::Closed.into()));
            tell(&stored);
            stored
        };
        match self.tasks.spawn(storing.in_current_span()).await {
            Ok(stored) => stored,
            Err(err) if err.is_panic() => std::panic::resume_unwind(err.into_panic()),
            Err(_) => Err(store::Error::Closed.into()),
        }
    }

    async fn store_all(&self, mut checked: Checked, order: &Order) -> Result<ImportReport, Error> {
        let _turn = self.turn.lock().await;
        let (last, dry_run) = (checked.header.last_experience, order.dry_run);
        let mut importing = self.store.begin_import(last, dry_run).await?;
        let mut report = ImportReport { dry_run, ..std::mem::take(&mut checked.report) };
        report.left_out.subjects().for_each(|subject| importing.leave_out(subject));
        loop {
            let reading = blocking::run(move || {
                let batch = checked.next_records();
                (checked, batch)
            });
            let (rest, batch) = reading.await?;
            checked = rest;
            let batch = batch?;
            batch.rejected.into_iter().for_each(|finding| report.add_rejected(finding));
            batch.adjusted.into_iter().for_each(|finding| report.add_adjusted(finding));
            batch.left_out.into_iter().for_each(|subject| importing.leave_out(subject));
            if !batch.records.is_empty() {
                importing = self.store_batch(importing, batch.records, &mut report).await?;
            }
            if batch.is_last {
                break;
            }
        }
        if !dry_run {
            self.end_loose_relations(&importing.into_related(), &order.author, &mut report).await?;
            self.demand.take_imported().await;
        }
        Ok(report)
    }

    async fn store_batch(
        &self,
        importing: Importing,
        mut records: Vec<Line>,
        report: &mut ImportReport,
    ) -> Result<Importing, store::Error> {
        self.settle_cells(&mut records, report).await;
        let names: Vec<_> = records.iter().filter_map(Name::of).collect();
        let (importing, fates) = self.store.import_records(importing, records).await?;
        for (Name { kind, id, number }, fate) in names.into_iter().zip(fates) {
            match fate {
                Fate::Imported(here) => {
                    report.add_imported(kind);
                    // A number that is only tried is given to nobody.
                    note_number(report, number, here.filter(|_| !report.dry_run));
                }
                Fate::Here(here) => {
                    report.add_skipped(kind);
                    note_number(report, number, here);
                }
                Fate::Refused(reason) => {
                    report.add_conflict(Conflict { kind, id, reason: reason.to_owned() });
                }
            }
        }
        Ok(importing)
    }

    /// Ends relations with records that stayed out: a relation is told by both records or by none.
    ///
    /// Asked are also records that were here already, since an import that brought them may have been interrupted.
    async fn end_loose_relations(
        &self,
        related: &[KnowledgeId],
        author: &Author,
        report: &mut ImportReport,
    ) -> Result<(), store::Error> {
        for ids in related.chunks(RELATED_AT_ONCE) {
            let ended = self.store.end_loose_relations(ids.to_vec(), author.clone()).await?;
            for (id, relation) in ended {
                let (kind, target) = (&relation.kind, &relation.target);
                report.add_adjusted(Finding {
                    place: id.to_string(),
                    field: "relationships".to_owned(),
                    reason: format!(
                        "`{kind}` to {target} left out, which does not tell of it here"
                    ),
                });
            }
        }
        Ok(())
    }
}

/// Logs how an import ended, for whom nobody waits any more too.
fn tell(stored: &Result<ImportReport, Error>) {
    match stored {
        Ok(report) => {
            let (imported, skipped) = (total(&report.imported), total(&report.skipped));
            let (conflicts, rejected) = (report.conflict_count, report.rejected_count);
            let dry_run = report.dry_run;
            tracing::info!(dry_run, imported, skipped, conflicts, rejected, "imported");
        }
        Err(err) => {
            tracing::warn!(error = %chain(err), "an import ended early; done again, it goes on");
        }
    }
}

fn note_number(report: &mut ImportReport, from: Option<ExperienceId>, to: Option<ExperienceId>) {
    if let (Some(from), Some(to)) = (from, to)
        && from != to
    {
        report.add_renumbered(from, to);
    }
}

/// What kind of record a line holds, and by which name a person finds it.
struct Name {
    kind: Kind,
    id: String,
    /// The number of an experience.
    number: Option<ExperienceId>,
}

impl Name {
    fn of(line: &Line) -> Option<Self> {
        let id = match line {
            Line::Experience(one) => one.id.to_string(),
            Line::Resource(one) => one.id.to_string(),
            Line::Knowledge(one) => one.record.id.to_string(),
            Line::Tombstone(one) => one.id.clone(),
            Line::Version(one) => format!("{}, version {}", one.id, one.version),
            Line::Evaluation(one) => {
                format!("{} in {} at {}", one.knowledge_id, one.trace_id, one.injected_at_sequence)
            }
            Line::Feedback(one) => format!("of {} on {}", one.created_at, one.knowledge_id),
            Line::Demand(one) => one.kind.as_str().to_owned(),
            Line::Manifest(_) => return None,
        };
        let number = if let Line::Experience(one) = line { Some(one.id) } else { None };
        line.kind().map(|kind| Self { kind, id, number })
    }
}
