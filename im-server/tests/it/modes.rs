//! How connections of one contact replace each other or share.

use protocol::im::{ClientFrame, ErrorCode, Mode, Send, ServerFrame, close};

use crate::harness::{Client, Relay, hello, message};

#[tokio::test]
async fn a_newer_connection_takes_over_and_stays() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let mut first = relay.connect("bob").await;
    alice.send(message("bob", "one")).await;
    assert_eq!(first.hear_message().await.attempt, 1);

    let mut second = relay.connect("bob").await;
    assert_eq!(first.hear_error().await.code, ErrorCode::Replaced);
    assert_eq!(first.hear_close().await, close::REPLACED);
    drop(first);
    let heard = second.hear_message().await;
    assert_eq!((heard.seq, heard.attempt), (1, 2));
    second.ack(&[1]).await;
    second.settle().await;
    alice.send(message("bob", "two")).await;
    assert_eq!(second.hear_message().await.content, "two", "the old one's end changes nothing");
}

#[tokio::test]
async fn shared_connections_divide_the_work_and_keep_chats_together() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let (mut one, _) = relay.connect_as("kb", Mode::Shared).await;
    let (two, _) = relay.connect_as("kb", Mode::Shared).await;
    let chat = |chat: &str, content: &str| Send {
        chat_id: Some(chat.parse().unwrap()),
        ..message("kb", content)
    };
    alice.send(chat("a", "a1")).await;
    alice.send(chat("b", "b1")).await;
    let (mut with_a, mut with_b) = match one.hear_message().await.content.as_str() {
        "a1" => (one, two),
        _ => (two, one),
    };
    assert_eq!(with_b.hear_message().await.content, "b1");
    with_b.ack(&[1]).await;
    with_b.settle().await;
    // The chat of an unacknowledged message stays with its holder, though the other one is idle.
    alice.send(chat("a", "a2")).await;
    assert_eq!(with_a.hear_message().await.content, "a2");
    alice.send(chat("c", "c1")).await;
    assert_eq!(with_b.hear_message().await.content, "c1");
    // What a dead one held moves as a whole.
    drop(with_a);
    let moved = [with_b.hear_message().await, with_b.hear_message().await];
    assert_eq!(
        moved.map(|heard| (heard.content, heard.attempt)),
        [("a1".into(), 2), ("a2".into(), 2)]
    );
}

#[tokio::test]
async fn the_other_mode_is_refused_while_somebody_is_online() {
    let relay = Relay::start(&[]).await;
    let (mut shared, _) = relay.connect_as("kb", Mode::Shared).await;
    let mut other = relay.open().await;
    other.say(hello("kb", Mode::Exclusive)).await;
    assert_eq!(other.hear_error().await.code, ErrorCode::ModeConflict);
    assert_eq!(other.hear_close().await, close::MODE_CONFLICT);
    shared.settle().await;
    shared.leave().await;
    relay.connect("kb").await.settle().await;
}

#[tokio::test]
async fn contacts_tell_who_is_online_with_how_many_connections() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let (one, _) = relay.connect_as("kb", Mode::Shared).await;
    let (_two, _) = relay.connect_as("kb", Mode::Shared).await;
    relay.connect("gone").await.leave().await;
    alice.send(message("never", "x")).await;
    assert_eq!(list(&mut alice).await, [("alice", 1), ("gone", 0), ("kb", 2)].map(own));
    one.leave().await;
    assert_eq!(list(&mut alice).await, [("alice", 1), ("gone", 0), ("kb", 1)].map(own));
}

fn own((contact, connections): (&str, u32)) -> (String, u32) {
    (contact.to_owned(), connections)
}

async fn list(client: &mut Client) -> Vec<(String, u32)> {
    client.say(ClientFrame::Contacts).await;
    let ServerFrame::Contacts(listing) = client.hear().await else { panic!("expected contacts") };
    assert!(listing.contacts.iter().all(|contact| contact.online == (contact.connections > 0)));
    let list = listing.contacts.into_iter();
    list.map(|contact| (contact.contact_id.to_string(), contact.connections)).collect()
}
