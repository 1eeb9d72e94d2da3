//! Real peers: servers in Python that `tests/peers/setup.sh` fetches.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, Result, bail};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

use crate::wait;

/// Where `tests/peers/setup.sh` puts the peers.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../.peers").join(name)
}

/// How many tokens a prompt and its answer may have; the server's default is too few for an ask.
const CONTEXT_TOKENS: &str = "8192";

/// A running chat server; killed when dropped.
pub struct ChatPeer(Announced);

impl ChatPeer {
    /// Starts the server that `tests/peers/setup.sh` fetched, and waits until it answers.
    ///
    /// Returns `None` when it was not fetched.
    pub async fn start() -> Result<Option<Self>> {
        let folder = folder("chat");
        if !folder.join("ready").exists() {
            return Ok(None);
        }
        let model = fs::read_to_string(folder.join("model-path"))?;
        let mut command = Command::new(folder.join("bin/python"));
        command.args(["-m", "llama_cpp.server", "--host", "127.0.0.1", "--port", "0"]).args([
            "--n_ctx",
            CONTEXT_TOKENS,
            "--model",
            model.trim(),
        ]);
        Ok(Some(Self(Announced::start(command).await.context("the chat server")?)))
    }

    /// Returns the address for `LLM_BASE_URL`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.0.addr)
    }
}

/// A running embedding server with multilingual-e5-small, 384 numbers a vector; killed when dropped.
pub struct EmbeddingPeer(Announced);

impl EmbeddingPeer {
    /// The model's name for passages, for `EMBEDDING_MODEL`.
    pub const PASSAGE_MODEL: &str = "e5-passage";

    /// The model's name for queries, for `EMBEDDING_QUERY_MODEL`.
    pub const QUERY_MODEL: &str = "e5-query";

    /// Starts the server that `tests/peers/setup.sh` fetched, and waits until it answers.
    ///
    /// Returns `None` when it was not fetched.
    pub async fn start() -> Result<Option<Self>> {
        let folder = folder("embeddings");
        if !folder.join("ready").exists() {
            return Ok(None);
        }
        let mut command = Command::new(folder.join("bin/python"));
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/embeddings.py"));
        Ok(Some(Self(Announced::start(command).await.context("the embedding server")?)))
    }

    /// Returns the settings that make it a hub's embedder.
    pub fn settings(&self) -> [(&'static str, String); 3] {
        [
            ("EMBEDDING_BASE_URL", self.base_url()),
            ("EMBEDDING_MODEL", Self::PASSAGE_MODEL.to_owned()),
            ("EMBEDDING_QUERY_MODEL", Self::QUERY_MODEL.to_owned()),
        ]
    }

    /// Returns the address for `EMBEDDING_BASE_URL`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.0.addr)
    }
}

/// A server on a free port that tells on standard error where, as uvicorn does; killed when dropped.
pub(crate) struct Announced {
    child: Child,
    /// Where it listens.
    pub(crate) addr: SocketAddr,
}

impl Announced {
    /// Starts the command, and waits until it says where it listens.
    pub(crate) async fn start(mut command: Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot be started")?;
        let stderr = child.stderr.take().context("standard error is piped")?;
        let mut lines = BufReader::new(stderr).lines();
        let announced = timeout(wait::PATIENCE, async {
            while let Some(line) = lines.next_line().await? {
                if let Some((_, rest)) = line.split_once(" running on http://") {
                    let addr = rest.split_whitespace().next().unwrap_or_default();
                    return addr.parse().context("it tells an address");
                }
            }
            bail!("ended")
        });
        let addr = announced.await.context("did not start in time")??;
        // What it says later is of no use, but must not fill its pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self { child, addr })
    }

    /// Returns its process.
    pub(crate) fn id(&self) -> Result<u32> {
        self.child.id().context("it has ended")
    }
}
