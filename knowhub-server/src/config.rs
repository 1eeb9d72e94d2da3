//! The hub's settings, each a variable and a flag.

use std::{net::SocketAddr, path::PathBuf};

use service::logging::Logging;

/// The settings of one hub.
#[derive(Clone, Debug, clap::Parser)]
#[command(
    name = "knowhub-server",
    version,
    about = "KnowHub's hub: stores what agents report, and finds it again"
)]
pub struct Config {
    /// Where to listen; a loopback address.
    #[arg(
        long,
        env = "KNOWHUB_ADDR",
        value_name = "KNOWHUB_ADDR", value_parser = service::http::parse_addr,
        default_value = "127.0.0.1:8000"
    )]
    pub knowhub_addr: SocketAddr,

    /// The store's file; `{file}.lock` and `{file}.index/` stand beside it.
    #[arg(long, env = "KNOWHUB_DB", value_name = "KNOWHUB_DB", default_value = "data/knowhub.db")]
    pub knowhub_db: PathBuf,

    /// Host names besides loopback that requests may name, by comma.
    #[arg(long, env = "KNOWHUB_HOSTS", value_name = "KNOWHUB_HOSTS", value_delimiter = ',')]
    pub knowhub_hosts: Vec<String>,

    /// Origins of pages that may call, by comma; without any, browsers are refused.
    #[arg(long, env = "KNOWHUB_ORIGINS", value_name = "KNOWHUB_ORIGINS", value_delimiter = ',')]
    pub knowhub_origins: Vec<String>,

    /// How many candidates a knowledge search looks at per result, 1 to 20.
    #[arg(
        long,
        env = "SEARCH_RECALL_FACTOR",
        value_name = "SEARCH_RECALL_FACTOR",
        default_value_t = 3,
        value_parser = clap::value_parser!(u8).range(1..=20),
    )]
    pub search_recall_factor: u8,

    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "clap would show a doc line here as the program's description"
    )]
    pub logging: Logging,
}
