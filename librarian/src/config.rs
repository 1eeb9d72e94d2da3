//! Every setting of the daemon, each a flag and an environment variable, read once.

use std::net::SocketAddr;
use std::time::Duration;

use agent_tools::settings::{HubArgs, ImArgs};
use clap::Parser;
use protocol::ContactId;
use service::logging::Logging;

/// The settings; a bad value stops the start and names its variable.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "librarian",
    version,
    about = "Answers questions from KnowHub's hub over the relay, with citations",
    long_about = "Answers questions from KnowHub's hub over the relay, with citations.\n\n\
        The librarian is a contact of the relay. It needs nothing but the addresses of relay and \
        hub, waits for either as long as it takes, and keeps no files. Without a language model \
        it answers with the most relevant records themselves.",
    after_help = "Examples:\n  \
        librarian\n      \
        relay and hub on this machine, no language model\n  \
        OPENROUTER_API_KEY=sk-… librarian\n      \
        with a language model at OpenRouter\n  \
        LLM_BASE_URL=http://127.0.0.1:8080/v1 LLM_MODEL=qwen3 librarian\n      \
        with a language model on this machine\n\n\
        Whether it is connected: curl http://127.0.0.1:8766/readyz\n\
        Ask it something:        knowhub ask \"怎么从论文 PDF 里提取表格？\""
)]
pub struct Config {
    /// Who the librarian is to the relay; agents send their questions there
    #[arg(
        long,
        env = "LIBRARIAN_CONTACT_ID",
        value_name = "LIBRARIAN_CONTACT_ID",
        default_value = protocol::librarian::DEFAULT_CONTACT_ID
    )]
    pub contact_id: ContactId,

    /// Where `/healthz` and `/readyz` are served, on a loopback address
    #[arg(
        long,
        env = "LIBRARIAN_ADDR",
        value_name = "LIBRARIAN_ADDR", value_parser = service::http::parse_addr,
        default_value = "127.0.0.1:8766"
    )]
    pub addr: SocketAddr,

    /// How long uploads of one sender and chat are merged, in milliseconds from the first
    #[arg(
        long = "upload-merge-window-ms",
        env = "UPLOAD_MERGE_WINDOW_MS",
        value_name = "UPLOAD_MERGE_WINDOW_MS",
        default_value = "5000",
        value_parser = parse_window
    )]
    pub upload_merge_window: Duration,

    /// The relay.
    #[command(flatten)]
    pub im: ImArgs,

    /// The hub.
    #[command(flatten)]
    pub hub: HubArgs,

    /// The language model.
    #[command(flatten)]
    pub llm: llm::Settings,

    /// The log.
    #[command(flatten, next_help_heading = "Log")]
    pub logging: Logging,
}

/// The longest merge window; whoever wants more wants no merging but a delay.
const LONGEST_WINDOW_MS: u64 = 600_000;

fn parse_window(text: &str) -> Result<Duration, String> {
    match text.parse() {
        Ok(millis @ 1..=LONGEST_WINDOW_MS) => Ok(Duration::from_millis(millis)),
        _ => Err(format!("expected milliseconds, 1 to {LONGEST_WINDOW_MS}")),
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

    #[test]
    fn a_bad_value_names_its_variable() {
        for (flag, value, variable) in [
            ("--contact-id", "a b", "LIBRARIAN_CONTACT_ID"),
            ("--addr", "localhost", "LIBRARIAN_ADDR"),
            ("--upload-merge-window-ms", "0", "UPLOAD_MERGE_WINDOW_MS"),
            ("--im-url", "http://127.0.0.1", "IM_URL"),
            ("--api", "127.0.0.1:8000", "KNOWHUB_API"),
        ] {
            let err = Config::try_parse_from(["librarian", flag, value]).expect_err("a bad value");
            assert!(err.to_string().contains(variable), "{err}");
        }
    }

    #[test]
    fn help_says_what_the_program_does() {
        let help = Config::command().render_long_help().to_string();
        assert!(help.starts_with("Answers questions from KnowHub's hub over the relay"), "{help}");
    }
}
