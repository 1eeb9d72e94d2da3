//! A hub of its own, started as a process over a folder of its own, and ended on every way out.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs::{self, File},
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

use super::Error;
use crate::hub;

/// The hub's program.
const PROGRAM: &str = "knowhub-server";

/// What of the environment the scratch hub sees, by how the names begin: settings that one wants to compare.
///
/// Tokens, addresses and stores of the user's own hub are none of them.
const SETTINGS: [&str; 4] = ["EMBEDDING_", "LLM_", "OPENROUTER_", "SEARCH_"];

/// What every program may need of the environment: to be found, to find certificates and proxies, to log.
const SURROUNDINGS: [&str; 14] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "LANG",
    "TZ",
    "LOG_FILTER",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// How long the hub may take until it listens; a local model must be loaded by then.
const START_PATIENCE: Duration = Duration::from_mins(2);

/// How long a hub whose folder is kept may take to end by itself.
const END_PATIENCE: Duration = Duration::from_secs(12);

/// How much of a failed hub's log is told, in bytes.
const TOLD_BYTES: usize = 2_000;

/// A running hub; killed when dropped, its scratch folder removed.
pub(crate) struct ScratchHub {
    // Dropped before the folder.
    child: Child,
    client: hub::Client,
    folder: Folder,
}

/// Where it keeps its store and its log.
enum Folder {
    Scratch(TempDir),
    Kept(PathBuf),
}

impl Folder {
    fn path(&self) -> &Path {
        match self {
            Self::Scratch(folder) => folder.path(),
            Self::Kept(folder) => folder,
        }
    }
}

impl ScratchHub {
    /// Starts `server`, or the hub's program beside this one or on the `PATH`.
    ///
    /// It works in `keep`, which then stays; else in a scratch folder.
    pub(crate) async fn start(server: Option<&Path>, keep: Option<&Path>) -> Result<Self, Error> {
        let folder = match keep {
            Some(folder) => {
                fs::create_dir_all(folder)?;
                Folder::Kept(fs::canonicalize(folder)?)
            }
            None => Folder::Scratch(tempfile::Builder::new().prefix("knowhub-eval-").tempdir()?),
        };
        let program = server.map_or_else(program, PathBuf::from);
        let log = File::create(log_of(&folder))?;
        let mut child = command(&program, folder.path(), env::vars_os())
            .stderr(log)
            .spawn()
            .map_err(|source| Error::Start { program, source })?;
        let stdout = child.stdout.take().expect("standard output is piped");
        let mut line = String::new();
        let mut stdout = BufReader::new(stdout);
        let read = timeout(START_PATIENCE, stdout.read_line(&mut line)).await;
        let address = line.trim().strip_prefix("listening on ").and_then(|url| url.parse().ok());
        let Some(api) = address else {
            let what = match read {
                Ok(_) => "ended at its start",
                Err(_) => "did not start in time",
            };
            return Err(Error::Ended { what, logged: logged(&folder) });
        };
        let client = hub::Client::new(hub::Config { api, token: None })
            .map_err(|source| Error::Hub { doing: "preparing to call".to_owned(), source })?;
        Ok(Self { child, client, folder })
    }

    /// Returns a client of it.
    pub(crate) fn client(&self) -> &hub::Client {
        &self.client
    }

    /// Returns the folder that stays, if it does.
    pub(crate) fn kept(&self) -> Option<&Path> {
        match &self.folder {
            Folder::Scratch(_) => None,
            Folder::Kept(folder) => Some(folder),
        }
    }

    /// Returns what was at fault: the hub, where it has ended meanwhile.
    pub(crate) fn blamed(&mut self, err: Error) -> Error {
        match self.child.try_wait() {
            Ok(Some(_)) => Error::Ended { what: "ended meanwhile", logged: logged(&self.folder) },
            _ => err,
        }
    }

    /// Ends it: one whose folder stays in its own time, another at once.
    pub(crate) async fn stop(mut self) -> Result<(), Error> {
        if let Folder::Kept(_) = self.folder
            && let Some(pid) = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
            && kill_process(pid, Signal::TERM).is_ok()
            && timeout(END_PATIENCE, self.child.wait()).await.is_ok()
        {
            return Ok(());
        }
        self.child.kill().await?;
        if let Folder::Scratch(folder) = self.folder {
            folder.close()?;
        }
        Ok(())
    }
}

/// Returns the hub's program beside this one, or its name, for the `PATH` to resolve.
fn program() -> PathBuf {
    let beside = env::current_exe().ok().map(|program| program.with_file_name(PROGRAM));
    beside.filter(|program| program.exists()).unwrap_or_else(|| PROGRAM.into())
}

fn command(
    program: &Path,
    folder: &Path,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Command {
    let mut command = Command::new(program);
    command
        .args(["--knowhub-addr", "127.0.0.1:0", "--knowhub-db"])
        .arg(folder.join("hub.db"))
        .env_clear()
        .envs(environment.filter(|(name, _)| is_passed_on(name)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // A Ctrl-C in the terminal is for this program, which then ends the hub.
        .process_group(0)
        .kill_on_drop(true);
    command
}

fn is_passed_on(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    SURROUNDINGS.contains(&name)
        || name.starts_with("LC_")
        || SETTINGS.iter().any(|start| name.starts_with(start))
}

fn log_of(folder: &Folder) -> PathBuf {
    folder.path().join("hub.log")
}

/// Returns the end of the hub's log.
fn logged(folder: &Folder) -> String {
    let log = fs::read(log_of(folder)).unwrap_or_default();
    let end = &log[log.len().saturating_sub(TOLD_BYTES)..];
    String::from_utf8_lossy(end).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_hub_stays_out_of_it() {
        for name in [
            "EMBEDDING_MODEL",
            "LLM_BASE_URL",
            "OPENROUTER_API_KEY",
            "SEARCH_RECALL_FACTOR",
            "PATH",
        ] {
            assert!(is_passed_on(OsStr::new(name)), "{name}");
        }
        for name in [
            "KNOWHUB_DB",
            "KNOWHUB_TOKENS",
            "KNOWHUB_ADDR",
            "ORG_KEYS",
            "DATABASE_URL",
            "IM_URL",
            "AWS_KEY",
        ] {
            assert!(!is_passed_on(OsStr::new(name)), "{name}");
        }
    }
}
