//! From an HTTP request to a WebSocket connection.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use hyper_util::rt::TokioIo;
use protocol::im;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::App;
use crate::connection;

/// Answers `/ws`: switches protocols and starts the conversation, or says what the request lacks.
pub(super) async fn open_connection(State(app): State<App>, mut request: Request) -> Response {
    let key = match check(request.method(), request.headers()) {
        Ok(key) => key,
        Err(refusal) => return refusal.into_response(),
    };
    let accept = derive_accept_key(key.as_bytes());
    let offers_ours = offers(request.headers(), &header::SEC_WEBSOCKET_PROTOCOL, im::SUBPROTOCOL);
    let upgrade = hyper::upgrade::on(&mut request);
    app.connections.clone().spawn(async move {
        let upgraded = match upgrade.await {
            Ok(upgraded) => upgraded,
            Err(err) => return tracing::debug!(error = %err, "upgrade failed"),
        };
        let parts = upgraded
            .downcast::<service::http::Io>()
            .expect("the accept loop hands out plain TCP streams");
        let stream = TokioIo::into_inner(parts.io);
        let leftover = parts.read_buf.into();
        connection::run(stream, leftover, app.relay, app.limits, app.stop).await;
    });
    let mut response = (
        StatusCode::SWITCHING_PROTOCOLS,
        [
            (header::CONNECTION, HeaderValue::from_static("Upgrade")),
            (header::UPGRADE, HeaderValue::from_static("websocket")),
        ],
        [(header::SEC_WEBSOCKET_ACCEPT, accept)],
    )
        .into_response();
    if offers_ours {
        let protocol = HeaderValue::from_static(im::SUBPROTOCOL);
        response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    response
}

/// Why a request opens no WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    Method,
    Upgrade,
    Version,
    Key,
}

fn check<'a>(method: &Method, headers: &'a HeaderMap) -> Result<&'a str, Refusal> {
    if *method != Method::GET {
        return Err(Refusal::Method);
    }
    if !offers(headers, &header::CONNECTION, "upgrade")
        || !offers(headers, &header::UPGRADE, "websocket")
    {
        return Err(Refusal::Upgrade);
    }
    if !offers(headers, &header::SEC_WEBSOCKET_VERSION, "13") {
        return Err(Refusal::Version);
    }
    let key = headers.get(header::SEC_WEBSOCKET_KEY).and_then(|key| key.to_str().ok());
    key.filter(|key| is_key(key)).ok_or(Refusal::Key)
}

/// Whether a header, which may be a list and stand there several times, has this element.
fn offers(headers: &HeaderMap, name: &header::HeaderName, wanted: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|part| part.trim().eq_ignore_ascii_case(wanted))
}

/// Whether a text looks like 16 bytes in base64.
fn is_key(text: &str) -> bool {
    let is_digit = |b: u8| b.is_ascii_alphanumeric() || b == b'+' || b == b'/';
    text.strip_suffix("==").is_some_and(|digits| digits.len() == 22 && digits.bytes().all(is_digit))
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, text) = match self {
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, "open the WebSocket with GET"),
            Self::Upgrade => (
                StatusCode::UPGRADE_REQUIRED,
                "this is a WebSocket: send Connection: Upgrade and Upgrade: websocket",
            ),
            Self::Version => (StatusCode::UPGRADE_REQUIRED, "Sec-WebSocket-Version must be 13"),
            Self::Key => (StatusCode::BAD_REQUEST, "Sec-WebSocket-Key must be 16 bytes in base64"),
        };
        let headers = [
            (header::UPGRADE, HeaderValue::from_static("websocket")),
            (header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13")),
        ];
        (status, headers, format!("{text}\n")).into_response()
    }
}
