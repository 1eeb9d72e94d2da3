//! `knowhub reseal`: has the hub seal its secrets anew after a change of keys.

use clap::Args;
use protocol::hub::{Reseal, Resealed};

use super::{Failure, Outcome};
use crate::tools::Context;

const EXAMPLES: &str = "\
Examples:
  knowhub reseal
  knowhub reseal --org acme --json

Put the new key before the old one in the hub's ORG_KEYS and restart it first.
It may be broken off and run again; exit code 1 tells that some secrets open with no key of the hub.";

/// Seal the hub's secrets anew with the first key of their org; needs the role admin
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ResealSecrets {
    /// Only secrets of this org, the first segment of their ids
    #[arg(long)]
    org: Option<String>,
}

impl ResealSecrets {
    pub(super) async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let done = context.hub.reseal(&Reseal { org: self.org }).await?;
        let mut outcome = Outcome::done(text(&done), &done);
        outcome.exit_code = u8::from(done.failed > 0);
        Ok(outcome)
    }
}

fn text(done: &Resealed) -> String {
    let mut text = format!(
        "Sealed anew: {}; sealed with the newest key before: {}.",
        done.resealed, done.unchanged
    );
    if done.failed > 0 {
        let ids: Vec<_> = done.failed_ids.iter().map(ToString::to_string).collect();
        text =
            format!("{text}\nOpen with no key of the hub: {} ({}).", done.failed, ids.join(", "));
    }
    text
}
