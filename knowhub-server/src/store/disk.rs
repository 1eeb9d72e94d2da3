//! Whether the disk takes writes, as far as the last one tells; while it does not, a small one is tried again and again.

use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Error, Store};

/// How long after a failed write the next small one is tried.
const PROBE_PAUSE: Duration = Duration::from_secs(1);

/// Why writes fail; the writer's thread says so, others read it.
pub(super) struct Disk(watch::Sender<Option<&'static str>>);

impl Default for Disk {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl Disk {
    /// Takes in how a commit ended; one that failed for another cause says nothing of the disk.
    pub(super) fn note(&self, committed: &Result<(), Error>) {
        let fault = match committed {
            Ok(()) => None,
            Err(Error::DiskFull(_)) => Some("the disk of the database is full"),
            Err(Error::DiskFails(_)) => Some("the disk of the database cannot be written"),
            Err(_) => return,
        };
        self.0.send_if_modified(|known| std::mem::replace(known, fault) != fault);
    }
}

impl Store {
    /// Tells whether the store can be written, as far as it is known; does not block.
    pub(crate) fn ready(&self) -> Result<(), String> {
        match *self.disk.0.borrow() {
            None => Ok(()),
            Some(fault) => Err(fault.to_owned()),
        }
    }

    /// Tries small writes while the disk takes none, until `stop`: whoever asks whether the hub is ready need not write.
    pub(crate) async fn probe_disk(self, stop: CancellationToken) {
        let mut fault = self.disk.0.subscribe();
        let probing = async {
            while fault.wait_for(Option::is_some).await.is_ok() {
                tokio::time::sleep(PROBE_PAUSE).await;
                // Whether it succeeds is noted where it is written.
                let _ = self.update_nothing().await;
            }
        };
        stop.run_until_cancelled(probing).await;
    }

    /// Writes a row anew as it is, which needs the disk as any other write does.
    async fn update_nothing(&self) -> Result<(), Error> {
        self.write(|db, _| {
            db.prepare_cached("UPDATE store SET last_seq = last_seq")?.execute([])?;
            Ok(())
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ErrorCode;

    use super::*;

    fn failed(code: ErrorCode) -> Result<(), Error> {
        let err = rusqlite::ffi::Error { code, extended_code: 0 };
        Err(rusqlite::Error::SqliteFailure(err, None).into())
    }

    fn fault(disk: &Disk) -> Option<&'static str> {
        *disk.0.borrow()
    }

    #[test]
    fn a_failed_write_is_noted_until_one_succeeds() {
        let disk = Disk::default();
        assert_eq!(fault(&disk), None);
        for (code, said) in [
            (ErrorCode::DiskFull, Some("the disk of the database is full")),
            (ErrorCode::SystemIoFailure, Some("the disk of the database cannot be written")),
            (ErrorCode::ReadOnly, Some("the disk of the database cannot be written")),
        ] {
            disk.note(&failed(code));
            assert_eq!(fault(&disk), said);
            disk.note(&Err(Error::KeyReused));
            disk.note(&failed(ErrorCode::ConstraintViolation));
            assert_eq!(fault(&disk), said, "another failure tells nothing of the disk");
            disk.note(&Ok(()));
            assert_eq!(fault(&disk), None);
        }
    }

    #[tokio::test]
    async fn a_small_write_finds_out_that_the_disk_is_well_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub.db");
        let store = Store::open(&path, crate::metrics::CommitMetrics::default(), |_| {}).unwrap();
        let last_seq =
            async || store.read_snapshot(|snapshot| Ok(snapshot.identity.last_seq)).await.unwrap();
        let before = last_seq().await;
        store.disk.note(&failed(ErrorCode::DiskFull));
        assert!(store.ready().is_err());
        let stop = CancellationToken::new();
        tokio::time::pause();
        let probing = tokio::spawn(store.clone().probe_disk(stop.clone()));
        let mut fault = store.disk.0.subscribe();
        fault.wait_for(Option::is_none).await.unwrap();
        assert_eq!(store.ready(), Ok(()));
        stop.cancel();
        probing.await.unwrap();
        assert_eq!(last_seq().await, before, "it changes nothing");
        store.close().await;
    }
}
