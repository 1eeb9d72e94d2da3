//! Deliveries that answer nothing, and how they are settled.

use std::time::Duration;

use protocol::im::{Ack, ClientFrame, Nak, Working};

use crate::scripted_relay::{PATIENCE, Relay, news};

#[tokio::test]
async fn a_delivery_is_settled_in_three_ways() {
    let relay = Relay::start().await;
    let (_client, mut inbox, mut peer) = relay.connect().await;
    for (seq, content) in [(1, "a"), (2, "b"), (3, "c")] {
        peer.deliver(news(seq, content)).await;
    }
    let [a, b, c] =
        [inbox.next().await, inbox.next().await, inbox.next().await].map(Option::unwrap);
    assert_eq!([&a, &b, &c].map(|delivery| delivery.message.content.as_str()), ["a", "b", "c"]);
    c.working();
    assert_eq!(peer.hear().await, ClientFrame::Working(Working { seqs: vec![3] }));
    b.ack();
    assert_eq!(peer.hear().await, ClientFrame::Ack(Ack { seqs: vec![2] }));
    a.nak(Duration::from_secs(2));
    let nak = Nak { seqs: vec![1], delay_ms: Some(2000) };
    assert_eq!(peer.hear().await, ClientFrame::Nak(nak));
}

#[tokio::test]
async fn deliveries_of_a_lost_connection_are_void() {
    let relay = Relay::start().await;
    let (_client, mut inbox, mut peer) = relay.connect().await;
    peer.deliver(news(1, "held")).await;
    peer.deliver(news(2, "waiting")).await;
    let held = inbox.next().await.unwrap();
    drop(peer);
    let mut peer = relay.accept().await;
    held.ack();
    peer.deliver(news(1, "delivered again")).await;
    let again = inbox.next().await.unwrap();
    assert_eq!(again.message.content, "delivered again");
    again.ack();
    assert_eq!(peer.hear_ack().await, [1], "the void acknowledgment must not be written");
}

#[tokio::test]
async fn what_nobody_reads_is_given_back() {
    let relay = Relay::start().await;
    let (_client, inbox, mut peer) = relay.connect().await;
    drop(inbox);
    peer.deliver(news(1, "for later")).await;
    assert!(matches!(peer.hear().await, ClientFrame::Nak(nak) if nak.seqs == [1]));
}

#[tokio::test]
async fn acknowledgments_are_written_before_a_clean_close() {
    let relay = Relay::start().await;
    let (client, mut inbox, mut peer) = relay.connect().await;
    client.connected(PATIENCE).await.unwrap();
    peer.deliver(news(1, "done")).await;
    inbox.next().await.unwrap().ack();
    let ((), seqs) = tokio::join!(client.close(), async {
        let seqs = peer.hear_ack().await;
        peer.hear_close().await;
        seqs
    });
    assert_eq!(seqs, [1]);
}

#[tokio::test]
async fn a_relay_that_breaks_its_bound_is_left() {
    let relay = Relay::start().await;
    let (_client, mut inbox, mut peer) = relay.connect().await;
    for seq in 1..=5 {
        peer.deliver(news(seq, "too many")).await;
    }
    let mut peer = relay.accept().await;
    peer.deliver(news(1, "again")).await;
    assert_eq!(inbox.next().await.unwrap().message.content, "again");
}
