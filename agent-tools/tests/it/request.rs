//! Requests and the replies that belong to them.

use std::time::{Duration, Instant};

use agent_tools::im::{Client, Outgoing, RequestError};
use futures_util::future::join_all;
use protocol::{
    MessageId,
    im::{ErrorCode, Message, Notice, NoticeCode, Recipient, ServerFrame},
};

use crate::scripted_relay::{LONG, PATIENCE, Peer, Relay, librarian, news, reply};

async fn ask(client: &Client, text: &str) -> Result<Message, RequestError> {
    client.request(Outgoing::new(librarian(), text), PATIENCE).await
}

async fn ask_in(client: &Client, chat: &str, patience: Duration) -> Result<Message, RequestError> {
    let mut message = Outgoing::new(librarian(), chat);
    message.chat_id = Some(chat.parse().unwrap());
    client.request(message, patience).await
}

#[tokio::test]
async fn replies_that_cross_find_their_requests() {
    let relay = Relay::start().await;
    let (client, _inbox, mut peer) = relay.connect().await;
    let (first, second, ()) = tokio::join!(ask(&client, "one"), ask(&client, "two"), async {
        let mut sends = [peer.hear_send().await, peer.hear_send().await];
        sends.sort_by(|a, b| a.content.cmp(&b.content));
        let [one, two] = sends;
        peer.accept(&one, Recipient::Online).await;
        peer.accept(&two, Recipient::Online).await;
        peer.deliver(reply(1, &two, "to two")).await;
        peer.deliver(reply(2, &one, "to one")).await;
    });
    assert_eq!(first.unwrap().content, "to one");
    assert_eq!(second.unwrap().content, "to two");
    assert_eq!(acked(&mut peer, 2).await, [1, 2]);
    assert_eq!(client.open_counts(), (0, 0));
}

/// Returns the next `count` deliveries acknowledged, in however many frames they come.
async fn acked(peer: &mut Peer, count: usize) -> Vec<u64> {
    let mut seqs = Vec::new();
    while seqs.len() < count {
        seqs.extend(peer.hear_ack().await);
    }
    seqs
}

#[tokio::test]
async fn a_reply_without_in_reply_to_is_matched_by_sender_and_chat() {
    let relay = Relay::start().await;
    let (client, mut inbox, mut peer) = relay.connect().await;
    let (a, b, ()) =
        tokio::join!(ask_in(&client, "a", PATIENCE), ask_in(&client, "b", PATIENCE), async {
            let sends = [peer.hear_send().await, peer.hear_send().await];
            let b = sends.iter().find(|send| send.content == "b").unwrap();
            // It names no chat either, and could be meant for both: it settles neither.
            peer.deliver(news(1, "whose?")).await;
            peer.deliver(Message { in_reply_to: None, ..reply(2, b, "to b") }).await;
            // Now only one is left.
            peer.deliver(news(3, "to a")).await;
        });
    assert_eq!(a.unwrap().content, "to a");
    assert_eq!(b.unwrap().content, "to b");
    assert_eq!(inbox.next().await.unwrap().message.content, "whose?");
}

#[tokio::test]
async fn only_the_one_who_was_asked_can_answer() {
    let relay = Relay::start().await;
    let (client, mut inbox, mut peer) = relay.connect().await;
    let (answer, ()) = tokio::join!(ask(&client, "x"), async {
        let send = peer.hear_send().await;
        let forged = Message { from: "mallory".parse().unwrap(), ..reply(1, &send, "forged") };
        peer.deliver(forged).await;
        peer.deliver(reply(2, &send, "genuine")).await;
    });
    assert_eq!(answer.unwrap().content, "genuine");
    assert_eq!(inbox.next().await.unwrap().message.content, "forged");
}

#[tokio::test]
async fn a_late_reply_settles_nothing_and_is_acknowledged() {
    let relay = Relay::start().await;
    let (client, mut inbox, mut peer) = relay.connect().await;
    let short = Duration::from_millis(50);
    let (timed_out, late) = tokio::join!(ask_in(&client, "same", short), peer.hear_send());
    assert_eq!(timed_out, Err(RequestError::Deadline));
    let (answer, ()) = tokio::join!(ask_in(&client, "same", PATIENCE), async {
        let send = peer.hear_send().await;
        peer.deliver(reply(1, &late, "too late")).await;
        // An unnamed reply may be the late one too, so it is not taken for the new one.
        peer.deliver(Message { in_reply_to: None, ..reply(2, &late, "unclear") }).await;
        peer.deliver(reply(3, &send, "in time")).await;
    });
    assert_eq!(answer.unwrap().content, "in time");
    assert_eq!(acked(&mut peer, 2).await, [1, 3]);
    assert_eq!(inbox.next().await.unwrap().message.content, "unclear");
    // Delivered once more, as after a lost acknowledgment.
    peer.deliver(reply(4, &late, "too late")).await;
    assert_eq!(peer.hear_ack().await, [4]);
}

#[tokio::test]
async fn a_known_absence_fails_at_once() {
    let relay = Relay::start().await;
    let (client, _inbox, mut peer) = relay.connect().await;
    for recipient in [Recipient::Offline, Recipient::Unknown] {
        let started = Instant::now();
        let message = Outgoing::new(librarian(), "x");
        let (answer, ()) = tokio::join!(client.request(message, LONG), async {
            let send = peer.hear_send().await;
            peer.accept(&send, recipient).await;
        });
        assert_eq!(answer, Err(RequestError::Offline { recipient }));
        assert!(started.elapsed() < LONG);
    }
}

#[tokio::test]
async fn a_message_given_up_is_told() {
    let relay = Relay::start().await;
    let (client, _inbox, mut peer) = relay.connect().await;
    let (answer, ()) = tokio::join!(ask(&client, "x"), async {
        let send = peer.hear_send().await;
        let notice = Notice { id: send.id, to: send.to, code: NoticeCode::Undeliverable };
        peer.say(ServerFrame::Notice(notice)).await;
    });
    assert_eq!(answer, Err(RequestError::Undeliverable(NoticeCode::Undeliverable)));
    // A notice about something else is nobody's business here.
    let id = MessageId::random();
    let other = Notice { id, to: librarian(), code: NoticeCode::Expired };
    peer.say(ServerFrame::Notice(other)).await;
    let (answer, ()) = tokio::join!(ask(&client, "x"), async {
        let send = peer.hear_send().await;
        peer.refuse(send.id, ErrorCode::IdConflict, 0).await;
    });
    assert!(matches!(answer, Err(RequestError::Refused(_))), "{answer:?}");
}

#[tokio::test]
async fn a_reply_after_a_reconnect_counts() {
    let relay = Relay::start().await;
    let (client, _inbox, mut peer) = relay.connect().await;
    let (answer, ()) = tokio::join!(ask(&client, "x"), async {
        let send = peer.hear_send().await;
        peer.accept(&send, Recipient::Online).await;
        drop(peer);
        let mut peer = relay.accept().await;
        peer.deliver(reply(1, &send, "survived")).await;
        assert_eq!(peer.hear_ack().await, [1]);
    });
    assert_eq!(answer.unwrap().content, "survived");
}

#[tokio::test]
async fn a_relay_that_does_not_come_back_ends_a_request_early() {
    let relay = Relay::start().await;
    let (client, _inbox, mut peer) = relay.connect().await;
    let started = Instant::now();
    let message = Outgoing::new(librarian(), "x");
    let (answer, ()) = tokio::join!(client.request(message, LONG), async {
        let send = peer.hear_send().await;
        peer.accept(&send, Recipient::Online).await;
        drop((peer, relay));
    });
    assert!(matches!(answer, Err(RequestError::Unreachable(_))), "{answer:?}");
    assert!(started.elapsed() < LONG);
}

#[tokio::test]
async fn timed_out_requests_leave_nothing_behind() {
    let relay = Relay::start().await;
    let (client, _inbox, mut peer) = relay.connect().await;
    let script = tokio::spawn(async move {
        loop {
            let send = peer.hear_send().await;
            peer.accept(&send, Recipient::Online).await;
        }
    });
    for _ in 0..10 {
        let requests = (0..1000).map(|_| async {
            let message = Outgoing::new(librarian(), "x");
            client.request(message, Duration::from_millis(50)).await
        });
        for answer in join_all(requests).await {
            assert_eq!(answer, Err(RequestError::Deadline));
        }
        assert_eq!(client.open_counts(), (0, 0));
    }
    script.abort();
}

#[tokio::test]
async fn a_dropped_request_leaves_nothing_behind() {
    let relay = Relay::start().await;
    let (client, _inbox, mut peer) = relay.connect().await;
    tokio::select! {
        answer = ask(&client, "x") => panic!("{answer:?}"),
        _ = peer.hear_send() => {}
    }
    assert_eq!(client.open_counts(), (0, 0));
}
