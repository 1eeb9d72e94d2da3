//! The three processes together, and the `knowhub` command against them.

use std::{net::SocketAddr, path::Path, process::Output, time::Duration};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::{binary, process::Process, wait};

/// An address that the operating system fills in with a free port.
const FREE_PORT: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// KnowHub over a scratch folder; a part that is `None` does not run.
///
/// A part that is started again gets its old address, as a restarted process would.
pub struct System {
    /// The relay.
    pub relay: Option<Process>,
    /// The hub.
    pub hub: Option<Process>,
    /// The librarian.
    pub librarian: Option<Process>,
    relay_addr: SocketAddr,
    hub_addr: SocketAddr,
    librarian_addr: SocketAddr,
    extra: Vec<(&'static str, String)>,
    folder: TempDir,
}

impl System {
    /// Starts all three and waits until the librarian can answer.
    pub async fn start() -> Result<Self> {
        Self::start_with(Vec::new()).await
    }

    /// The same with further settings for every part.
    pub async fn start_with(extra: Vec<(&'static str, String)>) -> Result<Self> {
        let mut system = Self::stopped(extra)?;
        system.start_relay().await?;
        system.start_hub().await?;
        system.start_librarian().await?;
        Ok(system)
    }

    /// Prepares a system of which nothing runs yet.
    pub fn stopped(extra: Vec<(&'static str, String)>) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("knowhub-").tempdir()?;
        Ok(Self {
            relay: None,
            hub: None,
            librarian: None,
            relay_addr: FREE_PORT,
            hub_addr: FREE_PORT,
            librarian_addr: FREE_PORT,
            extra,
            folder,
        })
    }

    /// Returns the scratch folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts the relay, at its old address if it had one.
    pub async fn start_relay(&mut self) -> Result<()> {
        let settings = self.settings(&[("IM_ADDR", self.relay_addr)]);
        let relay = Process::start("im-server", self.folder(), &settings).await?;
        self.relay_addr = relay.addr();
        self.relay = Some(relay);
        Ok(())
    }

    /// Starts the hub, at its old address if it had one.
    pub async fn start_hub(&mut self) -> Result<()> {
        let settings = self.settings(&[("KNOWHUB_ADDR", self.hub_addr)]);
        let hub = Process::start("knowhub-server", self.folder(), &settings).await?;
        self.hub_addr = hub.addr();
        self.hub = Some(hub);
        Ok(())
    }

    /// Starts the librarian and waits until it is connected to the relay and the hub.
    pub async fn start_librarian(&mut self) -> Result<()> {
        self.start_librarian_unready().await?;
        wait::until("the librarian's readiness", async || self.librarian_readiness().await).await
    }

    /// Tells whether the librarian can do its work.
    ///
    /// # Errors
    ///
    /// When it cannot; carries what it said.
    pub async fn librarian_readiness(&self) -> Result<()> {
        let answer = reqwest::get(format!("http://{}/readyz", self.librarian_addr)).await?;
        let (status, text) = (answer.status(), answer.text().await?);
        ensure!(status.is_success(), "{text}");
        Ok(())
    }

    /// Starts the librarian and does not wait until it can answer.
    pub async fn start_librarian_unready(&mut self) -> Result<()> {
        let settings = self.settings(&[("LIBRARIAN_ADDR", self.librarian_addr)]);
        let librarian = Process::start("librarian", self.folder(), &settings).await?;
        self.librarian_addr = librarian.addr();
        self.librarian = Some(librarian);
        Ok(())
    }

    /// Returns the hub's base address, `http://…`.
    pub fn api(&self) -> String {
        format!("http://{}", known(self.hub_addr))
    }

    /// Returns the relay's WebSocket address, `ws://…`.
    pub fn im_url(&self) -> String {
        format!("ws://{}/ws", known(self.relay_addr))
    }

    fn settings(&self, own: &[(&'static str, SocketAddr)]) -> Vec<(&'static str, String)> {
        let mut settings = vec![
            ("IM_DB", self.folder().join("im.db").display().to_string()),
            ("KNOWHUB_DB", self.folder().join("knowhub.db").display().to_string()),
            ("KNOWHUB_API", self.api()),
            ("IM_URL", self.im_url()),
        ];
        settings.extend(own.iter().map(|(name, addr)| (*name, addr.to_string())));
        settings.extend(self.extra.iter().cloned());
        settings
    }

    /// Runs `knowhub` with these arguments to its end.
    pub async fn knowhub(&self, args: &[&str]) -> Result<Output> {
        self.knowhub_with(&[], args).await
    }

    /// The same with further settings, which no other part sees.
    pub async fn knowhub_with(&self, extra: &[(&str, &str)], args: &[&str]) -> Result<Output> {
        Command::new(binary::find("knowhub")?)
            .args(args)
            .env_clear()
            .envs(self.settings(&[]))
            .envs(extra.iter().copied())
            .current_dir(self.folder())
            .kill_on_drop(true)
            .output()
            .await
            .context("running knowhub")
    }

    /// Runs `knowhub … --json` and reads what it prints.
    ///
    /// # Errors
    ///
    /// When it fails; carries what it said.
    pub async fn knowhub_json(&self, args: &[&str]) -> Result<Value> {
        let output = self.knowhub(&[args, &["--json"]].concat()).await?;
        let talk = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "knowhub {args:?}: {}\n{talk}", output.status);
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("knowhub {args:?} printed no JSON; it said: {talk}"))
    }

    /// Sends a body to the hub and returns the answer's JSON.
    ///
    /// # Errors
    ///
    /// When the hub refuses it; carries what it said.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        let url = format!("{}{path}", self.api());
        let answer = client()?.post(url).json(body).send().await?;
        let (status, text) = (answer.status(), answer.text().await?);
        ensure!(status.is_success(), "POST {path}: {status} {text}");
        serde_json::from_str(&text).with_context(|| format!("POST {path} answered {text}"))
    }

    /// Ends all that runs, the librarian first, and checks that each ended well.
    pub async fn stop(mut self) -> Result<()> {
        for process in [self.librarian.take(), self.hub.take(), self.relay.take()] {
            let Some(process) = process else { continue };
            let status = process.terminate(Duration::from_secs(12)).await?;
            ensure!(status.success(), "ended with {status}");
        }
        Ok(())
    }
}

/// Returns the address, or one where nothing answers when the part never ran.
fn known(addr: SocketAddr) -> SocketAddr {
    // Port 9 is the discard service's, which no machine of today runs.
    if addr == FREE_PORT { SocketAddr::new(addr.ip(), 9) } else { addr }
}

fn client() -> Result<reqwest::Client> {
    Ok(reqwest::Client::builder().timeout(wait::PATIENCE).build()?)
}
