//! Everything the hub knows as a stream of bytes, in bounded memory.

use std::{io, time::Duration};

use axum::body::Bytes;
use futures_util::{Stream, stream};
use protocol::{
    Timestamp,
    export::{FORMAT, Header, Writer, total},
};
use service::logging::chain;
use tokio::{runtime::Handle, sync::mpsc};

use crate::store::{Error, Snapshot, Store};

/// About how large a piece is; a single record that is larger goes in one.
const PIECE_BYTES: usize = 128 << 10;

/// How many pieces wait for a slow reader before the export waits too.
const QUEUED_PIECES: usize = 4;

/// How long the export waits for its reader.
///
/// The reader loses: it is disconnected, and what it has lacks the manifest.
/// An export that waits for ever would keep the store's log from being cut back.
const READER_DEADLINE: Duration = Duration::from_mins(1);

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
        match send_all(&store, now, pieces, READER_DEADLINE).await {
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
    deadline: Duration,
) -> Result<Option<u64>, Error> {
    let runtime = Handle::current();
    let send = move |piece: Piece| {
        let sending = tokio::time::timeout(deadline, pieces.send(piece));
        matches!(runtime.block_on(sending), Ok(Ok(())))
    };
    store.read_snapshot(move |snapshot| export(snapshot, now, send)).await
}

fn export(
    snapshot: &Snapshot<'_>,
    now: Timestamp,
    send: impl Fn(Piece) -> bool,
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
        let deadline = Duration::from_millis(10);
        assert_eq!(send_all(&store, now, pieces, deadline).await.unwrap(), None);
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
