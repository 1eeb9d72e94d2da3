//! One process, its announced address, and the signals one can send it.

use std::{
    fs::{self, File},
    io::{self, Seek, SeekFrom},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

use crate::{binary, small_disk::SmallDisk, wait::PATIENCE};

/// A running daemon; killed when dropped.
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
    addr: SocketAddr,
}

impl Process {
    /// Starts the daemon `name` with nothing but `settings` in its environment.
    ///
    /// Returns when it has announced its address; its log goes to `{folder}/{name}.log`.
    ///
    /// # Errors
    ///
    /// When it ends or stays silent instead; carries what it logged.
    pub async fn start(name: &str, folder: &Path, settings: &[(&str, String)]) -> Result<Self> {
        Self::start_within(PATIENCE, name, folder, settings).await
    }

    /// The same of one that may need longer than most, such as a hub that checks or migrates a large store.
    pub async fn start_within(
        patience: Duration,
        name: &str,
        folder: &Path,
        settings: &[(&str, String)],
    ) -> Result<Self> {
        Self::start_by(Command::new(binary::find(name)?), patience, name, folder, settings).await
    }

    /// The same where `disk` is mounted.
    pub async fn start_on(
        disk: &SmallDisk,
        name: &str,
        folder: &Path,
        settings: &[(&str, String)],
    ) -> Result<Self> {
        Self::start_by(disk.command(binary::find(name)?), PATIENCE, name, folder, settings).await
    }

    async fn start_by(
        mut command: Command,
        patience: Duration,
        name: &str,
        folder: &Path,
        settings: &[(&str, String)],
    ) -> Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let stderr = File::options().create(true).append(true).open(&log)?;
        let earlier = stderr.metadata()?.len();
        let mut child = command
            .env_clear()
            .envs(settings.iter().map(|(key, value)| (key, value)))
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("starting {name}"))?;
        let stdout = child.stdout.take().context("standard output is piped")?;
        let mut line = String::new();
        let mut stdout = BufReader::new(stdout);
        let read = timeout(patience, stdout.read_line(&mut line)).await;
        let addr =
            line.trim().strip_prefix("listening on http://").and_then(|addr| addr.parse().ok());
        if let (Ok(Ok(_)), Some(addr)) = (read, addr) {
            return Ok(Self { name: name.to_owned(), child, log, addr });
        }
        let logged = logged_after(&log, earlier).unwrap_or_default();
        bail!("{name} announced no address but {line:?} within {patience:?}; it logged:\n{logged}")
    }

    /// Returns where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns its process id.
    pub fn id(&self) -> Result<u32> {
        self.child.id().with_context(|| format!("{} has ended", self.name))
    }

    /// Returns everything it has logged so far.
    pub fn logged(&self) -> Result<String> {
        fs::read_to_string(&self.log).with_context(|| format!("reading the log of {}", self.name))
    }

    /// Stops it in its tracks (SIGSTOP): it hangs, its sockets stay open.
    pub fn freeze(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets a frozen process go on (SIGCONT).
    pub fn thaw(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Kills it at once (SIGKILL).
    pub async fn kill(mut self) -> Result<()> {
        self.child.kill().await.with_context(|| format!("killing {}", self.name))
    }

    /// Asks it to end (SIGTERM) and returns how it ended.
    ///
    /// # Errors
    ///
    /// When it has not ended after `patience`.
    pub async fn terminate(mut self, patience: Duration) -> Result<ExitStatus> {
        self.signal(Signal::TERM)?;
        timeout(patience, self.child.wait())
            .await
            .with_context(|| format!("{} did not end within {patience:?}", self.name))?
            .with_context(|| format!("waiting for {}", self.name))
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let id = i32::try_from(self.id()?).context("a process id fits")?;
        let pid = Pid::from_raw(id).context("a process id is positive")?;
        kill_process(pid, signal).with_context(|| format!("signalling {}", self.name))
    }
}

/// Returns what was logged behind the first `bytes`, which earlier processes left.
fn logged_after(log: &Path, bytes: u64) -> io::Result<String> {
    let mut file = File::open(log)?;
    file.seek(SeekFrom::Start(bytes))?;
    io::read_to_string(file)
}
