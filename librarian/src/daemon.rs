//! Starts and stops the whole, as a program of its own or as a background task of another one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use agent_tools::{hub, im};
use anyhow::Context as _;
use librarian_core::{Librarian, Shelf};
use llm::ChatModel;
use protocol::ContactId;
use protocol::im::Mode;
use service::http::{self, Guard};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::asks::Asks;
use crate::config::Config;
use crate::health::{self, HubHealth};
use crate::inbox::{self, Desks};
use crate::shelf::HubShelf;
use crate::uploads;

/// How long running asks may take after the stop; the relay delivers again what is slower.
const DRAIN_DEADLINE: Duration = Duration::from_secs(10);

/// Name and version, for the relay's log.
const CLIENT: &str = concat!("librarian/", env!("CARGO_PKG_VERSION"));

/// A running librarian.
pub struct Handle {
    addr: SocketAddr,
    im: im::Client,
    /// The replies that are being written.
    tasks: TaskTracker,
    /// The tasks without which there is no librarian; each ends only at the stop, or by failing.
    essential: JoinSet<anyhow::Result<()>>,
    stop: CancellationToken,
}

/// A librarian whose settings are checked, not started yet.
pub struct Prepared {
    contact: ContactId,
    upload_merge_window: Duration,
    im: im::Config,
    hub: hub::Client,
    model: Option<Arc<dyn ChatModel>>,
}

/// Starts the librarian, which waits for relay and hub by itself.
///
/// Fails when a setting cannot be used or the address is taken; the text names the setting.
pub async fn start(config: &Config) -> anyhow::Result<Handle> {
    let prepared = prepare(config)?;
    prepared.start_on(http::bind("LIBRARIAN_ADDR", config.addr).await?)
}

/// Checks the settings.
///
/// Fails when one cannot be used; the text names it.
pub fn prepare(config: &Config) -> anyhow::Result<Prepared> {
    http::require_loopback("LIBRARIAN_ADDR", config.addr, None)?;
    Ok(Prepared {
        contact: config.contact_id.clone(),
        upload_merge_window: config.upload_merge_window,
        im: config.im.config(config.contact_id.clone(), Mode::Shared, CLIENT),
        hub: hub::Client::new(config.hub.config())?,
        model: config.llm.model()?,
    })
}

impl Prepared {
    /// Starts the librarian with a listener for its health routes.
    pub fn start_on(self, listener: TcpListener) -> anyhow::Result<Handle> {
        let Self { contact, upload_merge_window, im, hub, model } = self;
        let addr = listener.local_addr().context("the listener has no address")?;
        tracing::info!(
            contact.id = %contact,
            llm.model = model.as_ref().map(|model| model.name()),
            "the librarian starts"
        );
        let (im, inbox) = im::Client::start(im);
        let health = HubHealth::default();
        let hub_shelf: Arc<dyn Shelf> = Arc::new(HubShelf::new(hub.clone(), health.clone()));
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        let (uploads, keep_uploads) = uploads::start(
            upload_merge_window,
            im.clone(),
            Arc::clone(&hub_shelf),
            health.clone(),
            stop.clone(),
        );
        let asks = Asks::new(im.clone(), Librarian::new(hub_shelf, model), tasks.clone());
        let desks = Desks { own: contact, asks, uploads };
        let routes = http::health_routes(health::readiness(im.state(), health.clone()));
        let server = http::serve(listener, routes, Guard::new(vec![], vec![]), stop.clone());

        let mut essential = JoinSet::new();
        essential.spawn(async { server.await.context("serving LIBRARIAN_ADDR") });
        essential.spawn(health::probe(hub, health, stop.clone()));
        essential.spawn(keep_uploads);
        essential.spawn(inbox::run(inbox, im.clone(), desks, stop.clone()));
        Ok(Handle { addr, im, tasks, essential, stop })
    }
}

impl Handle {
    /// Returns where the health routes are.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Waits until the librarian cannot go on, which happens when the relay turns it away.
    pub async fn failed(&mut self) -> anyhow::Error {
        match self.essential.join_next().await {
            Some(Ok(Err(failure))) => failure,
            Some(Err(err)) => anyhow::Error::new(err).context("a part of the librarian panicked"),
            Some(Ok(Ok(()))) | None => anyhow::anyhow!("a part of the librarian ended by itself"),
        }
    }

    /// Takes no more messages, lets running asks finish for up to ten seconds, and disconnects.
    ///
    /// What is not acknowledged by then, open merge windows above all, the relay delivers again.
    pub async fn shutdown(mut self) {
        self.stop.cancel();
        while let Some(ended) = self.essential.join_next().await {
            if let Ok(Err(err)) | Err(err) = ended.map_err(anyhow::Error::new) {
                tracing::warn!("a part of the librarian did not end well: {err:#}");
            }
        }
        self.tasks.close();
        if timeout(DRAIN_DEADLINE, self.tasks.wait()).await.is_err() {
            tracing::warn!("left with replies under way; the relay delivers their messages again");
        }
        self.im.close().await;
    }
}
