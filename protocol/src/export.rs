//! An export of the hub: everything it knows, one JSON object a line.
//!
//! The first line is a [`Header`], the last a [`Manifest`], and every line between them a record.
//! Whoever writes one uses [`Writer`], whoever reads one [`Checker`], which tells a whole export from a cut or changed one.
//! Equal stores give equal lines in equal order; only the header differs.
//!
//! # Layout
//!
//! - `records`: one type a kind of record.
//! - `bodies`, `check`: the writes that make such records, and what must hold for a record as it holds for them.
//! - `line`: a line, read and written.
//! - `writer`, `checker`: the sum over all lines, made and compared.
//! - `report`: what became of an import.
//! - `subject`: of which record other lines speak.
//! - `unknown`: fields that a reader would lose.

mod bodies;
mod check;
mod checker;
mod line;
mod records;
mod report;
mod subject;
mod unknown;
mod writer;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use checker::{Checker, ExportFault};
pub use line::{Line, is_manifest};
pub use records::{
    Evaluation, Experience, Feedback, KnowledgeRecord, RecordKind, Resource, Tombstone, Version,
};
pub use report::{Conflict, Finding, ImportReport, Renumbered};
pub use subject::Subject;
pub use unknown::unknown_field;
pub use writer::Writer;

use crate::{ids::ExperienceId, time::Timestamp};

/// The shape of the lines; an export of a later shape is refused rather than read in part.
pub const FORMAT: u32 = 1;

/// The media type of an export.
pub const CONTENT_TYPE: &str = "application/x-ndjson";

/// The media type of a database file of the original system.
pub const ORIGINAL_CONTENT_TYPE: &str = "application/vnd.sqlite3";

/// The longest line, in bytes; no record of a hub comes near it, and a longer one is refused.
pub const MAX_LINE_BYTES: usize = 32 << 20;

/// The first line: what this is, and of which store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The shape of the lines, [`FORMAT`].
    pub knowhub_export: u32,
    /// Which store it was taken of.
    pub store_id: String,
    /// The last number of the store's change sequence that it holds.
    pub last_seq: i64,
    /// The highest number that an experience of it has had, so that no number is used twice.
    pub last_experience: ExperienceId,
    /// When it was taken.
    pub created_at: Timestamp,
}

/// The last line: what must have come before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// How many records of each kind there are.
    pub counts: Counts,
    /// SHA-256, in hex, of the header's `last_experience` and of all lines between header and manifest, each with
    /// `\n` as its end.
    pub sha256: String,
    /// What the hub has and could not read; not written where there is none.
    #[serde(default, skip_serializing_if = "LeftOut::is_empty")]
    pub left_out: LeftOut,
}

/// Records that are missing in an export, because the hub could not read them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// How many.
    pub count: u64,
    /// The first of them, at most 1,000, as `kind id`.
    pub records: Vec<String>,
}

impl LeftOut {
    /// How many records are named; further ones are only counted.
    const MAX_NAMED: usize = 1_000;

    /// Tells whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn add(&mut self, kind: Kind, id: &str) {
        self.count += 1;
        if self.records.len() < Self::MAX_NAMED {
            self.records.push(format!("{} {id}", kind.as_str()));
        }
    }
}

/// How many records of each kind.
pub type Counts = BTreeMap<Kind, u64>;

/// Returns the sum over all kinds.
pub fn total(counts: &Counts) -> u64 {
    counts.values().sum()
}

/// What kind of record a line holds.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An experience with a resource.
    Experience,
    /// A resource or content node, its secret as sealed.
    Resource,
    /// A knowledge record.
    Knowledge,
    /// What was deleted.
    Tombstone,
    /// What a record said before.
    Version,
    /// A verdict on knowledge that was injected into a trace.
    Evaluation,
    /// What a user said a record should say instead.
    Feedback,
    /// What was asked for and not found.
    Demand,
}

impl Kind {
    /// All kinds, in the order in which they are exported.
    pub const ALL: [Self; 8] = [
        Self::Experience,
        Self::Resource,
        Self::Knowledge,
        Self::Tombstone,
        Self::Version,
        Self::Evaluation,
        Self::Feedback,
        Self::Demand,
    ];

    /// Returns the kind as it stands in a line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Experience => "experience",
            Self::Resource => "resource",
            Self::Knowledge => "knowledge",
            Self::Tombstone => "tombstone",
            Self::Version => "version",
            Self::Evaluation => "evaluation",
            Self::Feedback => "feedback",
            Self::Demand => "demand",
        }
    }
}
