//! The hub's program: settings, logging, listener, and `serve` until a signal, or another command.

use std::process::ExitCode;

use clap::Parser;
use knowhub_server::Config;
use service::{http, process};

fn main() -> ExitCode {
    let config = Config::parse();
    config.logging.init();
    process::run(async move {
        if let Some(command) = &config.command {
            return Ok(command.run(&config)?);
        }
        let stop = process::stop_signal()?;
        if !config.has_tokens() {
            let tokens = Some("KNOWHUB_TOKENS or KNOWHUB_TOKENS_FILE");
            http::require_loopback("KNOWHUB_ADDR", config.knowhub_addr, tokens)?;
        }
        let listener = http::bind("KNOWHUB_ADDR", config.knowhub_addr).await?;
        Ok(knowhub_server::serve(listener, &config, stop).await?)
    })
}
