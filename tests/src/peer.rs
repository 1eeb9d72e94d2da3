//! The real chat server that stands for a language model's endpoint.

use std::{fs, path::Path, process::Stdio};

use anyhow::{Context, Result, ensure};
use tokio::{
    net::TcpListener,
    process::{Child, Command},
};

use crate::wait;

/// A running chat server; killed when dropped.
pub struct ChatPeer {
    _child: Child,
    base_url: String,
}

impl ChatPeer {
    /// Starts the server that `tests/peers/setup.sh` fetched, and waits until it answers.
    ///
    /// Returns `None` when it was not fetched.
    /// That is an error where `CI` is `true`: there, every peer must be had.
    pub async fn start(is_ci: bool, log_folder: &Path) -> Result<Option<Self>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.peers/chat");
        if !folder.join("ready").exists() {
            ensure!(!is_ci, "the chat server is missing; run tests/peers/setup.sh");
            return Ok(None);
        }
        let model = fs::read_to_string(folder.join("model-path"))?;
        // The server wants a number; the port is free until it takes it, a moment later.
        let port = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port();
        let log = fs::File::create(log_folder.join("chat-peer.log"))?;
        let child = Command::new(folder.join("bin/python"))
            .args(["-m", "llama_cpp.server", "--host", "127.0.0.1", "--model", model.trim()])
            .args(["--port", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .context("starting the chat server")?;
        let base_url = format!("http://127.0.0.1:{port}/v1");
        wait::until("the chat server", async || {
            let answer = reqwest::get(format!("{base_url}/models")).await?;
            ensure!(answer.status().is_success(), "{}", answer.status());
            Ok(())
        })
        .await?;
        Ok(Some(Self { _child: child, base_url }))
    }

    /// Returns the address for `LLM_BASE_URL`.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }
}
