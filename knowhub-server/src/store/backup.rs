//! Copying the store into one file while a hub may be using it.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use rusqlite::{
    Connection,
    backup::{Backup, StepResult},
};

use super::{OpenError, file, integrity};

/// How many pages are copied between two reports of progress.
const PAGES_AT_ONCE: i32 = 4_096;

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
    if to.exists() && !replace {
        return Err(BackupError::Exists { path: to.to_owned() });
    }
    let source = file::open_existing(from)?;
    let unwritable = |source| BackupError::Write { path: to.to_owned(), source };
    let unfinished = file::beside(to, ".unfinished");
    remove(&unfinished).map_err(unwritable)?;
    let copied = copy_pages(&source, &unfinished, &mut progress)
        .map_err(|err| BackupError::Copy {
            from: from.to_owned(),
            to: to.to_owned(),
            source: err.into(),
        })
        .and_then(|()| Ok(integrity::check_whole(&unfinished)?))
        .and_then(|()| publish(&unfinished, to).map_err(unwritable));
    if copied.is_err() {
        // The error that led here says more than one about the rest of a copy could.
        let _ = remove(&unfinished);
    }
    copied
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
    // One file, with no log beside it, which the hub begins anew when it opens the file.
    target.pragma_update(None, "journal_mode", "DELETE")
}

/// Puts the finished copy under its name, so that it survives a crash of the machine.
fn publish(unfinished: &Path, to: &Path) -> io::Result<u64> {
    let file = File::open(unfinished)?;
    file.sync_all()?;
    let bytes = file.metadata()?.len();
    fs::rename(unfinished, to)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(bytes)
}

fn remove(path: &Path) -> io::Result<()> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        match fs::remove_file(file::beside(path, suffix)) {
            Err(err) if err.kind() != io::ErrorKind::NotFound => return Err(err),
            _ => {}
        }
    }
    Ok(())
}
