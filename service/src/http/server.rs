//! The accept loop that all HTTP ports share.
//!
//! axum's own loop has no bound on how long a request's head may take, and its graceful shutdown waits without end.

use std::{
    convert::Infallible,
    io::{self, Write},
    net::SocketAddr,
    pin::pin,
    sync::Arc,
    time::Duration,
};

use anyhow::Context;
use axum::{
    Router,
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::Layer;

use super::{Guard, REQUEST_ID, request_id};

/// What a hyper `Upgraded` of this server can be downcast to.
pub type Io = TokioIo<TcpStream>;

/// How long the head of a request may take; whoever is slower is disconnected.
const HEAD_DEADLINE: Duration = Duration::from_secs(5);

/// How long running requests may take after the stop; whoever is slower is disconnected.
const DRAIN_DEADLINE: Duration = Duration::from_secs(6);

/// How many HTTP connections are served at once; further callers wait until one ends.
///
/// A connection that was upgraded counts no longer: whoever took it over bounds it.
const MAX_CONNECTIONS: usize = 4_096;

/// The first pause after a failed accept; it doubles while accepting goes on failing.
const MIN_ACCEPT_PAUSE: Duration = Duration::from_millis(5);

/// The longest pause after a failed accept, such as when descriptors have run out.
const MAX_ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// Reads the address of a listener, for clap.
///
/// # Errors
///
/// Says what an address looks like.
pub fn parse_addr(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an address and a port, such as 127.0.0.1:8000".to_owned())
}

/// Binds a listener.
///
/// # Errors
///
/// Names the setting and says what to do when the port is taken.
pub async fn bind(setting: &str, addr: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(addr).await.with_context(|| {
        format!(
            "cannot listen on {addr}; is another one running there? set {setting} to a free address"
        )
    })
}

/// Refuses an address that other machines can reach, for a service that asks nobody for a token.
///
/// `tokens` names the setting that would change that, where there is one.
///
/// # Errors
///
/// Names the settings and says what to do.
pub fn require_loopback(
    setting: &str,
    addr: SocketAddr,
    tokens: Option<&str>,
) -> anyhow::Result<()> {
    let set_tokens = tokens.map(|tokens| format!("set {tokens}, or ")).unwrap_or_default();
    anyhow::ensure!(
        addr.ip().is_loopback(),
        "{setting}={addr} can be reached from other machines, and no tokens are set; \
         {set_tokens}use a loopback address such as 127.0.0.1:{}",
        addr.port()
    );
    Ok(())
}

/// Tells where the listener is: a line on standard output for whoever started the process, and a log event.
///
/// # Errors
///
/// When the listener has no local address.
pub fn announce(listener: &TcpListener) -> io::Result<()> {
    let addr = listener.local_addr()?;
    let mut out = io::stdout().lock();
    // Nobody may be reading standard output; the log has the address too.
    let _ = writeln!(out, "listening on http://{addr}").and_then(|()| out.flush());
    tracing::info!(%addr, "listening");
    Ok(())
}

/// Serves `router` behind `guard` until `stop`, then lets running requests finish for six seconds.
///
/// # Errors
///
/// When the listener itself is unusable from the start.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    guard: Guard,
    stop: CancellationToken,
) -> io::Result<()> {
    listener.local_addr()?;
    let service = from_fn_with_state(guard, check_request).layer(router);
    let connections = TaskTracker::new();
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    while let Some((stream, place)) = stop.run_until_cancelled(accept(&listener, &places)).await {
        let (service, stop) = (service.clone(), stop.clone());
        connections.spawn(async move {
            drive(stream, service, stop).await;
            drop(place);
        });
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(DRAIN_DEADLINE, connections.wait()).await.is_err() {
        tracing::warn!(
            "requests were still running after {DRAIN_DEADLINE:?}; leaving without them"
        );
    }
    Ok(())
}

/// Returns the next connection and its place among [`MAX_CONNECTIONS`].
///
/// A failed accept never ends the loop: it pauses for up to a second and goes on.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (TcpStream, OwnedSemaphorePermit) {
    let place = Arc::clone(places).acquire_owned().await;
    let place = place.expect("the semaphore is never closed");
    let mut pause = MIN_ACCEPT_PAUSE;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, place),
            Err(err) => tracing::warn!(error = %err, "cannot accept a connection; trying again"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_ACCEPT_PAUSE);
    }
}

/// Serves one connection to its end, or until its running request is answered after `stop`.
async fn drive<S>(stream: TcpStream, service: S, stop: CancellationToken)
where
    S: tower::Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    // Small frames and answers must not wait for one another.
    if let Err(err) = stream.set_nodelay(true) {
        tracing::debug!(error = %err, "cannot set TCP_NODELAY");
    }
    let service = tower::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        tower::ServiceExt::oneshot(service.clone(), request.map(axum::body::Body::new))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service))
        .with_upgrades();
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(err) = ended {
        tracing::debug!(error = %err, "connection ended");
    }
}

async fn check_request(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    match guard.check(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => {
            let id = request_id(request.headers());
            tracing::debug!(request.id = id.to_str().unwrap_or_default(), %refusal, "request refused");
            let mut response = refusal.into_response();
            response.headers_mut().insert(REQUEST_ID, id);
            response
        }
    }
}
