//! What is accepted arrives: at once, later, again, after a restart, in order.

use protocol::im::{Meta, Recipient, Send};

use crate::harness::{Relay, message};

#[tokio::test]
async fn two_contacts_exchange_messages() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let mut bob = relay.connect("bob").await;
    let meta = Meta::from_iter([("mode".to_owned(), "search".into())]);
    let ask = Send {
        chat_id: Some("chat 1".parse().unwrap()),
        meta: Some(meta.clone()),
        ..message("bob", "[ASK] 表格?\0\u{2028}\"\\")
    };
    let accepted = alice.send(ask.clone()).await;
    assert_eq!((accepted.id, accepted.duplicate), (ask.id, false));
    assert_eq!(accepted.recipient, Recipient::Online);

    let heard = bob.hear_message().await;
    assert_eq!((heard.seq, heard.id, heard.attempt), (1, ask.id, 1));
    assert_eq!((heard.from.as_str(), heard.to.as_str()), ("alice", "bob"));
    assert_eq!(heard.content, ask.content);
    assert_eq!((heard.chat_id, heard.meta), (ask.chat_id, Some(meta)));
    assert!(heard.expires_at > heard.sent_at);

    let reply = Send { in_reply_to: Some(ask.id), ..message("alice", "so") };
    bob.send(reply.clone()).await;
    bob.ack(&[1]).await;
    let heard = alice.hear_message().await;
    assert_eq!((heard.id, heard.in_reply_to), (reply.id, Some(ask.id)));
    relay.stop().await;
}

#[tokio::test]
async fn a_message_to_oneself_arrives() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    alice.send(message("alice", "note")).await;
    assert_eq!(alice.hear_message().await.content, "note");
}

#[tokio::test]
async fn what_waits_for_an_absent_recipient_arrives_in_order() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    for n in 0..50 {
        let accepted = alice.send(message("bob", &n.to_string())).await;
        assert_eq!(accepted.recipient, Recipient::Unknown);
    }
    let mut bob = relay.connect("bob").await;
    for n in 0..50 {
        let heard = bob.hear_message().await;
        assert_eq!((heard.seq, heard.content), (n + 1, n.to_string()));
    }
    bob.leave().await;
    assert_eq!(alice.send(message("bob", "late")).await.recipient, Recipient::Offline);
}

#[tokio::test]
async fn what_is_accepted_survives_a_restart() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let sent = message("bob", "keep this");
    alice.send(sent.clone()).await;

    let relay = relay.restart().await;
    let mut bob = relay.connect("bob").await;
    let heard = bob.hear_message().await;
    assert_eq!((heard.id, heard.content.as_str(), heard.attempt), (sent.id, "keep this", 1));

    let relay = relay.restart().await;
    let mut bob = relay.connect("bob").await;
    let heard = bob.hear_message().await;
    assert_eq!((heard.id, heard.attempt), (sent.id, 2), "unacknowledged, so delivered again");
    bob.ack(&[1]).await;
    bob.settle().await;

    let relay = relay.restart().await;
    relay.connect("bob").await.settle().await;
}

#[tokio::test]
async fn a_dropped_connection_gets_its_messages_again_ten_times_in_a_row() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    alice.send(message("bob", "one")).await;
    alice.send(message("bob", "two")).await;
    for attempt in 1..=10 {
        let mut bob = relay.connect("bob").await;
        for content in ["one", "two"] {
            let heard = bob.hear_message().await;
            assert_eq!((heard.content.as_str(), heard.attempt), (content, attempt));
        }
        drop(bob);
    }
}

#[tokio::test]
async fn acknowledged_deliveries_do_not_return_in_whatever_order() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    for n in 1..=3 {
        alice.send(message("bob", &n.to_string())).await;
    }
    let mut bob = relay.connect("bob").await;
    for _ in 1..=3 {
        bob.hear_message().await;
    }
    bob.ack(&[3, 1, 1]).await;
    bob.settle().await;
    bob.leave().await;
    let mut bob = relay.connect("bob").await;
    let heard = bob.hear_message().await;
    assert_eq!((heard.seq, heard.content.as_str(), heard.attempt), (1, "2", 2));
    bob.ack(&[1]).await;
    bob.settle().await;
}

#[tokio::test]
async fn given_back_messages_hold_up_their_chat_and_no_other() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let mut bob = relay.connect("bob").await;
    let chat = |chat: &str, content: &str| Send {
        chat_id: Some(chat.parse().unwrap()),
        ..message("bob", content)
    };
    alice.send(chat("a", "a1")).await;
    assert_eq!(bob.hear_message().await.content, "a1");
    bob.nak(&[1], Some(300)).await;
    bob.settle().await;
    alice.send(chat("a", "a2")).await;
    alice.send(chat("b", "b1")).await;
    let order = [bob.hear_message().await, bob.hear_message().await, bob.hear_message().await];
    let order = order.map(|heard| (heard.content, heard.attempt));
    assert_eq!(order, [("b1".into(), 1), ("a1".into(), 2), ("a2".into(), 1)]);
}

#[tokio::test]
async fn given_back_without_delay_comes_again_at_once() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let mut bob = relay.connect("bob").await;
    alice.send(message("bob", "one")).await;
    assert_eq!(bob.hear_message().await.seq, 1);
    bob.nak(&[1], None).await;
    let heard = bob.hear_message().await;
    assert_eq!((heard.seq, heard.attempt), (2, 2));
}
