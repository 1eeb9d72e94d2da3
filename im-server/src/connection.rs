//! One WebSocket connection, from its first frame to its close frame.
//!
//! Reading, writing and watching run side by side in one task, so that none of them waits for another:
//! a client is heard while it does not read, and answered while it sends.

mod farewell;
mod listen;
mod meter;

use std::time::Duration;

use futures_util::{Sink, SinkExt, Stream, StreamExt};
use protocol::im::{self, ClientFrame, ErrorCode, Hello, ServerFrame, close};
use tokio::{
    net::TcpStream,
    sync::{Semaphore, mpsc, oneshot},
    time::{Instant, MissedTickBehavior, interval_at},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        self, Message,
        protocol::{Role, WebSocketConfig},
    },
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use self::{
    listen::{expect_hello, next_frame},
    meter::{Meter, Metered},
};
use crate::{
    config::Limits,
    mailbox::{Closing, ConnectionId, Ending, MAX_NOTICES_AT_ONCE, error},
    relay::{Handle, Outbox},
};

// At trace, tungstenite logs whole frames, with what messages say and with tokens.
const _: () = assert!((log::STATIC_MAX_LEVEL as usize) < log::LevelFilter::Trace as usize);

/// How many of a client's requests are unanswered at once; past it the relay stops reading from its socket.
const MAX_UNANSWERED: usize = 32;

/// Room in an outbox for what answers no request; see [`outbox_capacity`].
const OUTBOX_SLACK: usize = 2 * MAX_NOTICES_AT_ONCE + 16;

/// How many frames are written before the socket is flushed.
const MAX_BURST: usize = 64;

/// How many pings in a row may go without a sign of life.
const MAX_MISSED: u32 = 2;

/// The read buffer of a connection; larger ones make idle connections expensive.
const READ_BUFFER_BYTES: usize = 4 << 10;

/// How much is collected before it is written, so that a burst of frames costs few system calls.
const WRITE_BUFFER_BYTES: usize = 16 << 10;

type Socket = WebSocketStream<Metered<TcpStream>>;

/// Holds one conversation; `leftover` is what the client sent right behind its handshake.
pub(crate) async fn run(
    stream: TcpStream,
    leftover: Vec<u8>,
    relay: Handle,
    limits: Limits,
    stop: CancellationToken,
) {
    let max = usize::try_from(limits.max_frame_bytes()).ok();
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_message_size(max)
        .max_frame_size(max);
    let (stream, meter) = Metered::new(stream);
    let mut socket =
        WebSocketStream::from_partially_read(stream, leftover, Role::Server, Some(config)).await;
    let id = ConnectionId(Uuid::new_v4());
    let hello = tokio::select! {
        hello = expect_hello(&mut socket) => hello,
        () = stop.cancelled() => Err(End::Close(Closing { code: close::GOING_AWAY, error: None })),
    };
    let end = match hello {
        Ok(hello) => {
            tracing::info!(
                connection.id = %id.0, contact.id = %hello.contact_id, mode = ?hello.mode,
                client = hello.client.as_deref(), "connected"
            );
            let (end, outbox) = converse(&mut socket, id, hello, &relay, limits, &meter).await;
            relay.disconnect(id, end.blame()).await;
            farewell::write_rest(&mut socket, outbox).await;
            end
        }
        Err(end) => end,
    };
    tracing::info!(connection.id = %id.0, end = %end, "disconnected");
    farewell::part(socket, end).await;
}

/// Why a conversation is over.
#[derive(Debug)]
enum End {
    /// The relay ends it.
    Close(Closing),
    /// The client said goodbye.
    Left,
    /// The socket failed, or ended without a close frame.
    Lost,
    /// Nothing came from the client for too long.
    Silent,
}

impl End {
    fn refuse(code: u16, error: im::Error) -> Self {
        Self::Close(Closing { code, error: Some(error) })
    }

    fn blame(&self) -> Ending {
        match self {
            Self::Close(_) | Self::Left => Ending::Closed,
            Self::Lost | Self::Silent => Ending::Lost,
        }
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Close(closing) => write!(f, "closed with {}", closing.code),
            Self::Left => f.write_str("left"),
            Self::Lost => f.write_str("lost"),
            Self::Silent => f.write_str("silent"),
        }
    }
}

/// Returns how the conversation ended, and what was still to be written.
async fn converse(
    socket: &mut Socket,
    id: ConnectionId,
    hello: Hello,
    relay: &Handle,
    limits: Limits,
    meter: &Meter,
) -> (End, mpsc::Receiver<Box<ServerFrame>>) {
    let (frames, mut outbox) = mpsc::channel(outbox_capacity(limits));
    let (closing, mut closed) = oneshot::channel();
    let (pings, due_pings) = mpsc::channel(1);
    // Permits come back when answers are written: a client that does not read its answers is not read either.
    let unanswered = Semaphore::new(MAX_UNANSWERED);
    let to_relay = Outbox { contact_id: hello.contact_id.clone(), frames: frames.clone(), closing };
    if relay.connect(id, hello, to_relay).await.is_err() {
        return (End::Close(Closing { code: close::GOING_AWAY, error: None }), outbox);
    }
    let (sink, source) = socket.split();
    let end = tokio::select! {
        biased;
        closing = &mut closed => End::Close(closing.unwrap_or(GOING_DOWN)),
        end = read(source, id, relay, &frames, &unanswered) => end,
        end = write(sink, &mut outbox, due_pings, &unanswered) => end,
        end = watch(meter, pings, limits.heartbeat) => end,
    };
    // What the relay said last is worth more than what the client did last.
    let end = closed.try_recv().map_or(end, End::Close);
    (end, outbox)
}

/// How a connection ends when the relay is gone.
const GOING_DOWN: Closing = Closing { code: close::GOING_AWAY, error: None };

/// What waits for a client at most: all that it may hold, all that it may have asked, and what comes unasked.
fn outbox_capacity(limits: Limits) -> usize {
    limits.max_in_flight as usize + MAX_UNANSWERED + OUTBOX_SLACK
}

async fn read(
    mut source: impl Stream<Item = tungstenite::Result<Message>> + Unpin,
    id: ConnectionId,
    relay: &Handle,
    answers: &mpsc::Sender<Box<ServerFrame>>,
    unanswered: &Semaphore,
) -> End {
    loop {
        let text = match next_frame(&mut source).await {
            Ok(text) => text,
            Err(end) => return end,
        };
        let parsed = ClientFrame::parse(&text);
        if matches!(parsed, Ok(ClientFrame::Send(_) | ClientFrame::Contacts) | Err(_)) {
            let permit = unanswered.acquire().await.expect("the semaphore is never closed");
            permit.forget();
        }
        let passed_on = match parsed {
            Ok(frame) => relay.pass_on(id, frame).await.is_ok(),
            Err(fault) => {
                let error = im::Error { id: fault.id, ..error(fault.code, fault.message) };
                answers.send(Box::new(ServerFrame::Error(error))).await.is_ok()
            }
        };
        if !passed_on {
            return End::Close(GOING_DOWN);
        }
    }
}

async fn write(
    mut sink: impl Sink<Message, Error = tungstenite::Error> + Unpin,
    outbox: &mut mpsc::Receiver<Box<ServerFrame>>,
    mut pings: mpsc::Receiver<()>,
    unanswered: &Semaphore,
) -> End {
    let mut burst = Vec::new();
    loop {
        tokio::select! {
            count = outbox.recv_many(&mut burst, MAX_BURST) => if count == 0 {
                return End::Close(GOING_DOWN);
            },
            Some(()) = pings.recv() => {
                if sink.feed(Message::Ping(tungstenite::Bytes::new())).await.is_err() {
                    return End::Lost;
                }
            }
        }
        let answers = burst.iter().filter(|frame| is_answer(frame)).count();
        for frame in burst.drain(..) {
            if sink.feed(Message::text(frame.to_json())).await.is_err() {
                return End::Lost;
            }
        }
        if sink.flush().await.is_err() {
            return End::Lost;
        }
        unanswered.add_permits(answers);
    }
}

/// Whether a frame answers something that [`read`] took a permit for.
fn is_answer(frame: &ServerFrame) -> bool {
    match frame {
        ServerFrame::Accepted(_) | ServerFrame::Contacts(_) => true,
        // All errors are answers, except the word that the relay goes down.
        ServerFrame::Error(error) => error.code != ErrorCode::ShuttingDown || error.id.is_some(),
        _ => false,
    }
}

/// Pings, and returns once the client gave no sign of life for too long.
async fn watch(meter: &Meter, pings: mpsc::Sender<()>, heartbeat: Duration) -> End {
    let mut beats = interval_at(Instant::now() + heartbeat, heartbeat);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut missed = 0;
    loop {
        beats.tick().await;
        missed = if meter.take() { 0 } else { missed + 1 };
        if missed >= MAX_MISSED {
            return End::Silent;
        }
        // A ping that still waits to be written need not be doubled.
        let _ = pings.try_send(());
    }
}
