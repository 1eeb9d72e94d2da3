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
    /// The user: the input is wrong.
    Input,
    /// The user: a setting is wrong.
    Setting,
    /// Whoever runs the services or the network.
    Service,
    /// We.
    Internal,
}

const DOCTOR: &str = "`knowhub doctor` tells which service is missing, and what to do";

/// What to do when the hub asks for another token.
pub(super) const TOKEN: &str =
    "set KNOWHUB_TOKEN (or --token) to one of the tokens that the hub was started with";

impl Failure {
    pub(super) fn input(error: impl Into<anyhow::Error>) -> Self {
        Self { kind: Kind::Input, error: error.into(), hint: None }
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
        if matches!(&err, tools::Error::Hub(err) if err.is_about_token()) {
            return Self { kind: Kind::Setting, error: err.into(), hint: Some(TOKEN) };
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
            hub::Error::Token => Self { kind: Kind::Setting, error: err.into(), hint: None },
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
