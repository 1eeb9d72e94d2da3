//! `knowhub import`: an export, or a database of the original system, into the hub.

use std::{
    fs::File,
    io::{BufReader, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, anyhow};
use clap::{ArgGroup, Args};
use futures_util::Stream;
use protocol::export::{Checker, Counts, Finding, ImportReport, total};
use tokio::io::AsyncReadExt;

use super::{
    Failure, Outcome,
    export::named,
    outcome::printable,
    progress::{Progress, size},
};
use crate::{
    hub::{ImportKind, ImportOptions},
    tools::Context,
};

/// How much is read and sent at once, in bytes.
const PIECE_BYTES: usize = 128 << 10;

/// How many conflicts and findings of each sort are printed; `--json` has more.
const MAX_SHOWN: usize = 20;

const EXAMPLES: &str = "\
Needs a token with the role admin.
What the hub has already stays as it is: the same record is skipped, another state of it is
reported, and what was deleted does not come back. A file that is imported again changes nothing.
A record with a likely secret in plain text is rejected, and told with its line or row.

Examples:
  knowhub import everything.ndjson --dry-run
  knowhub import everything.ndjson
  knowhub import --from knowhub-of-2026.db --dry-run";

/// Bring an export into the hub, or a database of the original system; needs the role admin
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, group = ArgGroup::new("source").args(["file", "from"]).required(true))]
pub(super) struct Import {
    /// An export, as `knowhub export` writes it; `-` is stdin
    file: Option<PathBuf>,

    /// An SQLite file of the original system, whose server does not run
    #[arg(long, value_name = "DB")]
    from: Option<PathBuf>,

    /// Store nothing, only tell what would become of each record
    #[arg(long)]
    dry_run: bool,

    /// Let in what looks like a secret, once you know that it is none
    #[arg(long)]
    allow_likely_secrets: bool,
}

impl Import {
    pub(super) async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let (kind, path) = match (self.from, self.file) {
            (Some(database), _) => (ImportKind::Original, database),
            (None, file) => (ImportKind::Export, file.unwrap_or_else(|| "-".into())),
        };
        if kind == ImportKind::Original {
            check_original(&path)?;
        } else if path != Path::new("-") {
            check_export(&path)?;
        }
        let (dry_run, allow_likely_secrets) = (self.dry_run, self.allow_likely_secrets);
        let options = ImportOptions { dry_run, allow_likely_secrets };
        let report = context.hub.import(kind, pieces(&path)?, options).await?;
        let mut outcome = Outcome::done(text(&report), &report);
        // What did not get in is for a person to look at.
        let is_whole = report.conflict_count + report.rejected_count + report.left_out.count == 0;
        outcome.exit_code = u8::from(!is_whole);
        Ok(outcome)
    }
}

fn open(path: &Path) -> Result<File, Failure> {
    File::open(path)
        .with_context(|| format!("cannot read {}", path.display()))
        .map_err(Failure::input)
}

/// Checks a file before the first byte is sent.
fn check_export(path: &Path) -> Result<(), Failure> {
    let name = path.display();
    let mut checker = Checker::default();
    let mut progress = Progress::new();
    let mut source = open(path)?;
    let mut piece = vec![0; PIECE_BYTES];
    let mut bytes = 0;
    loop {
        let read = source.read(&mut piece).with_context(|| format!("cannot read {name}"));
        let read = read.map_err(Failure::input)?;
        if read == 0 {
            break;
        }
        checker.push(&piece[..read]).map_err(Failure::input)?;
        bytes += read as u64;
        progress.show(|| format!("checking: {} records, {}", checker.records(), size(bytes)));
    }
    checker.finish().map(drop).map_err(Failure::input)
}

fn check_original(path: &Path) -> Result<(), Failure> {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let mut start = Vec::new();
    let read = BufReader::new(open(path)?).take(MAGIC.len() as u64).read_to_end(&mut start);
    read.with_context(|| format!("cannot read {}", path.display())).map_err(Failure::input)?;
    if start != MAGIC {
        let name = path.display();
        return Err(Failure::input(anyhow!("{name} is no SQLite file"))
            .hinting("an export is imported without --from"));
    }
    // The one holds what is not in the file yet, the other what must be taken out of it again.
    for suffix in ["-wal", "-journal"] {
        let mut log = path.as_os_str().to_owned();
        log.push(suffix);
        let mut first = [0];
        let opened = File::open(&log).and_then(|mut log| log.read_exact(&mut first));
        // One that is left empty, or is crossed out by zeros, holds nothing.
        if opened.is_ok() && first != [0] {
            let log = Path::new(&log).display().to_string();
            return Err(Failure::input(anyhow!("{log} holds writes that are not finished yet"))
                .hinting("stop the old server, and open and read the file once with sqlite3"));
        }
    }
    Ok(())
}

/// Returns a file in pieces, which are read while they are sent.
fn pieces(
    path: &Path,
) -> Result<impl Stream<Item = std::io::Result<Vec<u8>>> + Send + 'static, Failure> {
    let source: Box<dyn tokio::io::AsyncRead + Send + Sync + Unpin> = if path == Path::new("-") {
        Box::new(tokio::io::stdin())
    } else {
        Box::new(tokio::fs::File::from_std(open(path)?))
    };
    let start = (source, Progress::new(), 0_u64);
    Ok(futures_util::stream::try_unfold(start, |(mut source, mut progress, sent)| async move {
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        let read = source.read_buf(&mut piece).await?;
        if read == 0 {
            return Ok(None);
        }
        let sent = sent + read as u64;
        progress.show(|| format!("sent {}", size(sent)));
        Ok(Some((piece, (source, progress, sent))))
    }))
}

fn text(report: &ImportReport) -> String {
    let did = if report.dry_run { "Would import" } else { "Imported" };
    let mut lines = vec![format!(
        "{did} {}{}; already here {}, conflicts {}, rejected {}.",
        total(&report.imported),
        kinds(&report.imported),
        total(&report.skipped),
        report.conflict_count,
        report.rejected_count,
    )];
    let conflicts = report
        .conflicts
        .iter()
        .map(|conflict| format!("{} {}: {}", conflict.kind.as_str(), conflict.id, conflict.reason));
    list(
        &mut lines,
        "Not imported, since something else is here:",
        report.conflict_count,
        conflicts,
    );
    if !report.left_out.is_empty() {
        lines.push(format!(
            "Not in the export, because the hub that it was taken of cannot read them: {} records: {}",
            report.left_out.count,
            named(&report.left_out)
        ));
    }
    let rejected = report.rejected.iter().map(finding);
    list(&mut lines, "Rejected:", report.rejected_count, rejected);
    let adjusted = report.adjusted.iter().map(finding);
    list(&mut lines, "Stored in another form:", report.adjusted_count, adjusted);
    let runs = report.renumbered.iter().map(|run| match run.count {
        1 => format!("experience-{} is experience-{} here", run.from, run.to),
        count => format!(
            "experience-{} to experience-{} are experience-{} and so on here",
            run.from,
            run.from.0 + count.cast_signed() - 1,
            run.to
        ),
    });
    list(&mut lines, "Renumbered:", report.renumbered.len() as u64, runs);
    if report.renumbered_unlisted > 0 {
        let count = report.renumbered_unlisted;
        lines.push(format!("  … and {count} more experiences, whose new numbers are not listed"));
    }
    printable(&lines.join("\n"))
}

fn kinds(counts: &Counts) -> String {
    let parts: Vec<_> =
        counts.iter().map(|(kind, count)| format!("{} {count}", kind.as_str())).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

fn finding(finding: &Finding) -> String {
    let Finding { place, field, reason } = finding;
    if field.is_empty() {
        format!("{place}: {reason}")
    } else {
        format!("{place}: {field}: {reason}")
    }
}

/// Adds the first entries of a list, and how many there are in all.
fn list(lines: &mut Vec<String>, head: &str, count: u64, entries: impl Iterator<Item = String>) {
    if count == 0 {
        return;
    }
    lines.push(head.to_owned());
    let shown: Vec<_> = entries.take(MAX_SHOWN).map(|entry| format!("  {entry}")).collect();
    let hidden = count.saturating_sub(shown.len() as u64);
    lines.extend(shown);
    if hidden > 0 {
        lines.push(format!("  … and {hidden} more; --json shows more of them"));
    }
}
