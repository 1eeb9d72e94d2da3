//! Everything out of the hub, and back into one, in bounded memory.

use std::time::Duration;

use protocol::export::{self, ImportReport};
use reqwest::{Body, Method, Response, header};

use super::{Client, Error};

/// How long the hub may send nothing within an export.
const STALL_TIMEOUT: Duration = Duration::from_mins(1);

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
        let sending = tokio::time::timeout(STALL_TIMEOUT, request.send()).await;
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

    /// Imports what `body` brings, and returns what became of it; with `dry_run` nothing is stored.
    pub async fn import(
        &self,
        kind: ImportKind,
        body: Body,
        dry_run: bool,
    ) -> Result<ImportReport, Error> {
        let content_type = match kind {
            ImportKind::Export => export::CONTENT_TYPE,
            ImportKind::Original => export::ORIGINAL_CONTENT_TYPE,
        };
        let request = self
            .request_of_any_length(Method::POST, "api/import")
            .query(&[("dry_run", dry_run)])
            .header(header::CONTENT_TYPE, content_type)
            .body(body);
        self.read(request).await
    }

    fn stalled(&self) -> Error {
        Error::Stalled { api: self.config.api.to_string() }
    }
}

impl Download {
    /// Returns the next piece, `None` behind the last.
    pub async fn next(&mut self) -> Result<Option<impl AsRef<[u8]> + use<>>, Error> {
        let piece = tokio::time::timeout(STALL_TIMEOUT, self.response.chunk()).await;
        piece.map_err(|_| self.client.stalled())?.map_err(|err| self.client.unreachable(err))
    }
}
