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
    let printed = match &ended {
        Ok(outcome) => outcome.print(json, stdout, stderr).map(|()| outcome.exit_code),
        Err(failure) => failure.print(stderr).map(|()| failure.exit_code()),
    };
    printed.unwrap_or_else(|err| {
        // Where not even this can be told, the code must do.
        let _ = internal(err, "cannot write the output").print(stderr);
        INTERNAL
    })
}

fn internal(err: std::io::Error, what: &'static str) -> Failure {
    let error = anyhow::Error::from(err).context(what);
    Failure { kind: Kind::Internal, error, hint: None }
}

fn start(cli: &Cli) -> Result<tokio::runtime::Runtime, Failure> {
    let filter = EnvFilter::new(cli.log_filter());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|err| internal(err, "cannot start the runtime"))
}
