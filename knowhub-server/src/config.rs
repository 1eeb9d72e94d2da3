//! The hub's settings, each a variable and a flag.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use secrecy::SecretString;

use service::logging::Logging;

use crate::{command::Command, lookups::SearchLog};

/// The settings of one hub.
#[derive(Clone, Debug, clap::Parser)]
#[command(
    name = "knowhub-server",
    version,
    about = "KnowHub's hub: stores what agents report, and finds it again"
)]
pub struct Config {
    /// Where to listen; beyond loopback only with tokens.
    #[arg(
        long,
        env = "KNOWHUB_ADDR",
        value_name = "KNOWHUB_ADDR", value_parser = service::http::parse_addr,
        default_value = "127.0.0.1:8000"
    )]
    pub knowhub_addr: SocketAddr,

    /// The store's file; `{file}.lock` and `{file}.index/` stand beside it.
    #[arg(
        long,
        global = true,
        env = "KNOWHUB_DB",
        value_name = "KNOWHUB_DB",
        default_value = "data/knowhub.db"
    )]
    pub knowhub_db: PathBuf,

    /// Host names besides loopback that requests may name, by comma.
    #[arg(long, env = "KNOWHUB_HOSTS", value_name = "KNOWHUB_HOSTS", value_parser = service::http::parse_host, value_delimiter = ',')]
    pub knowhub_hosts: Vec<String>,

    /// Origins of pages that may call, by comma; without any, browsers are refused.
    #[arg(long, env = "KNOWHUB_ORIGINS", value_name = "KNOWHUB_ORIGINS", value_parser = service::http::parse_origin, value_delimiter = ',')]
    pub knowhub_origins: Vec<String>,

    /// Who may do what, as `name:role:token` by comma; roles are reader, writer, delegate, admin.
    #[arg(long, env = "KNOWHUB_TOKENS", value_name = "KNOWHUB_TOKENS", hide_env_values = true)]
    pub knowhub_tokens: Option<SecretString>,

    /// The same in a file, one a line with `#` comments; read anew when it changes.
    #[arg(long, env = "KNOWHUB_TOKENS_FILE", value_name = "KNOWHUB_TOKENS_FILE")]
    pub knowhub_tokens_file: Option<PathBuf>,

    /// The keys that seal secrets, as `org:base64` of 32 bytes by comma; an org's further keys only open.
    #[arg(long, env = "ORG_KEYS", value_name = "ORG_KEYS", hide_env_values = true)]
    pub org_keys: Option<SecretString>,

    /// Requests per second and token name, up to 1000000; 0 for no limit, and none without tokens.
    #[arg(
        long,
        env = "KNOWHUB_RATE_LIMIT",
        value_name = "KNOWHUB_RATE_LIMIT",
        default_value_t = 500,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000),
    )]
    pub knowhub_rate_limit: u32,

    /// Requests that a token name may send at once, 1 to 1000000.
    #[arg(
        long,
        env = "KNOWHUB_RATE_BURST",
        value_name = "KNOWHUB_RATE_BURST",
        default_value_t = 1_000,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000),
    )]
    pub knowhub_rate_burst: u32,

    /// How many candidates a knowledge search looks at per result, 1 to 20.
    #[arg(
        long,
        env = "SEARCH_RECALL_FACTOR",
        value_name = "SEARCH_RECALL_FACTOR",
        default_value_t = 3,
        value_parser = clap::value_parser!(u8).range(1..=20),
    )]
    pub search_recall_factor: u8,

    /// Let the language model order what a search of knowledge found, where there is a model; `false` spares its cost.
    #[arg(
        long,
        env = "SEARCH_RERANK",
        value_name = "SEARCH_RERANK",
        default_value_t = true,
        action = clap::ArgAction::Set,
    )]
    pub search_rerank: bool,

    /// How long the language model may take to order what a search found, in milliseconds, 100 to 60000; then the order stays.
    #[arg(
        long,
        env = "SEARCH_RERANK_TIMEOUT_MS",
        value_name = "SEARCH_RERANK_TIMEOUT_MS",
        default_value_t = 8_000,
        value_parser = clap::value_parser!(u64).range(100..=60_000),
    )]
    pub search_rerank_timeout_ms: u64,

    /// How long the language model may take for one record of the pipeline, in milliseconds, 100 to 600000.
    #[arg(
        long,
        env = "PIPELINE_TIMEOUT_MS",
        value_name = "PIPELINE_TIMEOUT_MS",
        default_value_t = 30_000,
        value_parser = clap::value_parser!(u64).range(100..=600_000),
    )]
    pub pipeline_timeout_ms: u64,

    /// When a search takes a record for an answer, as `knowhub eval --fit` wrote it [default: the hub's own for the embedding model in use].
    #[arg(long, env = "SEARCH_CALIBRATION", value_name = "SEARCH_CALIBRATION")]
    pub search_calibration: Option<PathBuf>,

    /// What the log has of each search: its text with likely secrets cut out, or its length alone.
    #[arg(long, env = "SEARCH_LOG", value_name = "SEARCH_LOG", default_value = "redacted")]
    pub search_log: SearchLog,

    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show a doc line here as the program's description"
    )]
    pub llm: llm::Settings,

    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show a doc line here as the program's description"
    )]
    pub embeddings: llm::embedding::Settings,

    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show a doc line here as the program's description"
    )]
    pub logging: Logging,

    /// What to do instead of serving.
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Config {
    /// Returns how long the model may take to order what a search found.
    pub(crate) fn search_rerank_timeout(&self) -> Duration {
        Duration::from_millis(self.search_rerank_timeout_ms)
    }

    /// Returns how long the model may take for one record of the pipeline.
    pub(crate) fn pipeline_timeout(&self) -> Duration {
        Duration::from_millis(self.pipeline_timeout_ms)
    }

    /// Tells whether callers need a token.
    pub fn has_tokens(&self) -> bool {
        self.knowhub_tokens.is_some() || self.knowhub_tokens_file.is_some()
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Config::command().debug_assert();
    }
}
