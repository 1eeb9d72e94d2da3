//! What happens at each bound, and who is told.

use protocol::im::{ClientFrame, ErrorCode, NoticeCode, Send, close};
use tokio::io::AsyncReadExt;
use tokio_tungstenite::tungstenite::Message;

use crate::harness::{Relay, message};

#[tokio::test]
async fn the_sender_of_a_long_content_is_told() {
    let relay = Relay::start(&["--im-max-content-bytes", "1000"]).await;
    let mut alice = relay.connect("alice").await;
    let sent = message("bob", &"x".repeat(1001));
    alice.say(ClientFrame::Send(sent.clone())).await;
    let error = alice.hear_error().await;
    assert_eq!((error.code, error.id), (ErrorCode::TooLarge, Some(sent.id)));
    assert!(error.message.contains("content: 1001 bytes; at most 1000"), "{}", error.message);
    alice.send(message("bob", &"x".repeat(1000))).await;
}

#[tokio::test]
async fn a_frame_beyond_the_cap_closes_the_connection() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let sent = message("bob", &"x".repeat(1 << 20));
    alice.say(ClientFrame::Send(sent)).await;
    assert_eq!(alice.hear_error().await.code, ErrorCode::TooLarge);
    assert_eq!(alice.hear_close().await, close::TOO_BIG);
    relay.connect("alice").await.settle().await;
}

#[tokio::test]
async fn the_sender_to_a_full_mailbox_is_told() {
    let relay = Relay::start(&["--im-max-mailbox", "2"]).await;
    let mut alice = relay.connect("alice").await;
    let first = message("bob", "1");
    alice.send(first.clone()).await;
    alice.send(message("bob", "2")).await;
    let third = message("bob", "3");
    alice.say(ClientFrame::Send(third.clone())).await;
    let error = alice.hear_error().await;
    assert_eq!((error.code, error.id), (ErrorCode::MailboxFull, Some(third.id)));
    assert!(error.retry_after_ms.is_some());
    assert!(alice.send(first).await.duplicate, "a double takes no room");
    alice.send(message("carol", "elsewhere")).await;

    let mut bob = relay.connect("bob").await;
    bob.hear_message().await;
    bob.ack(&[1]).await;
    bob.hear_message().await;
    bob.settle().await;
    assert!(!alice.send(third).await.duplicate);
}

#[tokio::test]
async fn no_more_than_max_in_flight_is_pushed() {
    let relay = Relay::start(&["--im-max-in-flight", "2"]).await;
    let mut alice = relay.connect("alice").await;
    for n in 1..=4 {
        alice.send(message("bob", &n.to_string())).await;
    }
    let mut bob = relay.connect("bob").await;
    bob.hear_message().await;
    bob.hear_message().await;
    bob.settle().await;
    bob.ack(&[2]).await;
    assert_eq!(bob.hear_message().await.content, "3");
    bob.settle().await;
}

#[tokio::test]
async fn senders_take_turns() {
    let relay = Relay::start(&["--im-max-in-flight", "1"]).await;
    let mut loud = relay.connect("loud").await;
    let mut quiet = relay.connect("quiet").await;
    for n in 1..=20 {
        loud.send(message("bob", &format!("loud {n}"))).await;
    }
    quiet.send(message("bob", "quiet")).await;
    let mut bob = relay.connect("bob").await;
    assert_eq!(bob.hear_message().await.content, "loud 1");
    bob.ack(&[1]).await;
    assert_eq!(bob.hear_message().await.content, "quiet");
}

#[tokio::test]
async fn a_client_that_does_not_read_is_closed_and_holds_up_nobody() {
    let flags = ["--im-heartbeat-ms", "500", "--im-max-in-flight", "10000"];
    let relay = Relay::start(&flags).await;
    let mut alice = relay.connect("alice").await;
    let slow = relay.connect("slow").await;
    let content = "x".repeat(200_000);
    for _ in 0..60 {
        alice.send(message("slow", &content)).await;
    }
    let mut bob = relay.connect("bob").await;
    alice.send(message("bob", "quick")).await;
    assert_eq!(bob.hear_message().await.content, "quick");
    // Nothing moves on its socket any more, so it counts as dead although it is connected.
    while contacts_online(&mut alice, "slow").await {}
    drop(slow);
    let mut slow = relay.connect("slow").await;
    let heard = slow.hear_message().await;
    assert_eq!((heard.attempt, heard.content.len()), (2, 200_000));
}

async fn contacts_online(client: &mut crate::harness::Client, contact: &str) -> bool {
    client.say(ClientFrame::Contacts).await;
    let protocol::im::ServerFrame::Contacts(listing) = client.hear().await else {
        panic!("expected contacts")
    };
    listing.contacts.iter().any(|known| known.contact_id.as_str() == contact && known.online)
}

#[tokio::test]
async fn what_expires_is_told_to_its_sender_once() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let sent = Send { ttl_ms: Some(50), ..message("bob", "soon stale") };
    alice.send(sent.clone()).await;
    let notice = alice.hear_notice().await;
    assert_eq!((notice.id, notice.code), (sent.id, NoticeCode::Expired));
    assert_eq!(notice.to.as_str(), "bob");
    alice.settle().await;
    relay.connect("bob").await.settle().await;
}

#[tokio::test]
async fn a_notice_waits_for_a_sender_that_is_away_but_nobody_is_told_of_replies() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let sent = Send { ttl_ms: Some(50), ..message("bob", "soon stale") };
    let reply = Send { in_reply_to: Some(sent.id), ..sent.clone() };
    alice.send(Send { id: protocol::MessageId::random(), ..reply }).await;
    alice.send(sent.clone()).await;
    alice.leave().await;

    let relay = relay.restart().await;
    let mut alice = relay.connect("alice").await;
    assert_eq!(alice.hear_notice().await.id, sent.id);
    alice.settle().await;
    alice.leave().await;
    relay.connect("alice").await.settle().await;
}

#[tokio::test]
async fn a_held_message_does_not_expire() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let mut bob = relay.connect("bob").await;
    alice.send(Send { ttl_ms: Some(200), ..message("bob", "in work") }).await;
    bob.hear_message().await;
    // A second message with the same time to live is never delivered; its end shows that the time is over.
    let late = Send { ttl_ms: Some(200), ..message("nobody", "late") };
    alice.send(late.clone()).await;
    assert_eq!(alice.hear_notice().await.id, late.id);
    bob.ack(&[1]).await;
    bob.settle().await;
    alice.settle().await;
}

#[tokio::test]
async fn a_time_to_live_out_of_bounds_is_refused() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    // More often than there may be unanswered requests: each refusal is an answer.
    for ttl_ms in [0, u64::MAX].repeat(40) {
        let sent = Send { ttl_ms: Some(ttl_ms), ..message("bob", "x") };
        alice.say(ClientFrame::Send(sent.clone())).await;
        let error = alice.hear_error().await;
        assert_eq!((error.code, error.id), (ErrorCode::BadFrame, Some(sent.id)));
        assert!(error.message.contains("ttl_ms: 1 to"), "{}", error.message);
    }
}

#[tokio::test]
async fn an_overdue_delivery_closes_its_holder_and_all_it_held_moves() {
    let relay = Relay::start(&["--im-ack-wait-ms", "300"]).await;
    let mut alice = relay.connect("alice").await;
    let mut bob = relay.connect("bob").await;
    alice.send(message("bob", "hung")).await;
    alice.send(message("bob", "in work")).await;
    bob.hear_message().await;
    bob.hear_message().await;
    bob.working(&[2]).await;
    assert_eq!(bob.hear_close().await, close::ACK_OVERDUE);
    let mut bob = relay.connect("bob").await;
    for content in ["hung", "in work"] {
        let heard = bob.hear_message().await;
        assert_eq!((heard.content.as_str(), heard.attempt), (content, 2));
    }
}

#[tokio::test]
async fn a_client_that_answers_pings_stays_and_a_dead_one_goes() {
    let relay = Relay::start(&["--im-heartbeat-ms", "100"]).await;
    let mut alice = relay.connect("alice").await;
    let mut dead = relay.connect("dead").await;
    // Reading is what answers pings; one client reads nothing for as long as the other one reads three of them.
    for _ in 0..8 {
        let next = futures_util::StreamExt::next(&mut alice.socket).await;
        assert!(matches!(next, Some(Ok(Message::Ping(_)))), "{next:?}");
    }
    alice.settle().await;
    while contacts_online(&mut alice, "dead").await {}
    // Read past the library, which would answer the pings of a socket that is closed already.
    let mut last = Vec::new();
    dead.socket.get_mut().read_to_end(&mut last).await.unwrap();
    let close_frame = last.windows(2).any(|code| code == close::SLOW.to_be_bytes());
    assert!(close_frame, "{last:?}");
}
