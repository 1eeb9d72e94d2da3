//! Bringing an export into the store: it is kept and checked as a whole, then its records are stored in small steps.

mod keep;
mod original;
mod scratch;

use std::io;

use protocol::{
    ExperienceId,
    export::{Conflict, ExportFault, Finding, ImportReport, Kind, Line},
};

pub(crate) use keep::{Checked, keep};
pub(crate) use original::convert;
pub(crate) use scratch::remove_leftovers;

use crate::{
    blocking,
    store::{self, Fate, Store, Terms, original::OriginalFault},
};

/// How many records are stored in one transaction; between two of them other writers have their turn.
const RECORDS_AT_ONCE: usize = 256;

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

/// Stores the records of a checked export, and reports what became of each.
pub(crate) async fn apply(
    store: &Store,
    mut checked: Checked,
    dry_run: bool,
) -> Result<ImportReport, Error> {
    let since = store.find_last_seq().await?;
    if !dry_run {
        store.reserve_experiences(checked.header.last_experience).await?;
    }
    let mut report = ImportReport { dry_run, ..std::mem::take(&mut checked.report) };
    loop {
        let reading = blocking::run(move || {
            let batch = checked.next_records(RECORDS_AT_ONCE);
            (checked, batch)
        });
        let (rest, batch) = reading.await?;
        checked = rest;
        let batch = batch?;
        batch.rejected.into_iter().for_each(|finding| report.add_rejected(finding));
        if batch.records.is_empty() && batch.is_last {
            return Ok(report);
        }
        store_batch(store, batch.records, Terms { since, dry_run }, &mut report).await?;
    }
}

/// Records as they were read.
#[derive(Default)]
struct Batch {
    records: Vec<Line>,
    rejected: Vec<Finding>,
    /// Nothing comes after them.
    is_last: bool,
}

async fn store_batch(
    store: &Store,
    records: Vec<Line>,
    terms: Terms,
    report: &mut ImportReport,
) -> Result<(), store::Error> {
    let names: Vec<_> = records.iter().filter_map(name).collect();
    let fates = store.import_records(records, terms).await?;
    for ((kind, id), fate) in names.into_iter().zip(fates) {
        match fate {
            Fate::Imported(number) => {
                report.add_imported(kind);
                note_number(report, &id, number);
            }
            Fate::Here(number) => {
                report.add_skipped(kind);
                note_number(report, &id, number);
            }
            Fate::Refused(reason) => {
                report.add_conflict(Conflict { kind, id, reason: reason.to_owned() });
            }
        }
    }
    Ok(())
}

fn note_number(report: &mut ImportReport, id: &str, number: Option<ExperienceId>) {
    if let (Ok(from), Some(to)) = (id.parse().map(ExperienceId), number)
        && from != to
    {
        report.add_renumbered(from, to);
    }
}

/// Returns what kind of record a line holds, and by which name a person finds it.
fn name(line: &Line) -> Option<(Kind, String)> {
    let id = match line {
        Line::Experience(one) => one.id.to_string(),
        Line::Resource(one) => one.id.to_string(),
        Line::Knowledge(one) => one.record.id.to_string(),
        Line::Version(one) => format!("{}, version {}", one.id, one.version),
        Line::Tombstone(one) => one.id.clone(),
        Line::Evaluation(one) => {
            format!("{} in {} at {}", one.knowledge_id, one.trace_id, one.injected_at_sequence)
        }
        Line::Feedback(one) => format!("of {} on {}", one.created_at, one.knowledge_id),
        Line::Demand(one) => one.kind.as_str().to_owned(),
        Line::Manifest(_) => return None,
    };
    line.kind().map(|kind| (kind, id))
}
