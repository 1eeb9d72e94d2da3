//! `knowhub reseal`: has the hub seal its secrets anew after a change of keys.

use clap::Args;
use protocol::hub::{MAX_FAILED_IDS, Reseal, Resealed};

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
        "Sealed anew: {}; sealed with the first key before: {}.",
        done.resealed, done.unchanged
    );
    if done.failed > 0 {
        let ids: Vec<_> = done.failed_ids.iter().map(ToString::to_string).collect();
        // Earlier versions count too, so there may be fewer resources than secrets.
        let more = if ids.len() < MAX_FAILED_IDS { "" } else { " and perhaps more" };
        let (failed, ids) = (done.failed, ids.join(", "));
        text = format!("{text}\nSecrets that no key of the hub opens: {failed}, of {ids}{more}.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_opened_is_named() {
        let mut done = Resealed { resealed: 2, unchanged: 1, ..Resealed::default() };
        assert_eq!(text(&done), "Sealed anew: 2; sealed with the first key before: 1.");
        done.failed = 3;
        done.failed_ids = vec!["acme/a".parse().unwrap(), "acme/b".parse().unwrap()];
        let told = text(&done);
        assert!(
            told.ends_with("\nSecrets that no key of the hub opens: 3, of acme/a, acme/b."),
            "{told}"
        );
        done.failed_ids = vec!["a".parse().unwrap(); MAX_FAILED_IDS];
        assert!(text(&done).ends_with(", a and perhaps more."));
    }
}
