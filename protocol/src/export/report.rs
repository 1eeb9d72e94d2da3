//! What became of an import, record by record.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Counts, Kind, LeftOut};
use crate::ids::ExperienceId;

/// Answer to `POST /api/import`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportReport {
    /// Nothing was stored; the numbers say what would have been.
    pub dry_run: bool,
    /// What was stored, by kind.
    #[schema(value_type = BTreeMap<String, u64>)]
    pub imported: Counts,
    /// What was here already, saying the same, by kind.
    #[schema(value_type = BTreeMap<String, u64>)]
    pub skipped: Counts,
    /// How many records stand against what is here; what is here stays.
    pub conflict_count: u64,
    /// The first of them.
    pub conflicts: Vec<Conflict>,
    /// How many records cannot be stored at all.
    pub rejected_count: u64,
    /// The first of them.
    pub rejected: Vec<Finding>,
    /// How many values of the original system were stored as something else.
    pub adjusted_count: u64,
    /// The first of them.
    pub adjusted: Vec<Finding>,
    /// Experiences that have another number here, in runs.
    pub renumbered: Vec<Renumbered>,
    /// How many experiences with another number are not listed.
    pub renumbered_unlisted: u64,
    /// What is missing in the export itself, because the hub that it was taken of could not read it.
    #[serde(default)]
    pub left_out: LeftOut,
}

/// A record that was not stored, because something else is here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Conflict {
    /// What kind of record it is.
    pub kind: Kind,
    /// Its id.
    pub id: String,
    /// Why it was not stored.
    pub reason: String,
}

/// What is wrong with one line, or one row of the original system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Finding {
    /// Where: `line 7`, or `experiences, row 7`.
    pub place: String,
    /// The field, where there is one.
    pub field: String,
    /// What is wrong with it, and what was done.
    pub reason: String,
}

/// Experiences `from`, `from + 1`, … that are `to`, `to + 1`, … here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Renumbered {
    /// The first one's number in the export.
    pub from: ExperienceId,
    /// Its number here.
    pub to: ExperienceId,
    /// How many.
    pub count: u64,
}

/// How many conflicts and findings of each sort are listed; of further ones only their number is told.
const MAX_LISTED: usize = 1_000;

/// How many runs of renumbered experiences are listed.
const MAX_RUNS: usize = 10_000;

impl ImportReport {
    /// Counts a record that was stored.
    pub fn add_imported(&mut self, kind: Kind) {
        *self.imported.entry(kind).or_default() += 1;
    }

    /// Counts a record that was here already.
    pub fn add_skipped(&mut self, kind: Kind) {
        *self.skipped.entry(kind).or_default() += 1;
    }

    /// Notes a record that stands against what is here.
    pub fn add_conflict(&mut self, conflict: Conflict) {
        self.conflict_count += 1;
        if self.conflicts.len() < MAX_LISTED {
            self.conflicts.push(conflict);
        }
    }

    /// Notes a record that cannot be stored.
    pub fn add_rejected(&mut self, finding: Finding) {
        self.rejected_count += 1;
        if self.rejected.len() < MAX_LISTED {
            self.rejected.push(finding);
        }
    }

    /// Notes a value that was stored as something else.
    pub fn add_adjusted(&mut self, finding: Finding) {
        self.adjusted_count += 1;
        if self.adjusted.len() < MAX_LISTED {
            self.adjusted.push(finding);
        }
    }

    /// Notes that experience `from` of the export is `to` here.
    pub fn add_renumbered(&mut self, from: ExperienceId, to: ExperienceId) {
        if let Some(run) = self.renumbered.last_mut()
            && from.0 == run.from.0 + run.count.cast_signed()
            && to.0 == run.to.0 + run.count.cast_signed()
        {
            run.count += 1;
        } else if self.renumbered.len() < MAX_RUNS {
            self.renumbered.push(Renumbered { from, to, count: 1 });
        } else {
            self.renumbered_unlisted += 1;
        }
    }
}
