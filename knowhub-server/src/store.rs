//! The hub's rows in SQLite: the truth that every index is derived from.
//!
//! | table | holds | changes |
//! |---|---|---|
//! | `store` | who this store is, the last number of the change sequence | in every transaction that changes a searchable row |
//! | `experiences` | one row a report | never updated |
//! | `resource_names` | count, scores and newest URL per name | together with the experience that changes it |
//! | `knowledge` | one row a record | with a new `seq` whenever it changes |
//! | `embedding_spaces` | which vectors can be compared, and how far embedding is | together with its vectors |
//! | `vectors` | what an embedding model made of a knowledge record | gone when the record's text changes |
//! | `resources` | one row a resource or content node | with a new `seq` whenever it changes |
//! | `versions` | what a record said before | together with the change that replaced it |
//! | `tombstones` | what was deleted, by whom and why | together with the deletion, with a `seq` of its own |
//! | `merges` | which record was turned down for the sake of which other | together with both records |
//! | `pipeline` | how far the processing of a record is, beside its status | with each step |
//! | `evaluations` | verdicts on knowledge, each once | together with the counters of its record |
//! | `feedback` | what users said a record should say | when a model worked it in |
//! | `demand` | what was asked for and not found | some time after the miss |
//! | `idempotent_answers` | answers already given, for 24 hours | together with the write that they answer |
//!
//! One thread writes; what waits for it is committed together, and nobody gets an answer before the commit.
//! Readers are separate read-only connections that neither block nor are blocked.
//!
//! # What an engine has to give
//!
//! Another engine stands behind this same interface when it gives, with every method async and every type our own:
//!
//! - transactions that are on disk before [`Store::write`] returns, several writes committed together, one undone alone;
//! - a change sequence in commit order: `seq` of a row is drawn within its transaction, and is told to `publish` before its writer gets its answer;
//! - reads that see only what was committed, and never wait for a writer;
//! - one snapshot over all tables for as long as an export reads ([`Snapshot`]);
//! - idempotent answers in the transaction of the write that they answer;
//! - keys of experiences that are never used twice.
//!
//! All SQL of the hub stands below this module, and no type of the engine leaves it.

mod backup;
mod change;
mod columns;
mod demand;
mod disk;
mod error;
mod experiences;
mod export;
mod file;
mod idempotency;
mod import;
mod integrity;
mod knowledge;
mod left_out;
mod merges;
pub(crate) mod original;
mod reader;
mod readers;
mod resource_names;
mod resources;
mod row_counts;
mod sealed;
mod tombstones;
mod tools;
mod unreadable;
mod vectors;
mod versions;
mod writer;

use std::{path::Path, sync::Arc, time::Duration};

use rusqlite::Connection;

pub use backup::BackupError;
pub(crate) use backup::copy;
pub(crate) use change::{Change, Identity};
pub(crate) use demand::{MAX_DEMAND, Missed, Noticed};
pub(crate) use error::Error;
pub use error::OpenError;
pub(crate) use experiences::{Experience, ONLY_VERSION};
pub(crate) use export::Snapshot;
pub(crate) use file::beside;
pub(crate) use idempotency::{IdempotentRequest, Written};
pub(crate) use import::{Fate, Importing};
pub(crate) use knowledge::{
    Claim, Edited, Judged, KnowledgeFilter, KnowledgeRow, OpenFeedback, Step, StepNote,
};
pub(crate) use left_out::LeftOutRow;
pub(crate) use reader::Reader;
pub(crate) use resources::{Node, Reading, Resource, ResourceDeletion, ResourceFilter};
pub(crate) use sealed::{Sealed, SealedIn};
pub(crate) use tombstones::{DeletedRow, Deletion, RecordKind};
pub(crate) use vectors::{NewVector, SpaceRow, StoredVector};
pub(crate) use versions::{Expected, VersionFilter};

use crate::metrics::{CommitMetrics, Load};
use disk::Disk;
use left_out::LeftOut;
use readers::Readers;
use writer::Writer;

/// How long a write may wait for its commit.
///
/// The caller loses: it is told to try again, and cannot know whether the write was kept.
const WRITE_DEADLINE: Duration = Duration::from_secs(30);

/// A handle to the store; clones share it.
#[derive(Clone)]
pub(crate) struct Store {
    writer: Arc<Writer>,
    readers: Arc<Readers>,
    disk: Arc<Disk>,
    identity: Arc<Identity>,
    /// Rows that lists leave out.
    left_out: Arc<LeftOut>,
}

impl Store {
    /// Opens or creates the store and takes its lock; needs a runtime.
    ///
    /// `publish` is told every committed change on the writer's thread before the writers get their answers;
    /// while it blocks, writers wait.
    pub(crate) fn open(
        path: &Path,
        metrics: CommitMetrics,
        publish: impl Fn(Vec<Change>) + Send + 'static,
    ) -> Result<Self, OpenError> {
        let opened = file::open(path)?;
        let readers = Arc::new(Readers::new(opened.path));
        let disk = Arc::new(Disk::default());
        let noted = Arc::clone(&disk);
        let writer = Writer::start(opened.db, opened.lock, Box::new(publish), noted, metrics)
            .map_err(|source| OpenError::Thread { source })?;
        Ok(Self {
            writer: Arc::new(writer),
            readers,
            disk,
            identity: Arc::new(opened.identity),
            left_out: Arc::default(),
        })
    }

    /// Returns who this store is and how far its change sequence was when it was opened.
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns the store's file, under the one name that all hubs know; what belongs to it stands beside it.
    pub(crate) fn path(&self) -> &Path {
        self.readers.path()
    }

    /// Waits until the writer has ended, which is a fault unless [`Store::close`] was called.
    pub(crate) async fn writer_ended(&self) {
        self.writer.ended().await;
    }

    /// Finishes the writes that were handed over, closes the file and releases its lock.
    pub(crate) async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    /// Returns how busy the store is right now.
    pub(crate) fn load(&self) -> Load {
        let (reads_running, reads_waiting) = self.readers.load();
        Load {
            writes_waiting: self.writer.waiting(),
            reads_running,
            reads_waiting,
            rows_unreadable: self.left_out.count(),
            ..Load::default()
        }
    }

    /// Runs `work` in a transaction and returns its value once that is on disk.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection, &mut Vec<Change>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        tokio::time::timeout(WRITE_DEADLINE, self.writer.run(work))
            .await
            .unwrap_or(Err(Error::Busy))
    }

    /// Runs `work` on a read-only connection.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        Arc::clone(&self.readers).run(work).await
    }
}
