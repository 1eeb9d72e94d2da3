//! Copying the store into one file while a hub may be using it.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use rusqlite::{
    Connection,
    backup::{Backup, StepResult},
};
use service::file_lock::FileLock;
use uuid::Uuid;

use super::{OpenError, change, file, integrity};

/// How many pages are copied between two reports of progress.
const PAGES_AT_ONCE: i32 = 4_096;

/// What the engine keeps beside a file.
const LOGS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Why a store could not be copied; no half-made copy is left under the wanted name.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// There is nothing to copy, or it is no store that this program can read.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The wanted name is taken.
    #[error("{} is there already; name another file, or pass --force to replace it", path.display())]
    Exists {
        /// The wanted name.
        path: PathBuf,
    },
    /// The wanted name is that of the store itself, or of a file that belongs to it.
    #[error("{} is the store itself, or belongs to it; name another file", path.display())]
    Itself {
        /// The wanted name.
        path: PathBuf,
    },
    /// What has the wanted name is no file that could be replaced.
    #[error("{} is a device, a link or the like, and no file; name another file", path.display())]
    NoFile {
        /// The wanted name.
        path: PathBuf,
    },
    /// A hub uses the file that would be replaced.
    #[error("a hub is using {}; stop it, or name another file", path.display())]
    InUse {
        /// The wanted name.
        path: PathBuf,
    },
    /// The copy cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The copy's file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The engine failed while it copied.
    #[error("cannot copy {} to {}", from.display(), to.display())]
    Copy {
        /// The store's file.
        from: PathBuf,
        /// The copy's file.
        to: PathBuf,
        /// What the engine said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// How far a copy is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// What is copied.
    pub(crate) done: u64,
    /// What there is.
    pub(crate) total: u64,
}

/// Copies the store at `from` to the file `to`, checks the copy, and returns its size in bytes.
///
/// A hub may go on writing; the copy holds what was committed when it began.
/// The copy appears under its name only when it is complete and on disk.
pub(crate) fn copy(
    from: &Path,
    to: &Path,
    replace: bool,
    mut progress: impl FnMut(Progress),
) -> Result<u64, BackupError> {
    let source = file::open_existing(from)?;
    let unwritable = |source| BackupError::Write { path: to.to_owned(), source };
    // Two copies under way to one name stay apart.
    let unfinished = file::beside(to, &format!(".{}.unfinished", Uuid::new_v4().simple()));
    if belongs_to(to, from).map_err(unwritable)? {
        return Err(BackupError::Itself { path: to.to_owned() });
    }
    match fs::symlink_metadata(to) {
        Ok(there) if !there.is_file() => return Err(BackupError::NoFile { path: to.to_owned() }),
        Ok(_) if !replace => return Err(BackupError::Exists { path: to.to_owned() }),
        _ => {}
    }
    let _lock = lock(to)?;
    let copied = copy_pages(&source, &unfinished, &mut progress)
        .map_err(|err| BackupError::Copy {
            from: from.to_owned(),
            to: to.to_owned(),
            source: err.into(),
        })
        .and_then(|()| Ok(integrity::check_whole(&unfinished)?))
        .and_then(|()| publish(&unfinished, to, replace));
    // Published, it has another name; otherwise the error says more than one about the rest of a copy could.
    let _ = remove(&unfinished, &LOGS).and_then(|()| remove(&unfinished, &[""]));
    copied
}

/// Tells whether `path` leads to the store's file, or to one that the engine or a hub keeps beside it.
fn belongs_to(path: &Path, store: &Path) -> io::Result<bool> {
    let store = store.canonicalize()?;
    let path = match path.canonicalize() {
        Ok(path) => path,
        // Where nothing is yet, the folder says what the name will lead to.
        Err(err) if err.kind() == io::ErrorKind::NotFound => {
            let name = path.file_name().unwrap_or_default();
            folder_of(path).canonicalize()?.join(name)
        }
        Err(err) => return Err(err),
    };
    let mut suffixes = ["", ".lock"].iter().chain(&LOGS);
    Ok(suffixes.any(|suffix| path == file::beside(&store, suffix)))
}

/// Keeps hubs off the file that is to be replaced, if it is one that a hub has ever opened.
fn lock(path: &Path) -> Result<Option<FileLock>, BackupError> {
    let unwritable = |source| BackupError::Write { path: path.to_owned(), source };
    if !path.exists() {
        return Ok(None);
    }
    let own = path.canonicalize().map_err(unwritable)?;
    if !file::beside(&own, ".lock").exists() {
        return Ok(None);
    }
    match FileLock::take(&own) {
        Ok(lock) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Err(BackupError::InUse { path: path.to_owned() }),
        Err(TryLockError::Error(source)) => Err(unwritable(source)),
    }
}

fn copy_pages(
    source: &Connection,
    to: &Path,
    progress: &mut impl FnMut(Progress),
) -> rusqlite::Result<()> {
    // One read transaction around all steps: without it every write of the hub would start the copy anew.
    let snapshot = source.unchecked_transaction()?;
    let page_bytes: i64 = snapshot.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let bytes = |pages: i32| u64::try_from(i64::from(pages) * page_bytes).unwrap_or(0);
    let mut target = Connection::open(to)?;
    let backup = Backup::new(&snapshot, &mut target)?;
    loop {
        let step = backup.step(PAGES_AT_ONCE)?;
        let state = backup.progress();
        progress(Progress {
            done: bytes(state.pagecount - state.remaining),
            total: bytes(state.pagecount),
        });
        if step == StepResult::Done {
            break;
        }
    }
    drop(backup);
    // From here on two stores may go different ways, and an index of the one must not be taken for the other's.
    change::renew_identity(&target)?;
    // One file, with no log beside it, which the hub begins anew when it opens the file.
    target.pragma_update(None, "journal_mode", "DELETE")
}

/// Puts the finished copy under its name, so that it survives a crash of the machine.
fn publish(unfinished: &Path, to: &Path, replace: bool) -> Result<u64, BackupError> {
    let put = || {
        let file = File::open(unfinished)?;
        file.sync_all()?;
        let bytes = file.metadata()?.len();
        // A log of a file that had the name before would be applied to the copy.
        if replace {
            remove(to, &LOGS)?;
            fs::rename(unfinished, to)?;
        } else {
            // Not every file system has links.
            fs::hard_link(unfinished, to).or_else(|err| match err.kind() {
                io::ErrorKind::AlreadyExists => Err(err),
                _ => fs::rename(unfinished, to),
            })?;
            remove(to, &LOGS)?;
        }
        File::open(folder_of(to))?.sync_all()?;
        Ok(bytes)
    };
    put().map_err(|source: io::Error| match source.kind() {
        // It came while the copy was made.
        io::ErrorKind::AlreadyExists => BackupError::Exists { path: to.to_owned() },
        _ => BackupError::Write { path: to.to_owned(), source },
    })
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Removes what is there of these files beside `path`.
fn remove(path: &Path, suffixes: &[&str]) -> io::Result<()> {
    for suffix in suffixes {
        match fs::remove_file(file::beside(path, suffix)) {
            Err(err) if err.kind() != io::ErrorKind::NotFound => return Err(err),
            _ => {}
        }
    }
    Ok(())
}
