//! `knowhub export`: everything the hub knows into one file.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use clap::Args;
use protocol::export::{Checker, LeftOut, Manifest, total};
use serde_json::json;
use uuid::Uuid;

use super::{
    Failure, Kind, Outcome,
    progress::{Progress, size},
};
use crate::{hub::Download, tools::Context};

const EXAMPLES: &str = "\
The file is JSON Lines: a header, one record a line, and a manifest with a sum of them all.
It appears under its name when it is complete and checked. Secrets stay sealed.
Needs a token with the role admin.

Examples:
  knowhub export everything.ndjson
  knowhub export - | gzip > everything.ndjson.gz";

/// How many missing records the note names; the manifest names more.
const MAX_SHOWN: usize = 10;

/// Save everything the hub knows in one file; needs the role admin
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Export {
    /// The file to write; `-` is stdout
    file: PathBuf,

    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

impl Export {
    pub(super) async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        if self.file == Path::new("-") {
            let download = context.hub.export().await?;
            let (manifest, _) = receive(download, &mut io::stdout().lock(), "stdout").await?;
            return Ok(telling(&manifest.left_out, Outcome::nothing()));
        }
        let name = self.file.display();
        match fs::symlink_metadata(&self.file) {
            Ok(there) if !there.is_file() => {
                let error = anyhow!("{name} is a device, a link or the like, and no file");
                return Err(Failure::input(error).hinting("name another file, or `-` for stdout"));
            }
            Ok(_) if !self.force => {
                return Err(Failure::input(anyhow!("{name} is there already"))
                    .hinting("name another file, or pass --force to replace it"));
            }
            _ => {}
        }
        let download = context.hub.export().await?;
        let unfinished = Unfinished::create(&self.file)?;
        let name = self.file.display().to_string();
        let (manifest, bytes) = receive(download, &mut &unfinished.file, &name).await?;
        unfinished.publish(&self.file, self.force)?;
        let (records, counts) = (total(&manifest.counts), &manifest.counts);
        let text = format!("Exported {records} records to {name} ({}).", size(bytes));
        let data = json!({
            "file": name, "bytes": bytes, "counts": counts, "sha256": manifest.sha256,
            "left_out": manifest.left_out,
        });
        Ok(telling(&manifest.left_out, Outcome::done(text, &data)))
    }
}

/// Adds to the outcome what is missing in the export.
fn telling(left_out: &LeftOut, outcome: Outcome) -> Outcome {
    if left_out.is_empty() {
        return outcome;
    }
    let note = format!(
        "{} records are not in it, because the hub cannot read them: {}",
        left_out.count,
        named(left_out)
    );
    Outcome { note: Some(note), exit_code: 1, ..outcome }
}

/// Returns the names of the first records that are missing.
pub(super) fn named(left_out: &LeftOut) -> String {
    let shown = &left_out.records[..left_out.records.len().min(MAX_SHOWN)];
    let more = if left_out.count > shown.len() as u64 { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// Writes the export as it comes, and checks that it is whole.
async fn receive(
    mut download: Download,
    out: &mut impl Write,
    name: &str,
) -> Result<(Manifest, u64), Failure> {
    let mut checker = Checker::default();
    let mut progress = Progress::new();
    let mut bytes = 0;
    while let Some(piece) = download.next().await? {
        let piece = piece.as_ref();
        checker.push(piece).map_err(broken)?;
        out.write_all(piece)
            .with_context(|| format!("cannot write {name}"))
            .map_err(Failure::input)?;
        bytes += piece.len() as u64;
        progress.show(|| format!("{} records, {}", checker.records(), size(bytes)));
    }
    out.flush().with_context(|| format!("cannot write {name}")).map_err(Failure::input)?;
    let (_, manifest) = checker.finish().map_err(broken)?;
    Ok((manifest, bytes))
}

fn broken(fault: protocol::export::ExportFault) -> Failure {
    let error = anyhow::Error::from(fault).context("the hub did not send a whole export");
    Failure { kind: Kind::Service, error, hint: None }
}

/// A file that is not complete yet, and goes away unless it becomes so.
struct Unfinished {
    file: File,
    path: PathBuf,
}

impl Unfinished {
    fn create(wanted: &Path) -> Result<Self, Failure> {
        // Another export to the same name, and whatever else is there, is left alone.
        let mut path = wanted.as_os_str().to_owned();
        path.push(format!(".{}.unfinished", Uuid::new_v4().simple()));
        let path = PathBuf::from(path);
        let file = File::create_new(&path)
            .with_context(|| format!("cannot write {}", path.display()))
            .map_err(Failure::input)?;
        Ok(Self { file, path })
    }

    /// Brings the file to disk and under its name; a file that appeared there meanwhile is replaced by
    /// `force` only, where the file system has links.
    fn publish(self, wanted: &Path, force: bool) -> Result<(), Failure> {
        let publish = |()| match fs::hard_link(&self.path, wanted) {
            // Not every file system has links.
            Err(err) if force || err.kind() != io::ErrorKind::AlreadyExists => {
                fs::rename(&self.path, wanted)
            }
            linked => linked,
        };
        self.file
            .sync_all()
            .and_then(publish)
            .with_context(|| format!("cannot write {}", wanted.display()))
            .map_err(Failure::input)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Published, it has its own name by now.
        let _ = fs::remove_file(&self.path);
    }
}
