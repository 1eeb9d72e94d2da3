//! Connecting, reconnecting, and knowing when to stop.

use std::time::Instant;

use agent_tools::im::{Client, Config, Outgoing, RequestError, SendError, State, StopReason};
use protocol::im::{self, Error, ErrorCode, Mode, Recipient, ServerFrame};

use crate::scripted_relay::{LONG, PATIENCE, Relay, config, dead_url, librarian, news, until};

#[tokio::test]
async fn says_who_it_is() {
    let relay = Relay::start().await;
    let (client, _inbox, peer) = relay.connect().await;
    assert_eq!(peer.hello.v, im::VERSION);
    assert_eq!(peer.hello.contact_id.as_str(), "agent/test");
    assert_eq!(peer.hello.token.as_deref(), Some("secret"));
    assert_eq!(peer.hello.mode, Mode::Exclusive);
    client.connected(PATIENCE).await.unwrap();
}

#[tokio::test]
async fn a_closed_client_leaves_cleanly() {
    let relay = Relay::start().await;
    let (client, mut inbox, mut peer) = relay.connect().await;
    client.connected(PATIENCE).await.unwrap();
    let state = client.state();
    let ((), code) = tokio::join!(client.close(), peer.hear_close());
    assert_eq!(code, im::close::NORMAL);
    assert_eq!(*state.borrow(), State::Stopped(StopReason::Closed));
    assert!(inbox.next().await.is_none());
}

#[tokio::test]
async fn the_last_handle_ends_the_connection() {
    let relay = Relay::start().await;
    let (client, _inbox, mut peer) = relay.connect().await;
    client.connected(PATIENCE).await.unwrap();
    let other = client.clone();
    drop(client);
    other.connected(PATIENCE).await.unwrap();
    drop(other);
    assert_eq!(peer.hear_close().await, im::close::NORMAL);
}

#[tokio::test]
async fn a_request_to_a_dead_relay_fails_at_once() {
    let (client, _inbox) = Client::start(config(dead_url().await));
    let started = Instant::now();
    let message = Outgoing::new(librarian(), "hello");
    let answer = client.request(message, LONG).await;
    assert!(matches!(answer, Err(RequestError::Unreachable(_))), "{answer:?}");
    assert!(started.elapsed() < LONG);
    assert_eq!(client.open_counts(), (0, 0));
}

#[tokio::test]
async fn a_relay_that_comes_later_is_found() {
    let url = dead_url().await;
    let (client, _inbox) = Client::start(config(url.clone()));
    until(&client, |state| matches!(state, State::Connecting { last_error: Some(_) })).await;
    let send = Outgoing::new(librarian(), "patience");
    let (accepted, ()) = tokio::join!(client.send(send, PATIENCE), async {
        let relay = Relay::at(&url).await;
        let mut peer = relay.accept().await;
        let send = peer.hear_send().await;
        peer.accept(&send, Recipient::Online).await;
    });
    assert_eq!(accepted.unwrap().recipient, Recipient::Online);
}

#[tokio::test]
async fn close_codes_decide_about_coming_back() {
    let relay = Relay::start().await;
    for code in [1001, 1011, 4001, 4002, 4499] {
        let (client, _inbox, peer) = relay.connect().await;
        peer.close(code).await;
        let again = relay.accept().await;
        assert_eq!(again.hello.contact_id.as_str(), "agent/test", "{code}");
        drop(client);
    }
    let codes = [
        (4501, StopReason::Replaced),
        (4502, StopReason::Unauthorized),
        (4503, StopReason::UnsupportedVersion),
        (4504, StopReason::ModeConflict),
        (4999, StopReason::Refused { code: 4999, reason: "script".to_owned() }),
    ];
    for (code, reason) in codes {
        let (client, mut inbox, peer) = relay.connect().await;
        peer.close(code).await;
        until(&client, |state| *state == State::Stopped(reason.clone())).await;
        assert!(inbox.next().await.is_none());
        let send = client.send(Outgoing::new(librarian(), "x"), PATIENCE).await;
        assert_eq!(send, Err(SendError::Stopped(reason)));
    }
}

#[tokio::test]
async fn a_hello_that_is_refused_is_not_repeated() {
    let relay = Relay::start().await;
    let (client, _inbox) = Client::start(relay.config());
    relay.accept_silently().await.close(im::close::UNAUTHORIZED).await;
    until(&client, |state| *state == State::Stopped(StopReason::Unauthorized)).await;
}

#[tokio::test]
async fn an_address_that_cannot_work_stops_the_client() {
    for url in ["", "not an address", "http://127.0.0.1:1/ws", "ws://"] {
        let (client, _inbox) = Client::start(config(url.to_owned()));
        let state = until(&client, |state| matches!(state, State::Stopped(_))).await;
        assert!(matches!(state, State::Stopped(StopReason::BadAddress(_))), "{url}: {state:?}");
    }
}

#[tokio::test]
async fn something_else_behind_the_address_is_no_panic() {
    let plain = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = plain.local_addr().unwrap();
    let config = Config { url: format!("wss://{addr}/ws"), ..config(String::new()) };
    let (client, _inbox) = Client::start(config);
    drop(plain.accept().await.unwrap());
    until(&client, |state| matches!(state, State::Connecting { last_error: Some(_) })).await;
}

#[tokio::test]
async fn a_silent_relay_counts_as_dead() {
    let relay = Relay::with_heartbeat(40).await;
    let (_client, _inbox, silent) = relay.connect().await;
    relay.accept().await;
    drop(silent);
}

#[tokio::test]
async fn nothing_is_sent_to_a_relay_that_shuts_down() {
    let relay = Relay::start().await;
    let (client, mut inbox, mut peer) = relay.connect().await;
    peer.deliver(news(1, "last one")).await;
    let delivery = inbox.next().await.unwrap();
    let send = Outgoing::new(librarian(), "later");
    let error = Error {
        code: ErrorCode::ShuttingDown,
        message: "going down".to_owned(),
        id: None,
        retry_after_ms: Some(50),
    };
    peer.say(ServerFrame::Error(error)).await;
    peer.deliver(news(2, "marker")).await;
    inbox.next().await.unwrap();
    let (accepted, ()) = tokio::join!(client.send(send, PATIENCE), async {
        delivery.ack();
        assert_eq!(peer.hear_ack().await, [1]);
        peer.close(im::close::GOING_AWAY).await;
        let mut peer = relay.accept().await;
        let send = peer.hear_send().await;
        peer.accept(&send, Recipient::Online).await;
    });
    accepted.unwrap();
}

#[tokio::test]
async fn contacts_are_asked_for_once_for_all_who_wait() {
    let relay = Relay::start().await;
    let (client, _inbox, mut peer) = relay.connect().await;
    let (first, second, ()) =
        tokio::join!(client.contacts(PATIENCE), client.contacts(PATIENCE), async {
            assert_eq!(peer.hear().await, im::ClientFrame::Contacts);
            let list = im::Contacts { contacts: Vec::new() };
            peer.say(ServerFrame::Contacts(list)).await;
        });
    assert_eq!((first, second), (Ok(Vec::new()), Ok(Vec::new())));
}
