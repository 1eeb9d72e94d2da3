//! Taking everything out of the hub, and bringing it back.

use std::time::Duration;

use axum::{
    Json,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use futures_util::StreamExt;
use protocol::{
    Timestamp,
    export::{self, ImportReport},
    hub::FieldFault,
};
use tokio::sync::mpsc;

use super::{
    Error, Handles,
    caller::Admin,
    extract::{MAX_DISCARDED_BYTES, QueryParams, allows_likely_secret},
    openapi::{BodyErrors, ReadErrors},
    params::{FromParams, Params},
};
use crate::{
    blocking,
    import::{self, Order},
    knowledge::Author,
};

/// How long the next piece of an import may take to arrive; a slower sender is told and disconnected.
const PIECE_DEADLINE: Duration = Duration::from_secs(30);

/// How many pieces of an import wait for the disk before its sender waits too.
const QUEUED_PIECES: usize = 4;

/// Exports everything, as JSON Lines that end with a manifest.
///
/// Needs the role admin.
#[utoipa::path(
    get, path = "/api/export", tag = "data",
    responses(
        (status = 200, description = "A header, one record a line, and a manifest",
         content_type = "application/x-ndjson", body = String),
        ReadErrors,
    )
)]
pub(super) async fn export_all(State(handles): State<Handles>, _: Admin) -> Response {
    let pieces = crate::export::stream(handles.store.clone(), Timestamp::now());
    ([(header::CONTENT_TYPE, export::CONTENT_TYPE)], Body::from_stream(pieces)).into_response()
}

/// What an import is asked to do.
pub(super) struct ImportQuery {
    /// Only tell what would become of each record.
    dry_run: bool,
}

impl FromParams for ImportQuery {
    fn from_params(params: &Params) -> Result<Self, FieldFault> {
        Ok(Self { dry_run: params.flag("dry_run")? })
    }
}

/// Imports an export, or a database file of the original system; what is here already stays as it is.
///
/// Needs the role admin.
/// Takes no `Idempotency-Key`: what is here already is skipped, so repeating an import changes nothing.
/// Once all of it has come and is checked, storing goes on when the sender leaves.
#[utoipa::path(
    post, path = "/api/import", tag = "data",
    params(("dry_run" = Option<bool>, Query, description = "Store nothing, only report")),
    request_body(
        description = "An export, or a database file of the original system",
        content((String = "application/x-ndjson"), (Vec<u8> = "application/vnd.sqlite3"))
    ),
    responses((status = 200, body = ImportReport), ReadErrors, BodyErrors)
)]
pub(super) async fn import_all(
    State(handles): State<Handles>,
    Admin(by): Admin,
    QueryParams(query): QueryParams<ImportQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<ImportReport>, Error> {
    let order = Order {
        is_original: is_original(&headers)?,
        dry_run: query.dry_run,
        allows_secrets: allows_likely_secret(&headers).map_err(Error::Invalid)?,
        author: Author { name: by.name, now: Timestamp::now() },
    };
    let (pieces, received) = mpsc::channel(QUEUED_PIECES);
    let (keeper, how) = (handles.importer.clone(), order.clone());
    let keeping = blocking::run(move || keeper.keep(received, &how));
    let (forwarded, kept) = tokio::join!(forward(body, pieces), keeping);
    forwarded?;
    let checked = kept.map_err(import::Error::from)??;
    if order.allows_secrets {
        tracing::warn!("an import is let in unseen: its sender answers for likely secrets");
    }
    Ok(Json(handles.importer.store(checked, order).await?))
}

/// Tells an export from a database file of the original system by what the sender says.
fn is_original(headers: &HeaderMap) -> Result<bool, Error> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = kind.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case(export::CONTENT_TYPE) {
        return Ok(false);
    }
    if kind.eq_ignore_ascii_case(export::ORIGINAL_CONTENT_TYPE) {
        return Ok(true);
    }
    Err(Error::NotImportable)
}

/// Hands the body over piece by piece; the rest of one that is refused is read to a bound, so that its sender hears why.
async fn forward(body: Body, pieces: mpsc::Sender<Bytes>) -> Result<(), Error> {
    let mut body = body.into_data_stream();
    let mut discarded = 0;
    loop {
        let next = tokio::time::timeout(PIECE_DEADLINE, body.next());
        let Some(piece) = next.await.map_err(|_| Error::Late)? else { return Ok(()) };
        let piece = piece.map_err(|_| Error::BrokenBody)?;
        let bytes = piece.len();
        if pieces.send(piece).await.is_err() {
            discarded += bytes;
            if discarded > MAX_DISCARDED_BYTES {
                return Ok(());
            }
        }
    }
}
