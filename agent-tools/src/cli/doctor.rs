//! `knowhub doctor`: which of the three services answers, at which address, and what to do.

use std::fmt::Write as _;

use clap::Args;
use protocol::{
    hub::{EmbeddingStage, Embeddings, Whoami},
    im::Contact,
};
use serde::Serialize;
use serde_json::json;

use super::{
    Outcome, RELAY_PATIENCE,
    failure::access_hint,
    outcome::{BAD, GOOD, printable},
};
use crate::{hub::Error, tools::Context};

const EXAMPLES: &str = "\
Exits with 3 when a service is missing, or not ready.

Examples:
  knowhub doctor
  knowhub doctor --api http://127.0.0.1:8001 --json";

/// Tell which services answer, with which settings, and what to do about the others
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Doctor {}

/// The verdict on a service that does not answer.
const MISSING: &str = "missing";

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
    /// `ok`, or in one word what is wrong.
    verdict: &'static str,
    /// Of the hub: for whom it takes the caller; `None` when that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<Whoami>,
    /// Of the hub: how far its knowledge is embedded; `None` when that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    embeddings: Option<Embeddings>,
    /// What is wrong; `None` when nothing is.
    problem: Option<String>,
    /// What to do; `None` when nothing is wrong.
    hint: Option<&'static str>,
}

impl Finding {
    /// Concludes from `problem`, in one word and in whole, whether the service is well; `hint` says what to do if not.
    fn new(
        service: &'static str,
        address: String,
        (setting, origin): (&'static str, Origin),
        problem: Option<(&'static str, String)>,
        hint: &'static str,
    ) -> Self {
        let ok = problem.is_none();
        let hint = (!ok).then_some(hint);
        let (verdict, problem) = problem.map_or(("ok", None), |(word, text)| (word, Some(text)));
        let (origin, caller, embeddings) = (origin.name(), None, None);
        Self { service, address, setting, origin, ok, verdict, caller, embeddings, problem, hint }
    }
}

impl Doctor {
    pub(super) async fn run(self, context: &Context, origins: &Origins) -> Outcome {
        let (hub, embeddings, contacts) =
            tokio::join!(context.hub.health(), context.hub.embeddings(), async {
                context.im().contacts(RELAY_PATIENCE).await
            });
        let is_online =
            |contact: &Contact| contact.contact_id == context.librarian && contact.online;
        let librarian = match &contacts {
            Ok(contacts) if contacts.iter().any(is_online) => None,
            Ok(_) => Some("is not online".to_owned()),
            Err(_) => Some("cannot be seen without the relay".to_owned()),
        };
        let (caller, hub) = match hub {
            Ok(caller) => (Some(caller), None),
            Err(err) => (None, Some(err)),
        };
        let (hub_verdict, hub_hint) = match (&hub, hub.as_ref().and_then(access_hint)) {
            (_, Some(hint)) => ("refused", hint),
            (Some(Error::Unready { .. }), _) => {
                ("unready", "wait until its search index is built; its log tells how it goes")
            }
            _ => (
                MISSING,
                "run `make up` or start knowhub-server, or set KNOWHUB_API (or --api) to where it is",
            ),
        };
        report(&[
            Finding::new(
                "relay",
                context.relay.url.clone(),
                ("IM_URL", origins.im_url),
                contacts.err().map(|err| (MISSING, told(err))),
                "run `make up` or start im-server, or set IM_URL (or --im-url) to where it is",
            ),
            Finding {
                caller,
                // A hub that cannot tell is told of by its other answers.
                embeddings: embeddings.ok(),
                ..Finding::new(
                    "hub",
                    context.hub.api().to_string(),
                    ("KNOWHUB_API", origins.api),
                    hub.map(|err| (hub_verdict, told(err))),
                    hub_hint,
                )
            },
            Finding::new(
                "librarian",
                context.librarian.to_string(),
                ("LIBRARIAN_CONTACT_ID", origins.librarian),
                librarian.map(|problem| (MISSING, problem)),
                "run `make up` or start librarian with the same IM_URL, or set LIBRARIAN_CONTACT_ID (or --librarian) to its contact; until then questions are answered by direct search",
            ),
        ])
    }
}

/// Returns an error with all its causes, on one line.
fn told(err: impl Into<anyhow::Error>) -> String {
    format!("{:#}", err.into())
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
    let Finding {
        service,
        address,
        setting,
        origin,
        verdict,
        caller,
        embeddings,
        problem,
        hint,
        ok,
    } = finding;
    let style = if *ok { GOOD } else { BAD };
    let mut line =
        format!("{style}{verdict:7}{style:#}  {service:9}  {address}  ({setting}, {origin})");
    // Writing to a string cannot fail.
    if let Some(Whoami { name, role, needs_token: true }) = caller {
        let _ = write!(line, "\n         as {}, with the role {}", printable(name), role.as_str());
    }
    if let Some(told) = embeddings.as_ref().and_then(embedding_told) {
        let _ = write!(line, "\n         {}", printable(&told));
    }
    if let Some(problem) = problem {
        let _ = write!(line, "\n         {}", printable(problem));
    }
    if let Some(hint) = hint {
        let _ = write!(line, "\n         hint: {hint}");
    }
    line
}

/// Says how far the knowledge is embedded; nothing where there is no model for it.
fn embedding_told(embeddings: &Embeddings) -> Option<String> {
    let Embeddings { progress, records, embedded, refused, .. } = embeddings;
    let mut told = match progress.stage {
        EmbeddingStage::Off => return None,
        EmbeddingStage::Current => "searches by words and by vectors".to_owned(),
        EmbeddingStage::Opening => "searches by words until its vectors are read".to_owned(),
        EmbeddingStage::Building => "searches by words until all is embedded".to_owned(),
    };
    // Writing to a string cannot fail.
    let _ = write!(told, " ({}: {embedded} of {records} records embedded", progress.space);
    if *refused > 0 {
        let _ = write!(told, ", {refused} refused by the model");
    }
    told.push(')');
    if !progress.problem.is_empty() {
        let _ = write!(told, "; embedding does not go on: {}", progress.problem);
    }
    Some(told)
}

/// Where the address of each service came from.
#[derive(Clone, Debug)]
pub struct Origins {
    api: Origin,
    im_url: Origin,
    librarian: Origin,
}

/// Where a setting came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Default,
    Environment,
    Flag,
}

impl Origins {
    pub(super) fn of(matches: &clap::ArgMatches) -> Self {
        // A flag behind the command's name is known to the innermost matches alone.
        let mut inner = matches;
        while let Some((_, deeper)) = inner.subcommand() {
            inner = deeper;
        }
        let origin = |id| match inner.value_source(id) {
            Some(clap::parser::ValueSource::CommandLine) => Origin::Flag,
            Some(clap::parser::ValueSource::EnvVariable) => Origin::Environment,
            _ => Origin::Default,
        };
        Self { api: origin("api"), im_url: origin("im_url"), librarian: origin("librarian") }
    }
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
