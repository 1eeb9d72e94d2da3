//! The relay as a process.

use std::process::ExitCode;

use clap::Parser;
use im_server::Config;
use service::{http, process};

fn main() -> ExitCode {
    let config = Config::parse();
    config.logging.init();
    process::run(async move {
        http::require_loopback("IM_ADDR", config.im_addr, None)?;
        let listener = http::bind("IM_ADDR", config.im_addr).await?;
        Ok(im_server::serve(listener, config, process::stop_signal()?).await?)
    })
}
