//! Taking in what a client sends: the first frame, any frame, and what is no frame.

use std::time::Duration;

use futures_util::{Stream, StreamExt};
use protocol::im::{self, ClientFrame, ErrorCode, Hello, close};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes, error::ProtocolError};

use super::{End, Socket};
use crate::mailbox::error;

/// How long a client may take to say `hello`; then it is disconnected (4001).
const HELLO_DEADLINE: Duration = Duration::from_secs(5);

/// Waits for the frame that must come first.
pub(super) async fn expect_hello(socket: &mut Socket) -> Result<Hello, End> {
    let Ok(frame) = timeout(HELLO_DEADLINE, next_frame(socket)).await else {
        let text = format!("hello must come within {} s", HELLO_DEADLINE.as_secs());
        return Err(End::refuse(close::SLOW, error(ErrorCode::NotReady, text)));
    };
    let frame = frame?;
    match ClientFrame::parse(&frame) {
        Ok(ClientFrame::Hello(hello)) if hello.v == im::VERSION => Ok(hello),
        Ok(ClientFrame::Hello(hello)) => {
            let text = format!("v: {}; this relay speaks {}", hello.v, im::VERSION);
            let error = error(ErrorCode::UnsupportedVersion, text);
            Err(End::refuse(close::UNSUPPORTED_VERSION, error))
        }
        Ok(_) => {
            let error = error(ErrorCode::NotReady, "the first frame must be hello");
            Err(End::refuse(close::POLICY, error))
        }
        Err(fault) => Err(End::refuse(close::POLICY, error(fault.code, fault.message))),
    }
}

/// Returns the next text frame; what is no text frame ends the conversation.
pub(super) async fn next_frame(
    source: &mut (impl Stream<Item = tungstenite::Result<Message>> + Unpin),
) -> Result<Utf8Bytes, End> {
    loop {
        match source.next().await {
            Some(Ok(Message::Text(text))) => return Ok(text),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Ok(Message::Binary(_))) => {
                let error = error(ErrorCode::BadFrame, "frames must be text, not binary");
                return Err(End::refuse(close::UNSUPPORTED_DATA, error));
            }
            Some(Ok(Message::Close(_))) => return Err(End::Left),
            Some(Err(err)) => return Err(end_of(&err)),
            None => return Err(End::Lost),
        }
    }
}

/// Says which close code a failure of the WebSocket layer gets.
fn end_of(err: &tungstenite::Error) -> End {
    use tungstenite::Error;
    match err {
        Error::Capacity(_) => {
            let error = error(ErrorCode::TooLarge, "the frame is too large");
            End::refuse(close::TOO_BIG, error)
        }
        Error::Utf8(_) => {
            let error = error(ErrorCode::BadFrame, "the frame is not UTF-8");
            End::refuse(close::INVALID_UTF8, error)
        }
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => End::Lost,
        Error::Protocol(err) => {
            End::refuse(close::PROTOCOL, error(ErrorCode::BadFrame, err.to_string()))
        }
        Error::ConnectionClosed | Error::AlreadyClosed => End::Left,
        _ => End::Lost,
    }
}
