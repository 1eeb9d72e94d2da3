//! `knowhub doctor`: which of the three services answers, at which address, and what to do.

use std::{error::Error, fmt::Write as _};

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::{
    Origin, Origins, Outcome, RELAY_PATIENCE,
    outcome::{BAD, GOOD, printable},
};
use crate::tools::Context;

/// Tell which services answer, with which settings, and what to do about the others
#[derive(Args, Debug)]
#[command(after_help = "Exits with 3 when a service is missing.")]
pub(super) struct Doctor {}

/// What is known of one service.
#[derive(Debug, Serialize)]
struct Finding {
    service: &'static str,
    /// Where it is looked for.
    address: String,
    /// The setting that says so.
    setting: &'static str,
    /// `default`, `environment` or `flag`.
    origin: &'static str,
    ok: bool,
    /// What is wrong; `None` when nothing is.
    problem: Option<String>,
    /// What to do; `None` when nothing is wrong.
    hint: Option<&'static str>,
}

impl Doctor {
    pub(super) async fn run(self, context: &Context, origins: &Origins) -> Outcome {
        let (hub, contacts) = tokio::join!(context.hub.health(), async {
            context.im().contacts(RELAY_PATIENCE).await
        },);
        let librarian = match &contacts {
            Ok(contacts) => {
                let is_online = |id| contacts.iter().any(|c| c.contact_id == id && c.online);
                if is_online(context.librarian.clone()) { None } else { Some("is not online") }
            }
            Err(_) => Some("cannot be seen without the relay"),
        };
        let findings = [
            Finding {
                service: "relay",
                address: context.relay.url.clone(),
                setting: "IM_URL",
                origin: origins.im_url.name(),
                ok: contacts.is_ok(),
                problem: contacts.as_ref().err().map(|err| chain(err)),
                hint: hint(
                    contacts.is_ok(),
                    "run `make up` or start im-server, or set IM_URL (or --im-url) to where it is",
                ),
            },
            Finding {
                service: "hub",
                address: context.hub.api().to_string(),
                setting: "KNOWHUB_API",
                origin: origins.api.name(),
                ok: hub.is_ok(),
                problem: hub.as_ref().err().map(|err| chain(err)),
                hint: hint(
                    hub.is_ok(),
                    "run `make up` or start knowhub-server, or set KNOWHUB_API (or --api) to where it is",
                ),
            },
            Finding {
                service: "librarian",
                address: context.librarian.to_string(),
                setting: "LIBRARIAN_CONTACT_ID",
                origin: origins.librarian.name(),
                ok: librarian.is_none(),
                problem: librarian.map(str::to_owned),
                hint: hint(
                    librarian.is_none(),
                    "run `make up` or start librarian with the same IM_URL, or set LIBRARIAN_CONTACT_ID (or --librarian) to its contact; until then questions are answered by direct search",
                ),
            },
        ];
        report(&findings)
    }
}

fn report(findings: &[Finding]) -> Outcome {
    let text: Vec<_> = findings.iter().map(line).collect();
    let is_well = findings.iter().all(|finding| finding.ok);
    let data = json!({ "ok": is_well, "services": findings });
    let mut outcome = Outcome::done(text.join("\n"), &data);
    outcome.exit_code = if is_well { 0 } else { 3 };
    outcome
}

fn line(finding: &Finding) -> String {
    let Finding { service, address, setting, origin, problem, hint, .. } = finding;
    let verdict = match problem {
        None => format!("{GOOD}ok{GOOD:#}     "),
        Some(_) => format!("{BAD}missing{BAD:#}"),
    };
    let mut line = format!("{verdict}  {service:9}  {address}  ({setting}, {origin})");
    // Writing to a string cannot fail.
    if let Some(problem) = problem {
        let _ = write!(line, "\n         {}", printable(problem));
    }
    if let Some(hint) = hint {
        let _ = write!(line, "\n         hint: {hint}");
    }
    line
}

fn hint(ok: bool, hint: &'static str) -> Option<&'static str> {
    (!ok).then_some(hint)
}

/// Returns an error with all its causes, on one line.
fn chain(err: &dyn Error) -> String {
    let mut text = err.to_string();
    let mut source = err.source();
    while let Some(cause) = source {
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    text
}

impl Origin {
    fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Environment => "environment",
            Self::Flag => "flag",
        }
    }
}
