//! Files that an import needs for a while, beside the store.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use uuid::Uuid;

use crate::store::beside;

/// What the names of these files have behind the store's.
const MARK: &str = ".import-";

/// A file that vanishes with this value; only the hub's own user can read it.
pub(super) struct Scratch {
    pub(super) file: File,
    pub(super) path: PathBuf,
}

impl Scratch {
    /// Makes a new empty file beside the store at `db`.
    pub(super) fn create(db: &Path) -> io::Result<Self> {
        let path = beside(db, &format!("{MARK}{}", Uuid::new_v4().simple()));
        let file =
            File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Self { file, path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The next start removes what stays.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes what imports left that a crash ended; only whoever holds the store's lock may call it.
pub(crate) fn remove_leftovers(db: &Path) {
    let (Some(folder), Some(name)) = (db.parent(), db.file_name()) else { return };
    let start = [name.as_encoded_bytes(), MARK.as_bytes()].concat();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(&start)
            && let Err(err) = fs::remove_file(entry.path())
        {
            tracing::warn!(error = %err, "cannot remove what an interrupted import left");
        }
    }
}
