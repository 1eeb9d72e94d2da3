//! The HTTP side of the port: handshakes, health, contacts, and who is let in.

use protocol::im::SUBPROTOCOL;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::harness::Relay;

const HANDSHAKE: &str = "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
                         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// Sends one request; returns the whole answer, or its head when the protocol is switched.
async fn request(relay: &Relay, line: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(relay.addr).await.expect("the relay listens");
    let text = format!("{line} HTTP/1.1\r\n{headers}\r\n");
    stream.write_all(text.as_bytes()).await.expect("the relay reads");
    let mut answer = Vec::new();
    while !answer.starts_with(b"HTTP/1.1 101") || !answer.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut answer).await.expect("the relay answers") == 0 {
            break;
        }
    }
    String::from_utf8(answer).expect("an answer in UTF-8")
}

#[track_caller]
fn check(answer: &str, status: u16, part: &str) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    assert!(answer.contains(part), "{answer}");
}

#[tokio::test]
async fn a_good_handshake_is_accepted() {
    let relay =
        Relay::start(&["--im-origins", "https://ui.example", "--im-hosts", "relay.example"]).await;
    let answer = request(&relay, "GET /ws", &format!("Host: localhost\r\n{HANDSHAKE}")).await;
    check(&answer, 101, "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert!(!answer.contains("protocol"), "not offered, so not chosen: {answer}");
    let headers = format!(
        "Host: relay.example:1\r\nOrigin: https://ui.example\r\n\
         Sec-WebSocket-Protocol: other, {SUBPROTOCOL}\r\n\
         Sec-WebSocket-Extensions: permessage-deflate\r\n{HANDSHAKE}"
    );
    let answer = request(&relay, "GET /ws", &headers).await;
    check(&answer, 101, "sec-websocket-protocol: knowhub.im.v1");
    assert!(!answer.contains("deflate"), "no compression is negotiated: {answer}");
}

#[tokio::test]
async fn foreign_origins_and_hosts_are_refused_on_every_route() {
    let relay = Relay::start(&[]).await;
    for path in ["/ws", "/healthz", "/readyz", "/api/contacts"] {
        let line = format!("GET {path}");
        let foreign = "Host: localhost\r\nOrigin: https://evil.example\r\nConnection: close\r\n";
        check(&request(&relay, &line, foreign).await, 403, "Origin");
        let rebound = "Host: evil.example\r\nConnection: close\r\n";
        check(&request(&relay, &line, rebound).await, 403, "Host");
    }
}

#[tokio::test]
async fn a_bad_handshake_is_told_what_it_lacks() {
    let relay = Relay::start(&[]).await;
    let host = "Host: localhost\r\n";
    let without = |part: &str| {
        let kept: Vec<_> =
            HANDSHAKE.split_inclusive("\r\n").filter(|h| !h.starts_with(part)).collect();
        format!("{host}{}", kept.concat())
    };
    let close = "Host: localhost\r\nConnection: close\r\n";
    check(&request(&relay, "GET /ws", close).await, 426, "Upgrade: websocket");
    let ended = |headers: String| headers.replace("keep-alive", "close");
    check(&request(&relay, "GET /ws", &ended(without("Upgrade"))).await, 426, "Upgrade");
    check(&request(&relay, "GET /ws", &ended(without("Sec-WebSocket-V"))).await, 426, "must be 13");
    check(&request(&relay, "GET /ws", &ended(without("Sec-WebSocket-K"))).await, 400, "16 bytes");
    check(&request(&relay, "POST /ws", close).await, 405, "GET");
}

#[tokio::test]
async fn health_and_contacts_are_served() {
    let relay = Relay::start(&[]).await;
    let _alice = relay.connect("alice").await;
    let close = "Host: localhost\r\nConnection: close\r\n";
    check(&request(&relay, "GET /healthz", close).await, 200, r#"{"status":"ok"}"#);
    check(&request(&relay, "GET /readyz", close).await, 200, r#"{"status":"ready"}"#);
    let answer = request(&relay, "GET /api/contacts", close).await;
    check(&answer, 200, r#"{"contacts":[{"contact_id":"alice","online":true,"connections":1,"#);
}
