//! Everything out of the hub, and back into one, in bounded memory.

use std::{io, time::Duration};

use futures_util::{Stream, StreamExt};
use protocol::export::{self, ImportReport};
use reqwest::{Body, Method, Response, header};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

use super::{Client, Error};

/// How long the hub may send nothing within an export.
const STALL_TIMEOUT: Duration = Duration::from_mins(1);

/// How long the hub may neither take the next piece of an import nor, when it has all, tell what became of it.
const IMPORT_PATIENCE: Duration = Duration::from_mins(30);

/// How something is imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportOptions {
    /// Nothing is stored; the report tells what would become of each record.
    pub dry_run: bool,
    /// What looks like a secret is let in, as in an export of a hub where that was done before.
    pub allow_likely_secrets: bool,
}

/// What is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportKind {
    /// An export of a hub.
    Export,
    /// A database file of the original system.
    Original,
}

/// An export on its way.
pub struct Download {
    response: Response,
    client: Client,
}

impl Client {
    /// Starts an export.
    pub async fn export(&self) -> Result<Download, Error> {
        let request = self.request_of_any_length(Method::GET, "api/export");
        let sending = timeout(STALL_TIMEOUT, request.send()).await;
        let response = sending.map_err(|_| self.stalled())?.map_err(|err| self.unreachable(err))?;
        if response.status().is_success() {
            return Ok(Download { response, client: self.clone() });
        }
        let status = response.status().as_u16();
        match self.read_answer::<serde_json::Value>(response).await {
            Err(err) => Err(err),
            Ok(_) => Err(self.bad_reply(status, "no export".to_owned())),
        }
    }

    /// Imports what comes in pieces, and returns what became of it.
    pub async fn import(
        &self,
        kind: ImportKind,
        pieces: impl Stream<Item = io::Result<Vec<u8>>> + Send + 'static,
        options: ImportOptions,
    ) -> Result<ImportReport, Error> {
        let content_type = match kind {
            ImportKind::Export => export::CONTENT_TYPE,
            ImportKind::Original => export::ORIGINAL_CONTENT_TYPE,
        };
        let (taken, pieces_taken) = watch::channel(());
        let pieces = pieces.inspect(move |_| taken.send_replace(()));
        let mut request = self
            .request_of_any_length(Method::POST, "api/import")
            .query(&[("dry_run", options.dry_run)])
            .header(header::CONTENT_TYPE, content_type)
            .body(Body::wrap_stream(pieces));
        if options.allow_likely_secrets {
            request = request.header("x-allow-likely-secret", "true");
        }
        tokio::select! {
            report = self.read(request) => report,
            () = standstill(pieces_taken, IMPORT_PATIENCE) => Err(self.stalled()),
        }
    }

    fn stalled(&self) -> Error {
        Error::Stalled { api: self.config.api.to_string() }
    }
}

/// Ends when nothing was taken for as long as `patience`, whether more is to come or not.
async fn standstill(mut taken: watch::Receiver<()>, patience: Duration) {
    while let Ok(taken) = timeout(patience, taken.changed()).await {
        if taken.is_err() {
            return sleep(patience).await;
        }
    }
}

impl Download {
    /// Returns the next piece, `None` behind the last.
    pub async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, Error> {
        let piece = timeout(STALL_TIMEOUT, self.response.chunk()).await;
        piece.map_err(|_| self.client.stalled())?.map_err(|err| self.client.unreachable(err))
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_standstill_counts_from_the_last_piece() {
        let (started, patience) = (Instant::now(), Duration::from_mins(1));
        let (taken, pieces_taken) = watch::channel(());
        let sending = async move {
            for _ in 0..5 {
                tokio::time::advance(Duration::from_secs(50)).await;
                taken.send_replace(());
            }
            // All is sent.
            drop(taken);
        };
        tokio::join!(sending, standstill(pieces_taken, patience));
        assert_eq!(started.elapsed(), Duration::from_secs(5 * 50 + 60));

        let (_taken, pieces_taken) = watch::channel(());
        let started = Instant::now();
        standstill(pieces_taken, patience).await;
        assert_eq!(started.elapsed(), patience, "the next piece is not taken");
    }
}
