//! Errors of commands, their exit codes, and how they are told: message, causes, hint.

use std::io::{self, Write};

use super::outcome::{BAD, STRONG, printable};
use crate::{hub, im::SendError, tools};

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    /// Who can mend it.
    pub kind: Kind,
    /// What went wrong, with its causes.
    pub error: anyhow::Error,
    /// What to do about it.
    pub hint: Option<&'static str>,
}

/// Who can mend a failure; decides the exit code. Wrong usage is mostly told before a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The user: the input is wrong, or the output cannot be written.
    Input,
    /// The user: a setting is wrong.
    Setting,
    /// Whoever runs the services or the network.
    Service,
    /// We.
    Internal,
}

const DOCTOR: &str = "`knowhub doctor` tells which service is missing, and what to do";

/// Returns what to do about a hub that does not let the caller do this, if that is what is wrong.
pub(super) fn access_hint(err: &hub::Error) -> Option<&'static str> {
    let hub::Error::Refused { status, detail } = err else { return None };
    if err.is_about_org_key() {
        return Some("set KNOWHUB_ORG_KEY to the first key that the hub has for the org");
    }
    match (status, detail.field.as_deref()) {
        (401, _) => Some(
            "set KNOWHUB_TOKEN (or --token) to one of the tokens that the hub was started with",
        ),
        (403, None) => Some("set KNOWHUB_TOKEN (or --token) to a token that has this role"),
        (403, Some("Host")) => Some("name the host of KNOWHUB_API in the hub's KNOWHUB_HOSTS"),
        _ => None,
    }
}

impl Failure {
    pub(super) fn input(error: impl Into<anyhow::Error>) -> Self {
        Self { kind: Kind::Input, error: error.into(), hint: None }
    }

    /// Returns the failure of a file that cannot be used as `verb` says, such as `read`.
    pub(super) fn cannot(verb: &str, file: &str) -> impl FnOnce(io::Error) -> Self {
        let what = format!("cannot {verb} {file}");
        move |err| Self::input(anyhow::Error::from(err).context(what))
    }

    /// Returns the failure of a command that had stored `count` items before it.
    pub(super) fn after(self, count: usize, items: &str) -> Self {
        if count == 0 {
            return self;
        }
        let stored = format!("{count} {items} were stored before this one");
        Self { error: self.error.context(stored), ..self }
    }

    /// Returns the failure with what to do about it.
    pub(super) fn hinting(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    /// Returns the exit code of the program.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Input => 1,
            Kind::Setting => 2,
            Kind::Service => 3,
            Kind::Internal => 255,
        }
    }

    /// Writes the message, its causes and the hint.
    pub fn print(&self, stderr: &mut impl Write) -> io::Result<()> {
        writeln!(stderr, "{BAD}error:{BAD:#} {}", printable(&self.error.to_string()))?;
        let causes: Vec<_> = self.error.chain().skip(1).map(ToString::to_string).collect();
        if !causes.is_empty() {
            writeln!(stderr, "Caused by:")?;
        }
        for cause in causes {
            writeln!(stderr, "  {}", printable(&cause))?;
        }
        match self.hint {
            Some(hint) => writeln!(stderr, "{STRONG}hint:{STRONG:#} {hint}"),
            None => Ok(()),
        }
    }
}

impl From<tools::Error> for Failure {
    fn from(err: tools::Error) -> Self {
        if let Some(hint) = err.hub().and_then(access_hint) {
            return Self { kind: Kind::Setting, error: err.into(), hint: Some(hint) };
        }
        if err.is_callers() {
            return Self::input(err);
        }
        Self { kind: Kind::Service, error: err.into(), hint: Some(DOCTOR) }
    }
}

impl From<hub::Error> for Failure {
    fn from(err: hub::Error) -> Self {
        match err {
            hub::Error::Token | hub::Error::OrgKey => {
                Self { kind: Kind::Setting, error: err.into(), hint: None }
            }
            hub::Error::Setup(_) => Self { kind: Kind::Internal, error: err.into(), hint: None },
            err => tools::Error::Hub(err).into(),
        }
    }
}

impl From<SendError> for Failure {
    fn from(err: SendError) -> Self {
        Self { kind: Kind::Service, error: err.into(), hint: Some(DOCTOR) }
    }
}
