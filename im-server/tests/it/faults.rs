//! What must never hurt the relay: each gets its error and its close code, and the relay lives on.

use std::io::ErrorKind;

use protocol::im::{ClientFrame, ErrorCode, Mode, close};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::tungstenite::{
    Message,
    protocol::frame::{
        Frame,
        coding::{Data, OpCode},
    },
};

use crate::harness::{Client, Relay, hello, message};

#[tokio::test]
async fn whatever_comes_before_hello_closes_the_connection() {
    let relay = Relay::start(&[]).await;
    let cases = [
        (r#"{"type":"contacts"}"#, ErrorCode::NotReady, close::POLICY),
        (r#"{"type":"ack","seqs":[1]}"#, ErrorCode::NotReady, close::POLICY),
        ("", ErrorCode::BadFrame, close::POLICY),
        ("{", ErrorCode::BadFrame, close::POLICY),
        (r#"{"type":"hello","v":1}"#, ErrorCode::BadFrame, close::POLICY),
        (r#"{"type":"hello","v":1,"contact_id":"a\u0000b"}"#, ErrorCode::BadFrame, close::POLICY),
        (r#"{"type":"hello","v":1,"contact_id":"a\u2028b"}"#, ErrorCode::BadFrame, close::POLICY),
        (r#"{"type":"hello","v":1,"contact_id":""}"#, ErrorCode::BadFrame, close::POLICY),
        (r#"{"type":"hello","v":1e400,"contact_id":"a"}"#, ErrorCode::BadFrame, close::POLICY),
        (
            r#"{"type":"hello","v":2,"contact_id":"a"}"#,
            ErrorCode::UnsupportedVersion,
            close::UNSUPPORTED_VERSION,
        ),
    ];
    for (text, error, code) in cases {
        let mut client = relay.open().await;
        client.say_raw(text).await;
        assert_eq!(client.hear_error().await.code, error, "{text}");
        assert_eq!(client.hear_close().await, code, "{text}");
    }
    relay.connect("alive").await.settle().await;
}

#[tokio::test]
async fn a_bad_frame_is_answered_and_the_connection_stays() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let id = "9f4bd5a2-1f0c-4c39-9d8c-0f7f7a1c2b3d";
    let deep = format!(
        r#"{{"type":"send","id":"{id}","to":"b","content":"","meta":{}{}}}"#,
        r#"{"a":"#.repeat(10_000),
        "}".repeat(10_000)
    );
    let cases = [
        "",
        "null",
        "[]",
        r#"{"type":"dance"}"#,
        r#"{"type":"send"}"#,
        r#"{"type":"ack","seqs":[-1]}"#,
        r#"{"type":"ack","seqs":[1e400]}"#,
        r#"{"type":"nak","seqs":"1"}"#,
        r#"{"type":"contacts","type":"contacts"}"#,
        &deep,
        &format!(r#"{{"type":"send","id":"{id}","to":"b","to":"c","content":""}}"#),
        &format!(r#"{{"type":"send","id":"{id}","to":"b\u0000","content":""}}"#),
        &format!(r#"{{"type":"send","id":"{id}","to":"b","content":"","ttl_ms":1e400}}"#),
    ];
    // More faults than there may be unanswered requests: each error is an answer.
    for text in cases.repeat(10) {
        alice.say_raw(text).await;
        let error = alice.hear_error().await;
        assert_eq!(error.code, ErrorCode::BadFrame, "{text:.80}");
        assert!(!error.message.is_empty());
    }
    alice.settle().await;
}

#[tokio::test]
async fn an_error_names_the_message_it_is_about() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let sent = message("bob", "x");
    let text = ClientFrame::Send(sent.clone()).to_json().replace("bob", "not a contact");
    alice.say_raw(&text).await;
    let error = alice.hear_error().await;
    assert_eq!(error.id, Some(sent.id));
    assert!(error.message.starts_with("send frame: "), "{}", error.message);
}

#[tokio::test]
async fn breaking_a_rule_closes_the_connection() {
    let relay = Relay::start(&[]).await;
    for text in [
        &hello("alice", Mode::Exclusive).to_json(),
        r#"{"type":"ack","seqs":[1]}"#,
        r#"{"type":"working","seqs":[0]}"#,
        r#"{"type":"nak","seqs":[18446744073709551615]}"#,
        r#"{"type":"nak","seqs":[],"delay_ms":3600001}"#,
    ] {
        let mut alice = relay.connect("alice").await;
        alice.say_raw(text).await;
        assert_eq!(alice.hear_error().await.code, ErrorCode::BadFrame, "{text}");
        assert_eq!(alice.hear_close().await, close::POLICY, "{text}");
    }
    relay.connect("alive").await.settle().await;
}

#[tokio::test]
async fn faults_of_the_websocket_layer_get_their_close_codes() {
    let relay = Relay::start(&[]).await;
    let text = |payload: &'static [u8]| {
        Message::Frame(Frame::message(payload, OpCode::Data(Data::Text), true))
    };
    let lone_end = Message::Frame(Frame::message("x", OpCode::Data(Data::Continue), true));
    let cases = [
        (Message::binary("x"), close::UNSUPPORTED_DATA),
        (text(b"\xff\xfe"), close::INVALID_UTF8),
        (lone_end, close::PROTOCOL),
    ];
    for (frame, code) in cases {
        let mut alice = relay.connect("alice").await;
        alice.put(frame).await;
        assert_eq!(alice.hear_error().await.code, ErrorCode::BadFrame);
        assert_eq!(alice.hear_close().await, code);
    }
    relay.connect("alive").await.settle().await;
}

#[tokio::test]
async fn a_length_header_of_eight_gibibytes_is_refused_at_once() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let header = [0x81, 0xff, 0, 0, 0, 2, 0, 0, 0, 0, 1, 2, 3, 4];
    alice.socket.get_mut().write_all(&header).await.unwrap();
    assert_eq!(alice.hear_error().await.code, ErrorCode::TooLarge);
    assert_eq!(alice.hear_close().await, close::TOO_BIG);
}

#[tokio::test]
async fn fragments_and_single_bytes_make_one_frame() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let text = r#"{"type":"contacts"}"#;
    for (n, byte) in text.bytes().enumerate() {
        let code = OpCode::Data(if n == 0 { Data::Text } else { Data::Continue });
        let frame = Frame::message(vec![byte], code, n + 1 == text.len());
        alice.put(Message::Frame(frame)).await;
    }
    hear_contacts(&mut alice).await;
}

async fn hear_contacts(client: &mut Client) {
    let frame = client.hear().await;
    assert!(matches!(frame, protocol::im::ServerFrame::Contacts(_)), "{frame:?}");
}

#[tokio::test]
async fn a_handshake_cut_short_and_garbage_hurt_nobody() {
    let relay = Relay::start(&[]).await;
    let mut half = tokio::net::TcpStream::connect(relay.addr).await.unwrap();
    half.write_all(b"GET /ws HTTP/1.1\r\nHost: localhost\r\n").await.unwrap();
    let mut garbage = tokio::net::TcpStream::connect(relay.addr).await.unwrap();
    garbage.write_all(b"\x16\x03\x01\x00\x00\r\n\r\n").await.unwrap();
    relay.connect("alive").await.settle().await;
    let mut answer = Vec::new();
    match garbage.read_to_end(&mut answer).await {
        Ok(_) => assert!(answer.starts_with(b"HTTP/1.1 400"), "{answer:?}"),
        Err(err) => assert_eq!(err.kind(), ErrorKind::ConnectionReset),
    }
}

#[tokio::test]
async fn a_client_that_says_nothing_is_disconnected() {
    let relay = Relay::start(&[]).await;
    let mut mute = relay.open().await;
    assert_eq!(mute.hear_error().await.code, ErrorCode::NotReady);
    assert_eq!(mute.hear_close().await, close::SLOW);
}
