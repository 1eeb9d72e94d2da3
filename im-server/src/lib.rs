//! KnowHub's relay: clients exchange messages over WebSocket, and what is accepted waits on disk until it is acknowledged.
//!
//! The relay never looks at what a message says.
//! `docs/im-protocol.md` tells what clients may rely on.
//!
//! # Layout
//!
//! - [`config`]: the settings.
//! - `http`: the routes, and how a request becomes a connection.
//! - `connection`: one WebSocket connection, from its first frame to its close frame.
//! - `relay`: the one task that owns the mailboxes and their store.
//! - `mailbox`: what becomes of every message, as functions of state and time.
//! - `store`: what is kept on disk.

pub mod config;
mod connection;
mod http;
mod mailbox;
mod relay;
mod store;

pub use config::Config;
pub use store::Error as StoreError;

use std::time::Duration;

use tokio::{net::TcpListener, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How long connections may take to end after the relay has closed them; then they are dropped.
const CLOSE_DEADLINE: Duration = Duration::from_secs(3);

/// Why a relay stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its listener cannot be used.
    #[error("cannot serve on this address")]
    Listen(#[source] std::io::Error),
    /// The task that owns the mailboxes ended by itself.
    #[error("the mailboxes failed; see the log")]
    Mailboxes,
}

/// Runs a relay until `stop`, and then for at most ten seconds more.
///
/// # Errors
///
/// When the store cannot be opened, or the relay cannot go on.
pub async fn serve(
    listener: TcpListener,
    config: Config,
    stop: CancellationToken,
) -> Result<(), Error> {
    let relay = relay::start(config.limits, store::Sqlite::open(&config.im_db)?)?;
    let connections = TaskTracker::new();
    let app = http::App {
        relay: relay.clone(),
        limits: config.limits,
        connections: connections.clone(),
        stop: stop.clone(),
    };
    let guard = service::http::Guard::new(config.im_hosts, config.im_origins);
    service::http::announce(&listener).map_err(Error::Listen)?;
    let served = service::http::serve(listener, http::router(app), guard, stop.clone());
    let drain = async {
        stop.cancelled().await;
        relay.drain().await;
        relay.ended().await;
    };
    let failed = async {
        relay.ended().await;
        if stop.is_cancelled() {
            // It ended as it should.
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        (served, ()) = async { tokio::join!(served, drain) } => served.map_err(Error::Listen)?,
        () = failed => return Err(Error::Mailboxes),
    }
    connections.close();
    if timeout(CLOSE_DEADLINE, connections.wait()).await.is_err() {
        tracing::warn!(count = connections.len(), "connections did not end in time");
    }
    Ok(())
}
