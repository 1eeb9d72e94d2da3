//! The `knowhub` command: reads the command line, runs it, prints, and maps to an exit code.

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
};

use agent_tools::cli::{Cli, Failure, Kind, Origins};
use tracing_subscriber::EnvFilter;

/// The exit code of a fault of this program.
const INTERNAL: u8 = 255;

fn main() -> ExitCode {
    let (cli, origins) = match Cli::read(env::args_os()) {
        Ok(read) => read,
        Err(err) => err.exit(),
    };
    // The runtime's own message names the place of a panic; the code tells scripts whose fault it was.
    let code = catch_unwind(AssertUnwindSafe(|| run(cli, &origins))).unwrap_or(INTERNAL);
    ExitCode::from(code)
}

fn run(cli: Cli, origins: &Origins) -> u8 {
    let json = cli.wants_json();
    let ended = start(&cli).and_then(|runtime| runtime.block_on(cli.run(origins)));
    let (stdout, stderr) = (&mut anstream::stdout(), &mut anstream::stderr());
    let printed = ended.and_then(|outcome| {
        let printed = outcome.print(json, stdout, stderr);
        printed.map_err(|err| failure(Kind::Input, err, "cannot write the output"))?;
        Ok(outcome.exit_code)
    });
    printed.unwrap_or_else(|failure| {
        // Where not even this can be told, the code must do.
        let _ = failure.print(stderr);
        failure.exit_code()
    })
}

fn failure(kind: Kind, err: std::io::Error, what: &'static str) -> Failure {
    Failure { kind, error: anyhow::Error::from(err).context(what), hint: None }
}

fn start(cli: &Cli) -> Result<tokio::runtime::Runtime, Failure> {
    let filter = EnvFilter::new(cli.log_filter());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|err| failure(Kind::Internal, err, "cannot start the runtime"))
}
