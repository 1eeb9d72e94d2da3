//! Handing messages over.

use std::time::Duration;

use agent_tools::im::{Outgoing, SendError};
use protocol::im::{ErrorCode, Recipient};

use crate::scripted_relay::{PATIENCE, Relay, librarian};

#[tokio::test]
async fn every_field_arrives() {
    let relay = Relay::start().await;
    let (client, _inbox, mut peer) = relay.connect().await;
    let mut message = Outgoing::new(librarian(), "text");
    message.chat_id = Some("chat".parse().unwrap());
    message.in_reply_to = Some(protocol::MessageId::random());
    message.ttl = Some(Duration::from_secs(3));
    message.meta = Some([("k".to_owned(), 1.into())].into_iter().collect());
    let (accepted, send) = tokio::join!(client.send(message.clone(), PATIENCE), async {
        let send = peer.hear_send().await;
        peer.accept(&send, Recipient::Offline).await;
        send
    });
    assert_eq!(accepted.unwrap().recipient, Recipient::Offline);
    assert_eq!((send.id, send.to, send.content), (message.id, message.to, message.content));
    assert_eq!((send.chat_id, send.in_reply_to), (message.chat_id, message.in_reply_to));
    assert_eq!((send.ttl_ms, send.meta), (Some(3000), message.meta));
}

#[tokio::test]
async fn what_was_not_accepted_is_sent_again_under_the_same_id_in_order() {
    let relay = Relay::start().await;
    let (client, _inbox, mut peer) = relay.connect().await;
    let messages = ["a", "b", "c"].map(|text| Outgoing::new(librarian(), text));
    let [a, b, c] = messages.clone().map(|message| client.send(message, PATIENCE));
    let (a, b, c, ()) = tokio::join!(a, b, c, async {
        let first = peer.hear_send().await;
        peer.hear_send().await;
        peer.hear_send().await;
        peer.accept(&first, Recipient::Online).await;
        // Without a close frame, as a cable is cut.
        drop(peer);
        let mut peer = relay.accept().await;
        for expected in &messages[1..] {
            let again = peer.hear_send().await;
            assert_eq!((again.id, &again.content), (expected.id, &expected.content));
            peer.accept(&again, Recipient::Online).await;
        }
    });
    assert_eq!([a, b, c].map(|accepted| accepted.unwrap().id), messages.map(|message| message.id));
    assert_eq!(client.open_counts(), (0, 0));
}

#[tokio::test]
async fn a_refusal_for_now_is_tried_again() {
    let relay = Relay::start().await;
    let (client, _inbox, mut peer) = relay.connect().await;
    for code in [ErrorCode::MailboxFull, ErrorCode::RateLimited, ErrorCode::Unavailable] {
        let message = Outgoing::new(librarian(), "x");
        let (accepted, ()) = tokio::join!(client.send(message, PATIENCE), async {
            let send = peer.hear_send().await;
            peer.refuse(send.id, code, 1).await;
            let again = peer.hear_send().await;
            assert_eq!(again.id, send.id);
            peer.accept(&again, Recipient::Online).await;
        });
        accepted.unwrap();
    }
}

#[tokio::test]
async fn a_refusal_for_good_is_told_at_once() {
    let relay = Relay::start().await;
    let (client, _inbox, mut peer) = relay.connect().await;
    for code in [ErrorCode::IdConflict, ErrorCode::TooLarge, ErrorCode::BadFrame] {
        let (outcome, ()) =
            tokio::join!(client.send(Outgoing::new(librarian(), "x"), PATIENCE), async {
                let send = peer.hear_send().await;
                peer.refuse(send.id, code, 0).await;
            });
        assert!(matches!(outcome, Err(SendError::Refused(error)) if error.code == code));
    }
}

#[tokio::test]
async fn what_is_too_large_does_not_leave() {
    let relay = Relay::start().await;
    let (client, _inbox, mut peer) = relay.connect().await;
    let outcome = client.send(Outgoing::new(librarian(), "x".repeat(1001)), PATIENCE).await;
    let Err(SendError::Refused(error)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(error.code, ErrorCode::TooLarge);
    assert_eq!(error.message, "content: 1001 bytes; at most 1000 are allowed");
    let (accepted, ()) =
        tokio::join!(client.send(Outgoing::new(librarian(), "fits"), PATIENCE), async {
            let send = peer.hear_send().await;
            assert_eq!(send.content, "fits");
            peer.accept(&send, Recipient::Online).await;
        });
    accepted.unwrap();
}

#[tokio::test]
async fn patience_ends_with_the_last_word() {
    let relay = Relay::start().await;
    let (client, _inbox, mut peer) = relay.connect().await;
    let patience = Duration::from_millis(50);
    let (outcome, send) =
        tokio::join!(client.send(Outgoing::new(librarian(), "x"), patience), peer.hear_send());
    assert_eq!(outcome, Err(SendError::Deadline));
    let (outcome, ()) =
        tokio::join!(client.send(Outgoing::new(librarian(), "y"), patience), async {
            let send = peer.hear_send().await;
            peer.refuse(send.id, ErrorCode::MailboxFull, 60_000).await;
        });
    assert!(
        matches!(outcome, Err(SendError::Refused(error)) if error.code == ErrorCode::MailboxFull)
    );
    // The late answer finds nobody, and does no harm.
    peer.accept(&send, Recipient::Online).await;
    assert_eq!(client.open_counts(), (0, 0));
}
