//! The lock that keeps a second process off a file.

use std::{
    fs::{File, TryLockError},
    path::Path,
};

/// Holds `{path}.lock` until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct FileLock(#[expect(dead_code, reason = "the open file is the lock")] File);

impl FileLock {
    /// Takes the lock of the file at `path`; `{path}.lock` is made when it is missing.
    ///
    /// # Errors
    ///
    /// `WouldBlock` when another process holds it; anything else when `{path}.lock` cannot be used.
    pub fn take(path: &Path) -> Result<Self, TryLockError> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".lock");
        let file = File::options().create(true).truncate(false).write(true).open(beside);
        let file = file.map_err(TryLockError::Error)?;
        file.try_lock()?;
        Ok(Self(file))
    }
}
