//! The program `librarian`: reads its settings, runs the daemon, and ends it on a signal.

use std::process::ExitCode;

use clap::Parser;
use librarian::config::Config;
use librarian::daemon;
use service::{http, process};

fn main() -> ExitCode {
    process::run(async {
        let config = Config::parse();
        config.logging.init();
        let stop = process::stop_signal()?;
        let prepared = daemon::prepare(&config)?;
        let listener = http::bind("LIBRARIAN_ADDR", config.addr).await?;
        http::announce(&listener)?;
        let mut daemon = prepared.start_on(listener)?;
        tokio::select! {
            () = stop.cancelled() => {
                daemon.shutdown().await;
                Ok(())
            }
            failure = daemon.failed() => Err(failure),
        }
    })
}
