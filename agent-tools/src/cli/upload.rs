//! `knowhub upload`: knowledge from a file to the librarian.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use serde_json::{Value, json};

use super::{Failure, Outcome, items, outcome::printable};
use crate::{
    settings::parse_patience,
    tools::{
        Context,
        upload_knowledge::{self, Finality, Uploaded},
    },
};

/// The most items in one message; more go in several messages.
const MAX_ITEMS: usize = 100;

/// About how large one message becomes, in bytes; more goes in several messages.
const MAX_BYTES: usize = 128 << 10;

const EXAMPLES: &str = "\
A file is one JSON object {\"knowledge\": […], \"resources\": […], \"tools\": […]},
or JSON Lines with one knowledge item a line: {\"task\": \"…\", \"content\": \"…\"}.
Every item is checked first; if one is wrong, nothing is sent.

Examples:
  knowhub upload notes.jsonl --finalize
  echo '{\"task\": \"read scanned PDFs\", \"content\": \"run ocrmypdf first\"}' | knowhub upload -

Without a relay, knowledge and resources go to the hub directly, item by item.
Secrets go by no other way than `knowhub resource put`.";

/// Hand knowledge over to the librarian, who merges and stores it
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Upload {
    /// A JSON or JSON Lines file; `-` is stdin
    file: PathBuf,

    /// Nothing more follows: submit everything now, and wait for the receipt
    #[arg(long)]
    finalize: bool,

    /// With --finalize, return without the receipt
    #[arg(long, requires = "finalize")]
    no_wait: bool,

    /// How long to wait for the receipt, such as 60s; a bare number is milliseconds
    #[arg(
        long,
        requires = "finalize",
        conflicts_with = "no_wait",
        default_value = "60s",
        value_name = "DURATION",
        value_parser = parse_patience
    )]
    timeout: Duration,
}

impl Upload {
    pub(super) async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let all = items::upload(&items::read(&self.file)?)?;
        let parts = items::split(all, MAX_ITEMS, MAX_BYTES);
        let count = parts.len();
        let receipt_patience = (!self.no_wait).then_some(self.timeout);
        let is_last = |index| self.finalize && index + 1 == count;
        let finality = |index| {
            if is_last(index) { Finality::Final { receipt_patience } } else { Finality::Open }
        };
        for (index, part) in parts.iter().enumerate() {
            upload_knowledge::check(part, finality(index))?;
        }
        let mut uploads = Vec::new();
        for (index, part) in parts.into_iter().enumerate() {
            uploads.push(upload_knowledge::upload(context, part, finality(index)).await?);
        }
        Ok(report(&uploads))
    }
}

fn report(uploads: &[Uploaded]) -> Outcome {
    let texts: Vec<_> = uploads.iter().map(|upload| printable(&upload.to_string())).collect();
    let data: Vec<Value> = uploads.iter().map(Uploaded::to_json).collect();
    let mut outcome = Outcome::done(texts.join("\n"), &json!({ "uploads": data }));
    let is_complete =
        |upload: &Uploaded| upload.receipt().is_none_or(|receipt| receipt.rejected.is_empty());
    // What was refused needs mending by whoever wrote it.
    outcome.exit_code = u8::from(!uploads.iter().all(is_complete));
    outcome
}
