//! The end of a connection: whatever is left to say, a close frame that really leaves, and a clean shutdown.
//!
//! Closing a socket with unread input resets it, and a reset destroys what was sent but not yet received;
//! so the write side is shut down first, and what still comes in is read and thrown away for a moment.

use std::time::Duration;

use futures_util::SinkExt;
use protocol::im::{ServerFrame, close};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::mpsc,
    time::timeout,
};
use tokio_tungstenite::tungstenite::{Message, protocol::CloseFrame};

use super::{End, Socket};
use crate::mailbox::Closing;

/// How long the last frames may take; a client that does not read them learns nothing.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How long the relay waits for the client to close its side.
const DRAIN: Duration = Duration::from_millis(500);

/// Writes the frames that an ended conversation left in its outbox.
pub(super) async fn write_rest(socket: &mut Socket, mut outbox: mpsc::Receiver<Box<ServerFrame>>) {
    outbox.close();
    let write = async {
        while let Some(frame) = outbox.recv().await {
            socket.feed(Message::text(frame.to_json())).await?;
        }
        socket.flush().await
    };
    // The client may be gone, or not read: then all this is delivered again, or asked again.
    let _ = timeout(LAST_WORDS, write).await;
}

/// Ends the WebSocket and then the socket under it.
pub(super) async fn part(mut socket: Socket, end: End) {
    let closing = match end {
        End::Close(closing) => Some(closing),
        End::Silent => Some(Closing { code: close::SLOW, error: None }),
        // The answer to its close frame is in the buffer already.
        End::Left => None,
        End::Lost => return,
    };
    // From here on it no longer matters to anybody whether the client is there.
    let _ = timeout(LAST_WORDS, say_goodbye(&mut socket, closing)).await;
    let stream = socket.get_mut();
    let _ = timeout(DRAIN, async {
        stream.shutdown().await?;
        let mut sink = [0; 4096];
        while stream.read(&mut sink).await? > 0 {}
        std::io::Result::Ok(())
    })
    .await;
}

async fn say_goodbye(
    socket: &mut Socket,
    closing: Option<Closing>,
) -> Result<(), tokio_tungstenite::tungstenite::Error> {
    let Some(closing) = closing else { return socket.flush().await };
    if let Some(error) = closing.error {
        socket.feed(Message::text(ServerFrame::Error(error).to_json())).await?;
    }
    let frame = CloseFrame { code: closing.code.into(), reason: reason(closing.code).into() };
    socket.close(Some(frame)).await
}

/// Returns what a person reads beside a close code.
fn reason(code: u16) -> &'static str {
    match code {
        close::GOING_AWAY => "the relay is going down",
        close::PROTOCOL => "WebSocket protocol violated",
        close::UNSUPPORTED_DATA => "binary frames are not supported",
        close::INVALID_UTF8 => "text frame is not UTF-8",
        close::POLICY => "protocol rule broken",
        close::TOO_BIG => "frame too large",
        close::SLOW => "too slow",
        close::ACK_OVERDUE => "ack overdue",
        close::REPLACED => "replaced by a newer connection",
        close::UNSUPPORTED_VERSION => "unsupported version",
        close::MODE_CONFLICT => "online in the other mode",
        _ => "",
    }
}
