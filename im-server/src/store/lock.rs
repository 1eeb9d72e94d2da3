//! The lock that keeps a second relay off the same file.

use std::{
    fs::{File, OpenOptions, TryLockError},
    path::Path,
};

use super::Error;

/// Holds `{db}.lock` until it is dropped or the process ends.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "the open file is the lock")] File);

impl Lock {
    /// Takes the lock of the database file `db`.
    pub(super) fn take(db: &Path) -> Result<Self, Error> {
        let mut path = db.as_os_str().to_owned();
        path.push(".lock");
        let failed = |source| Error::Lock { path: path.clone().into(), source };
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(Error::InUse { path: db.to_owned() }),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }
}
