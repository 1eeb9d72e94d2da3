//! A database file of the original system, made into an export.

use std::io::Write;

use axum::body::Bytes;
use protocol::{
    ExperienceId, ResourceId, Timestamp,
    export::{FORMAT, Finding, Header, ImportReport, Line, Writer},
    hub::{FieldFault, SEALED_PREFIX, SecretText},
};
use tokio::{runtime::Handle, sync::mpsc};

use super::{
    Error,
    admission::{likely_secret, settle},
    keep::Checked,
    scratch::Scratch,
};
use crate::{
    store::{
        Store,
        original::{self, Found},
    },
    vault::Vault,
};

/// How many bytes of lines gather before they are written.
const PIECE_BYTES: usize = 64 << 10;

/// Keeps the pieces of a database file beside the store until the last has come, and reads it.
///
/// Blocks its thread.
pub(super) fn convert(
    store: &Store,
    vault: &Vault,
    mut pieces: mpsc::Receiver<Bytes>,
    allows_secrets: bool,
) -> Result<Checked, Error> {
    let db = store.path();
    let mut original = Scratch::create(db)?;
    while let Some(piece) = pieces.blocking_recv() {
        original.file.write_all(&piece)?;
    }
    let mut header = Header {
        knowhub_export: FORMAT,
        store_id: "original".to_owned(),
        last_seq: 0,
        last_experience: ExperienceId(0),
        created_at: Timestamp::from_millis(0),
    };
    let mut export = Scratch::create(db)?;
    let mut report = ImportReport::default();
    let mut lines = Vec::new();
    let mut writer = Writer::start(&header, &mut lines);
    let mut written = Ok(());
    let reseal = |id: &ResourceId, secret: &str| reseal(store, vault, id, secret);
    let last = original::read(&original.path, &reseal, |found| match found {
        Found::Record { line, place } => {
            let Some(line) = admitted(*line, &place, allows_secrets, &mut report) else {
                return;
            };
            if let Line::Experience(experience) = &line {
                header.last_experience = header.last_experience.max(experience.id);
            }
            writer.write(&line, &mut lines);
            if written.is_ok() && lines.len() > PIECE_BYTES {
                written = export.file.write_all(&lines);
                lines.clear();
            }
        }
        Found::Rejected(finding) => report.add_rejected(finding),
        Found::Adjusted(finding) => report.add_adjusted(finding),
    })?;
    header.last_experience = header.last_experience.max(last);
    written?;
    writer.finish(&mut lines);
    export.file.write_all(&lines)?;
    // What it holds was looked through row by row, whose places tell more than those of the lines.
    Ok(Checked::open(header, report, export, true)?)
}

/// Returns a record as it is let in, and reports what is odd in its row.
fn admitted(
    mut line: Line,
    place: &str,
    allows_secrets: bool,
    report: &mut ImportReport,
) -> Option<Line> {
    let finding = |FieldFault { field, reason }: FieldFault| Finding {
        place: place.to_owned(),
        field: original::column(&field).to_owned(),
        reason,
    };
    let secret = if allows_secrets { None } else { likely_secret(&line) };
    if let Some(fault) = secret {
        report.add_rejected(finding(fault));
        return None;
    }
    if let Some(fault) = settle(&mut line) {
        report.add_adjusted(finding(fault));
    }
    Some(line)
}

/// Opens a secret that is not bound to its id, and seals it bound; one in the clear is sealed.
///
/// Where the same secret is here already its own cell is returned, so that an import done again changes nothing.
fn reseal(store: &Store, vault: &Vault, id: &ResourceId, secret: &str) -> Result<String, String> {
    let text = if secret.starts_with(SEALED_PREFIX) {
        vault.open_unbound(id, secret).map_err(|err| err.to_string())?
    } else {
        SecretText::from(secret.to_owned())
    };
    let here = Handle::current().block_on(store.find_resource(id.clone()));
    let cell = here.ok().flatten().map(|here| here.secure_body).unwrap_or_default();
    if vault.open(id, &cell).is_ok_and(|here| here == text) {
        return Ok(cell);
    }
    vault.seal(id, &text).map_err(|err| err.to_string())
}
