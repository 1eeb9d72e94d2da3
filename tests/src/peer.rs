//! The real chat server that stands for a language model's endpoint.

use std::{fs, path::Path, process::Stdio};

use anyhow::{Context, Result, bail};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

use crate::wait;

/// How many tokens a prompt and its answer may have; the server's default is too few for an ask.
const CONTEXT_TOKENS: &str = "8192";

/// A running chat server; killed when dropped.
pub struct ChatPeer {
    _child: Child,
    base_url: String,
}

impl ChatPeer {
    /// Starts the server that `tests/peers/setup.sh` fetched, and waits until it answers.
    ///
    /// Returns `None` when it was not fetched.
    pub async fn start() -> Result<Option<Self>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.peers/chat");
        if !folder.join("ready").exists() {
            return Ok(None);
        }
        let model = fs::read_to_string(folder.join("model-path"))?;
        let mut child = Command::new(folder.join("bin/python"))
            .args(["-m", "llama_cpp.server", "--host", "127.0.0.1", "--port", "0"])
            .args(["--n_ctx", CONTEXT_TOKENS, "--model", model.trim()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("starting the chat server")?;
        let stderr = child.stderr.take().context("standard error is piped")?;
        let mut lines = BufReader::new(stderr).lines();
        let announced = timeout(wait::PATIENCE, async {
            while let Some(line) = lines.next_line().await? {
                if let Some((_, rest)) = line.split_once("Uvicorn running on ") {
                    let base = rest.split_whitespace().next().unwrap_or_default();
                    return Ok(format!("{base}/v1"));
                }
            }
            bail!("the chat server ended")
        });
        let base_url = announced.await.context("the chat server did not start in time")??;
        // What it says later is of no use, but must not fill its pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Some(Self { _child: child, base_url }))
    }

    /// Returns the address for `LLM_BASE_URL`.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }
}
