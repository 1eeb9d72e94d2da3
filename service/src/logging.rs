//! Structured logs on standard error, as text for people or JSON for programs.

use std::{error::Error, io::IsTerminal};

use tracing_subscriber::{EnvFilter, fmt};

/// How a daemon logs.
#[derive(Clone, Debug, clap::Args)]
pub struct Logging {
    /// Shape of a log line.
    #[arg(long, env = "LOG_FORMAT", value_name = "LOG_FORMAT", default_value = "text")]
    pub log_format: Format,

    /// What is logged: `error`, `warn`, `info`, `debug`, `trace`, or `target=level,…`.
    #[arg(long, env = "LOG_FILTER", value_name = "LOG_FILTER", default_value = "info", value_parser = parse_filter)]
    pub log_filter: String,
}

/// Shape of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// One readable line an event.
    Text,
    /// One JSON object an event.
    Json,
}

impl Logging {
    /// Starts logging for the whole process; a second call changes nothing.
    pub fn init(&self) {
        let filter = EnvFilter::new(&self.log_filter);
        let builder = fmt().with_env_filter(filter).with_writer(std::io::stderr);
        let started = match self.log_format {
            Format::Text => builder.with_ansi(std::io::stderr().is_terminal()).try_init(),
            Format::Json => builder.json().flatten_event(true).try_init(),
        };
        if started.is_err() {
            tracing::debug!("logging was started before");
        }
    }
}

fn parse_filter(text: &str) -> Result<String, String> {
    EnvFilter::try_new(text).map(|_| text.to_owned()).map_err(|err| err.to_string())
}

/// Returns an error with all its causes, on one line, for a field of a log event.
///
/// An error that is given to the log as such loses its causes in the JSON shape.
pub fn chain(err: &dyn Error) -> String {
    let mut text = err.to_string();
    let mut source = err.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
