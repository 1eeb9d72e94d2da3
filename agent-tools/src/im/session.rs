//! One connection: the opening, then a reader and a writer side by side until either ends.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use protocol::im::{self, ClientFrame, ServerFrame, Welcome};
use secrecy::ExposeSecret;
use tokio::{
    net::TcpStream,
    time::{Instant, sleep_until, timeout},
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{
        self, Message,
        client::IntoClientRequest,
        http::{HeaderValue, header},
        protocol::{CloseFrame, WebSocketConfig},
    },
};

use super::{Config, Desk, StopReason, inbox::Settlements};

// At trace, tungstenite logs whole frames, with what messages say and with tokens.
const _: () = assert!((log::STATIC_MAX_LEVEL as usize) < log::LevelFilter::Trace as usize);

/// How long connecting may take, from the first packet to the welcome.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the relay may take to read what is written.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a closing connection waits for the relay's own close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The largest frame taken from the relay; a larger one ends the connection.
const MAX_FRAME_BYTES: usize = 16 << 20;

/// The shortest heartbeat that is believed, so that a broken welcome cannot end connections at once.
const SHORTEST_HEARTBEAT: Duration = Duration::from_millis(20);

pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// How a connection, or the attempt to make one, ended.
pub(super) enum Ended {
    /// Another attempt may work.
    Lost(String),
    /// No other attempt is to be made.
    Stopped(StopReason),
}

/// Connects, says hello, and waits for the welcome.
pub(super) async fn connect(config: &Config) -> Result<(Socket, Welcome), Ended> {
    match timeout(CONNECT_TIMEOUT, open(config)).await {
        Ok(opened) => opened,
        Err(_) => Err(Ended::Lost(format!("no welcome from {} in time", config.url))),
    }
}

/// Runs a connection to its end; also returns how long the relay asks to stay away.
pub(super) async fn run(
    socket: Socket,
    welcome: &Welcome,
    desk: &Arc<Desk>,
) -> (Ended, Option<Duration>) {
    let (sink, stream) = socket.split();
    let session = Session {
        desk,
        welcome,
        settlements: Arc::new(Settlements::new(Arc::clone(&desk.changed))),
        retry_after: Mutex::new(None),
    };
    let ended = tokio::select! {
        ended = session.read(stream) => ended,
        ended = session.write(sink) => ended,
    };
    // The relay answers our own close with one of its own, which says nothing new.
    let ended = if desk.stop.is_cancelled() { Ended::Stopped(StopReason::Closed) } else { ended };
    (ended, session.draining())
}

async fn open(config: &Config) -> Result<(Socket, Welcome), Ended> {
    let mut request = request(&config.url).map_err(Ended::Stopped)?;
    let subprotocol = HeaderValue::from_static(im::SUBPROTOCOL);
    request.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, subprotocol);
    let limits = WebSocketConfig::default()
        .max_frame_size(Some(MAX_FRAME_BYTES))
        .max_message_size(Some(MAX_FRAME_BYTES));
    let lost = |err: tungstenite::Error| Ended::Lost(format!("{}: {}", config.url, reason(err)));
    let connecting = connect_async_with_config(request, Some(limits), true).await;
    let (mut socket, _) = connecting.map_err(lost)?;
    socket.send(text(&hello(config))).await.map_err(lost)?;
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(frame))) => match ServerFrame::parse(&frame) {
                Ok(ServerFrame::Welcome(welcome)) => return Ok((socket, welcome)),
                Ok(ServerFrame::Error(error)) => {
                    tracing::warn!(code = ?error.code, "the relay refuses the hello");
                }
                // A close frame tells what to do about a refusal; anything else is not for now.
                _ => {}
            },
            Some(Ok(Message::Close(frame))) => return Err(closed(frame)),
            Some(Ok(_)) => {}
            Some(Err(err)) => return Err(lost(err)),
            None => return Err(Ended::Lost("closed before the welcome".to_owned())),
        }
    }
}

/// Returns the opening request, if the address can be a relay's at all.
fn request(url: &str) -> Result<tungstenite::handshake::client::Request, StopReason> {
    let bad = |reason: String| StopReason::BadAddress(format!("{url} ({reason})"));
    let request = url.into_client_request().map_err(|err| bad(err.to_string()))?;
    match (request.uri().scheme_str(), request.uri().host()) {
        (Some("ws" | "wss"), Some(host)) if !host.is_empty() => Ok(request),
        _ => Err(bad("not ws:// or wss:// with a host".to_owned())),
    }
}

fn hello(config: &Config) -> ClientFrame {
    ClientFrame::Hello(im::Hello {
        v: im::VERSION,
        contact_id: config.contact_id.clone(),
        token: config.token.as_ref().map(|token| token.expose_secret().to_owned()),
        mode: config.mode,
        client: Some(config.client.clone()),
    })
}

/// What the reader and the writer of one connection share.
struct Session<'a> {
    desk: &'a Arc<Desk>,
    welcome: &'a Welcome,
    settlements: Arc<Settlements>,
    /// Set by the reader once the relay is going down: no sends any more, acknowledgments still.
    retry_after: Mutex<Option<Duration>>,
}

impl Session<'_> {
    async fn read(&self, mut stream: SplitStream<Socket>) -> Ended {
        let heartbeat = Duration::from_millis(self.welcome.heartbeat_ms).max(SHORTEST_HEARTBEAT);
        // Two pings may be missed; half of one more covers the way.
        let silence = heartbeat.saturating_mul(5) / 2;
        loop {
            let Ok(next) = timeout(silence, stream.next()).await else {
                return Ended::Lost(format!("silent for {silence:?}"));
            };
            match next {
                Some(Ok(Message::Text(frame))) => {
                    if let Err(why) = self.take(&frame) {
                        return Ended::Lost(why);
                    }
                }
                Some(Ok(Message::Close(frame))) => return closed(frame),
                // Pings are answered by the socket itself.
                Some(Ok(_)) => {}
                Some(Err(err)) => return Ended::Lost(reason(err)),
                None => return Ended::Lost("closed without a close frame".to_owned()),
            }
        }
    }

    /// Acts on one frame of the relay; an error ends the connection.
    fn take(&self, frame: &str) -> Result<(), String> {
        match ServerFrame::parse(frame) {
            Ok(ServerFrame::Accepted(accepted)) => self.desk.accepted(&accepted),
            Ok(ServerFrame::Message(message)) => {
                let limit = self.welcome.limits.max_in_flight;
                if !self.desk.deliver(message, &self.settlements, limit) {
                    return Err(format!("more than {limit} deliveries in flight"));
                }
            }
            Ok(ServerFrame::Notice(notice)) => self.desk.noticed(&notice),
            Ok(ServerFrame::Contacts(list)) => self.desk.contacts(&list.contacts),
            Ok(ServerFrame::Error(error)) => self.take_error(&error),
            Ok(ServerFrame::Welcome(_) | ServerFrame::Unknown) => {
                tracing::debug!("frame without a meaning here");
            }
            // What was in it is delivered again, if it was a delivery.
            Err(err) => tracing::warn!(reason = %err, "cannot read a frame of the relay"),
        }
        Ok(())
    }

    fn take_error(&self, error: &im::Error) {
        if error.code == im::ErrorCode::ShuttingDown {
            let pause = error.retry_after_ms.map_or(Duration::ZERO, Duration::from_millis);
            *self.retry_after.lock().unwrap_or_else(PoisonError::into_inner) = Some(pause);
        }
        match error.id {
            Some(id) => self.desk.refused(id, error),
            None => {
                tracing::warn!(code = ?error.code, reason = error.message, "error of the relay");
            }
        }
    }

    fn draining(&self) -> Option<Duration> {
        *self.retry_after.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn write(&self, mut sink: SplitSink<Socket, Message>) -> Ended {
        loop {
            if let Err(ended) = self.write_due(&mut sink).await {
                return ended;
            }
            if self.desk.stop.is_cancelled() {
                return close(sink).await;
            }
            tokio::select! {
                () = self.desk.changed.notified() => {}
                () = self.desk.stop.cancelled() => {}
                () = wait_until(self.desk.next_due_at()), if self.draining().is_none() => {}
            }
        }
    }

    /// Writes everything that is due, in one flush.
    async fn write_due(&self, sink: &mut SplitSink<Socket, Message>) -> Result<(), Ended> {
        for frame in self.settlements.take_frames() {
            in_time(sink.feed(text(&frame))).await?;
        }
        while !self.desk.stop.is_cancelled() && self.draining().is_none() {
            let max_content_bytes = self.welcome.limits.max_content_bytes;
            let Some(frame) = self.desk.next_frame(max_content_bytes) else { break };
            in_time(sink.feed(text(&frame))).await?;
        }
        in_time(sink.flush()).await
    }
}

/// Waits for one write, at most [`WRITE_TIMEOUT`].
async fn in_time(write: impl Future<Output = tungstenite::Result<()>>) -> Result<(), Ended> {
    match timeout(WRITE_TIMEOUT, write).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(err)) => Err(Ended::Lost(reason(err))),
        Err(_) => Err(Ended::Lost("the relay does not read".to_owned())),
    }
}

/// Says good-bye; the reader, still running, sees the relay's close and ends the session.
async fn close(mut sink: SplitSink<Socket, Message>) -> Ended {
    let frame = CloseFrame { code: im::close::NORMAL.into(), reason: "".into() };
    let closing = async {
        sink.send(Message::Close(Some(frame))).await?;
        std::future::pending::<tungstenite::Result<()>>().await
    };
    // Whatever goes wrong here, the client is closed.
    let _ = timeout(CLOSE_TIMEOUT, closing).await;
    Ended::Stopped(StopReason::Closed)
}

fn closed(frame: Option<CloseFrame>) -> Ended {
    let Some(frame) = frame else { return Ended::Lost("closed without a code".to_owned()) };
    let code = u16::from(frame.code);
    match StopReason::of_close(code, &frame.reason) {
        Some(reason) => Ended::Stopped(reason),
        None => Ended::Lost(format!("closed by the relay with code {code}: {}", frame.reason)),
    }
}

/// Returns what went wrong, without saying first that it is an I/O error.
fn reason(err: tungstenite::Error) -> String {
    match err {
        tungstenite::Error::Io(err) => err.to_string(),
        err => err.to_string(),
    }
}

async fn wait_until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

fn text(frame: &ClientFrame) -> Message {
    Message::text(frame.to_json())
}
