//! What can go wrong with the store: while it is opened, and while it is used.

use std::{io, path::PathBuf, sync::Arc};

use rusqlite::ErrorCode;

use super::RecordKind;
use crate::{knowledge, resource};

/// Why a read or write failed.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The engine failed; shared, because one failed commit fails many writes.
    #[error("the database failed")]
    Database(#[source] Arc<rusqlite::Error>),
    /// There is no room for the write; the engine undid it.
    #[error("the hub's disk is full; nothing was stored")]
    DiskFull(#[source] Arc<rusqlite::Error>),
    /// The disk fails, or has become read-only; a write may or may not have been kept.
    #[error(
        "the hub's disk cannot be used right now; once it can, send a write again under the same Idempotency-Key"
    )]
    DiskFails(#[source] Arc<rusqlite::Error>),
    /// Another program holds a lock on the file, which no hub ever waits for.
    #[error(
        "another program has locked the hub's file, and nothing was stored; \
         end it, or let it finish, and send this again"
    )]
    Locked(#[source] Arc<rusqlite::Error>),
    /// The same idempotency key came with another body.
    #[error("the idempotency key was used before with another body")]
    KeyReused,
    /// The record does not have the version that the change expects.
    #[error("{}", of_other_version(*.current))]
    OtherVersion {
        /// The version it has; absent when there is no such record.
        current: Option<i64>,
    },
    /// The record that a change is about cannot be read, so what it says could not be kept.
    #[error(
        "the stored {} {id} cannot be read, so it can neither be changed nor kept as an earlier version; \
         a DELETE with erase=true removes it for good",
        .kind.as_str()
    )]
    Unreadable {
        /// What it is.
        kind: RecordKind,
        /// Its id.
        id: String,
    },
    /// There is a record where the change expects none.
    #[error("there is one already, at version {current}, and If-None-Match expects none")]
    Exists {
        /// The version it has.
        current: i64,
    },
    /// What is stored does not allow the change of a resource.
    #[error(transparent)]
    Resource(#[from] resource::Refusal),
    /// A change of a knowledge record is not made.
    #[error(transparent)]
    Knowledge(#[from] knowledge::Refusal),
    /// So many records were made within one second that no id was free.
    #[error("too many records were made within one second; send this one again")]
    NoFreeId,
    /// The commit did not come within the deadline.
    #[error(
        "the write did not reach the disk in time; send it again under the same Idempotency-Key"
    )]
    Busy,
    /// The store is shutting down.
    #[error("the hub is shutting down; try again")]
    Closed,
}

impl From<rusqlite::Error> for Error {
    fn from(err: rusqlite::Error) -> Self {
        match err.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::DiskFull(Arc::new(err)),
            Some(
                ErrorCode::SystemIoFailure
                | ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied,
            ) => Self::DiskFails(Arc::new(err)),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Locked(Arc::new(err))
            }
            _ => Self::Database(Arc::new(err)),
        }
    }
}

fn of_other_version(current: Option<i64>) -> String {
    match current {
        Some(version) => format!(
            "the record is at version {version}, which If-Match does not name; read it again and repeat the change"
        ),
        None => "there is no such record, and If-Match expects one".to_owned(),
    }
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It or its folder cannot be made or written.
    #[error("cannot write {}; make it and its folder writable, or set KNOWHUB_DB to another file", path.display())]
    Folder {
        /// The store's file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Another hub has it open.
    #[error("another hub is already using {}; stop it, or set KNOWHUB_DB to another file", path.display())]
    InUse {
        /// The store's file.
        path: PathBuf,
    },
    /// It has more than one name, so its lock keeps nobody off.
    #[error(
        "{} has a second name (a hard link), under which another hub could write into it; \
         copy it to a file of its own, or set KNOWHUB_DB to another file",
        path.display()
    )]
    HardLinked {
        /// The store's file.
        path: PathBuf,
    },
    /// It was written by a newer version.
    #[error(
        "{} has schema version {found}, and this hub knows versions up to {known}; \
         start a newer hub, or set KNOWHUB_DB to another file",
        path.display()
    )]
    Newer {
        /// The store's file.
        path: PathBuf,
        /// The version it has.
        found: usize,
        /// The newest version this program knows.
        known: usize,
    },
    /// It belongs to another program.
    #[error("{} is not a KnowHub store; set KNOWHUB_DB to another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// It is not there.
    #[error("there is no store at {}; set KNOWHUB_DB to its file", path.display())]
    Missing {
        /// The file that is not there.
        path: PathBuf,
    },
    /// It is there, and cannot be opened for reading.
    #[error(
        "cannot read {}: the file must be readable and its folder writable, since the engine keeps a file beside it \
         while it reads; mend that, or copy the store to such a folder and set KNOWHUB_DB to the copy",
        path.display()
    )]
    Unreadable {
        /// The store's file.
        path: PathBuf,
        /// What the engine said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Something else than the hub changed it, or the disk failed.
    #[error(
        "{} is damaged ({finding}); nothing was written to it: put a backup in its place, \
         or copy it elsewhere and save what can be read",
        path.display()
    )]
    Damaged {
        /// The store's file.
        path: PathBuf,
        /// What the engine found.
        finding: String,
    },
    /// The engine refused.
    #[error("cannot open {}", path.display())]
    Database {
        /// The store's file.
        path: PathBuf,
        /// What the engine said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// No thread could be started for the writer.
    #[error("cannot start the store's writer")]
    Thread {
        /// What the system said.
        #[source]
        source: io::Error,
    },
}
