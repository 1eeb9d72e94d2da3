//! Everything the hub knows as a stream of bytes, in bounded memory.

use std::{io, time::Duration};

use axum::body::Bytes;
use futures_util::{Stream, stream};
use protocol::{
    Timestamp,
    export::{FORMAT, Header, Writer, total},
};
use service::logging::chain;
use tokio::{
    runtime::Handle,
    sync::mpsc,
    time::{Instant, timeout},
};

use crate::store::{Error, Snapshot, Store};

/// About how large a piece is; a single record that is larger goes in one.
const PIECE_BYTES: usize = 128 << 10;

/// How many pieces wait for a slow reader before the export waits too.
const QUEUED_PIECES: usize = 4;

/// How long a reader is waited for, with what a slow one may take for each piece besides.
///
/// A reader that is slower loses: it is disconnected, and what it has lacks the manifest.
/// As long as an export goes on, the store's log cannot be cut back, so it must come to an end.
const PATIENCE: Patience =
    Patience { once: Duration::from_mins(1), per_piece: Duration::from_secs(1) };

/// How much time a reader has.
#[derive(Clone, Copy, Debug)]
struct Patience {
    /// The longest wait for one piece, and how much all waits may take beyond the time for the pieces.
    once: Duration,
    /// What each piece may take on average.
    per_piece: Duration,
}

impl Patience {
    /// Returns how long the next piece may wait when `pieces` were taken and `waited` is what they took.
    fn for_next(self, pieces: u32, waited: Duration) -> Duration {
        let left = self.once + self.per_piece.saturating_mul(pieces);
        left.saturating_sub(waited).min(self.once)
    }
}

/// A piece of an export, or its end.
enum Piece {
    Bytes(Bytes),
    /// All is said: without it the stream breaks off with an error, so that nobody takes a part for the whole.
    End,
}

/// Starts an export and returns its bytes as they are read; the snapshot is that of this moment.
pub(crate) fn stream(
    store: Store,
    now: Timestamp,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let (pieces, received) = mpsc::channel(QUEUED_PIECES);
    tokio::spawn(async move {
        match send_all(&store, now, pieces, PATIENCE).await {
            Ok(Some(sent)) => tracing::info!(records = sent, "everything exported"),
            Ok(None) => tracing::warn!("an export was given up: its reader left or stood still"),
            Err(err) => tracing::error!(error = %chain(&err), "an export failed"),
        }
    });
    as_stream(received)
}

fn as_stream(
    received: mpsc::Receiver<Piece>,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    stream::unfold(Some(received), |received| async {
        let mut received = received?;
        match received.recv().await {
            Some(Piece::Bytes(bytes)) => Some((Ok(bytes), Some(received))),
            Some(Piece::End) => None,
            None => Some((Err(io::Error::other("the export broke off")), None)),
        }
    })
}

/// Sends a whole export and returns how many records it has, or `None` when its reader is gone.
async fn send_all(
    store: &Store,
    now: Timestamp,
    pieces: mpsc::Sender<Piece>,
    patience: Patience,
) -> Result<Option<u64>, Error> {
    let runtime = Handle::current();
    let (mut pieces_sent, mut waited) = (0, Duration::ZERO);
    let send = move |piece: Piece| {
        let started = Instant::now();
        let sending = pieces.send(piece);
        let limit = patience.for_next(pieces_sent, waited);
        let is_taken = runtime.block_on(async { timeout(limit, sending).await });
        pieces_sent += 1;
        waited += started.elapsed();
        matches!(is_taken, Ok(Ok(())))
    };
    store.read_snapshot(move |snapshot| export(snapshot, now, send)).await
}

fn export(
    snapshot: &Snapshot<'_>,
    now: Timestamp,
    mut send: impl FnMut(Piece) -> bool,
) -> Result<Option<u64>, Error> {
    let header = Header {
        knowhub_export: FORMAT,
        store_id: snapshot.identity.id.clone(),
        last_seq: snapshot.identity.last_seq,
        last_experience: snapshot.last_experience,
        created_at: now,
    };
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    let mut writer = Writer::start(&header, &mut piece);
    let mut is_read = true;
    snapshot.each_record(|line| {
        match line {
            Ok(line) => writer.write(&line, &mut piece),
            Err(row) => writer.leave_out(row.kind, &row.id),
        }
        if piece.len() >= PIECE_BYTES {
            let full = std::mem::replace(&mut piece, Vec::with_capacity(PIECE_BYTES));
            is_read = send(Piece::Bytes(full.into()));
        }
        is_read
    })?;
    if !is_read {
        return Ok(None);
    }
    let manifest = writer.finish(&mut piece);
    let is_whole = send(Piece::Bytes(piece.into())) && send(Piece::End);
    Ok(is_whole.then(|| total(&manifest.counts)))
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use protocol::hub::NewExperience;

    use super::*;
    use crate::{access::Stamp, metrics::CommitMetrics};

    #[test]
    fn a_reader_may_pause_and_must_not_dawdle() {
        let secs = Duration::from_secs;
        let patience = Patience { once: secs(60), per_piece: secs(1) };
        for (pieces, waited, left) in [
            (0, 0, 60),
            (0, 60, 0),
            (600, 0, 60),
            (600, 630, 30),
            (600, 659, 1),
            (600, 700, 0),
            (u32::MAX, 0, 60),
        ] {
            assert_eq!(patience.for_next(pieces, secs(waited)), secs(left), "{pieces} {waited}");
        }
    }

    #[tokio::test]
    async fn a_reader_that_stands_still_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let store =
            Store::open(&folder.path().join("hub.db"), CommitMetrics::default(), |_| {}).unwrap();
        let now = Timestamp::from_millis(0);
        for _ in 0..12 {
            let task = "长".repeat(40_000);
            let report = NewExperience { name: "a".into(), task, ..NewExperience::default() };
            store.insert_experience(report, Stamp::default(), now, None).await.unwrap();
        }
        let (pieces, received) = mpsc::channel(QUEUED_PIECES);
        let patience = Patience { once: Duration::from_millis(10), per_piece: Duration::ZERO };
        assert_eq!(send_all(&store, now, pieces, patience).await.unwrap(), None);
        let read: Vec<_> = as_stream(received).collect().await;
        assert_eq!(read.len(), QUEUED_PIECES + 1);
        assert!(read.last().unwrap().is_err(), "a part does not pass for the whole");

        let whole: Vec<_> = stream(store.clone(), now).collect().await;
        assert!(whole.iter().all(Result::is_ok));
        store.close().await;
        let late: Vec<_> = stream(store, now).collect().await;
        assert!(late.last().unwrap().is_err());
    }
}
