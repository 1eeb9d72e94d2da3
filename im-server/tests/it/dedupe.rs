//! One id is one message.

use protocol::im::{ClientFrame, ErrorCode, Send, ServerFrame};

use crate::harness::{Relay, message};

#[tokio::test]
async fn a_message_sent_twice_is_delivered_once() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let mut bob = relay.connect("bob").await;
    let sent = message("bob", "one");
    assert!(!alice.send(sent.clone()).await.duplicate);
    assert!(alice.send(sent.clone()).await.duplicate);
    bob.hear_message().await;
    bob.ack(&[1]).await;
    bob.settle().await;
    assert!(alice.send(sent.clone()).await.duplicate, "also after it is settled");
    bob.settle().await;

    let relay = relay.restart().await;
    let mut alice = relay.connect("alice").await;
    assert!(alice.send(sent).await.duplicate, "also after a restart");
    relay.connect("bob").await.settle().await;
}

#[tokio::test]
async fn doubles_within_one_commit_are_seen() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let (a, b) = (message("bob", "a"), message("bob", "b"));
    for sent in [&a, &b, &a, &b, &a] {
        alice.say(ClientFrame::Send(sent.clone())).await;
    }
    let mut duplicates = Vec::new();
    for _ in 0..5 {
        duplicates.push(alice.hear_accepted().await.duplicate);
    }
    assert_eq!(duplicates, [false, false, true, true, true]);
    let mut bob = relay.connect("bob").await;
    assert_eq!(bob.hear_message().await.id, a.id);
    assert_eq!(bob.hear_message().await.id, b.id);
    bob.settle().await;
}

#[tokio::test]
async fn the_same_id_for_something_else_is_a_conflict() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let sent = message("bob", "one");
    alice.send(sent.clone()).await;
    let changed = [
        Send { content: "two".into(), ..sent.clone() },
        Send { to: "carol".parse().unwrap(), ..sent.clone() },
        Send { chat_id: Some("c".parse().unwrap()), ..sent.clone() },
        Send { in_reply_to: Some(sent.id), ..sent.clone() },
    ];
    for other in changed {
        alice.say(ClientFrame::Send(other)).await;
        let error = alice.hear_error().await;
        assert_eq!((error.code, error.id), (ErrorCode::IdConflict, Some(sent.id)));
    }
    assert!(alice.send(Send { ttl_ms: Some(5), ..sent.clone() }).await.duplicate);
    let mut carol = relay.connect("carol").await;
    assert!(!carol.send(sent).await.duplicate, "ids are per sender");
}

#[tokio::test]
async fn requests_are_answered_in_order_however_many_come_at_once() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let sent: Vec<_> = (0..500).map(|n| message("bob", &n.to_string())).collect();
    let (mut sink, mut source) = futures_util::StreamExt::split(&mut alice.socket);
    let say = async {
        for send in &sent {
            let text = ClientFrame::Send(send.clone()).to_json();
            let frame = tokio_tungstenite::tungstenite::Message::text(text);
            futures_util::SinkExt::send(&mut sink, frame).await.unwrap();
        }
    };
    let hear = async {
        for send in &sent {
            let frame = futures_util::StreamExt::next(&mut source).await.unwrap().unwrap();
            match ServerFrame::parse(frame.to_text().unwrap()).unwrap() {
                ServerFrame::Accepted(accepted) => assert_eq!(accepted.id, send.id),
                other => panic!("expected accepted, got {other:?}"),
            }
        }
    };
    tokio::join!(say, hear);
}
