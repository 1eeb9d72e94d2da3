//! Start, stop, and what is said on the way.

use protocol::im::{ClientFrame, ErrorCode, Mode, VERSION, close};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::harness::{Relay, config, message};

#[tokio::test]
async fn the_welcome_tells_the_bounds() {
    let flags =
        ["--im-max-in-flight", "7", "--im-ack-wait-ms", "1234", "--im-heartbeat-ms", "4321"];
    let relay = Relay::start(&flags).await;
    let (_client, welcome) = relay.connect_as("alice", Mode::Shared).await;
    assert_eq!((welcome.v, welcome.contact_id.as_str()), (VERSION, "alice"));
    assert!(!welcome.connection_id.is_empty());
    assert_eq!(welcome.heartbeat_ms, 4321);
    let limits = welcome.limits;
    assert_eq!((limits.max_content_bytes, limits.max_mailbox), (262_144, 100_000));
    assert_eq!((limits.max_in_flight, limits.ack_wait_ms), (7, 1234));
}

#[tokio::test]
async fn at_the_stop_acks_are_taken_and_sends_refused() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let mut bob = relay.connect("bob").await;
    alice.send(message("bob", "one")).await;
    bob.hear_message().await;
    relay.begin_stop();
    for client in [&mut alice, &mut bob] {
        let error = client.hear_error().await;
        assert_eq!((error.code, error.id), (ErrorCode::ShuttingDown, None));
        assert!(error.retry_after_ms.is_some_and(|pause| pause < 5_000));
    }
    let late = message("bob", "two");
    alice.say(ClientFrame::Send(late.clone())).await;
    let error = alice.hear_error().await;
    assert_eq!((error.code, error.id), (ErrorCode::ShuttingDown, Some(late.id)));
    bob.ack(&[1]).await;
    // Nothing is unacknowledged any more, so that there is nothing to wait for.
    assert_eq!(alice.hear_close().await, close::GOING_AWAY);
    assert_eq!(bob.hear_close().await, close::GOING_AWAY);
    let relay = relay.restart().await;
    relay.connect("bob").await.settle().await;
}

#[tokio::test]
async fn a_stop_does_not_wait_for_ever() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    let _mute = relay.open().await;
    alice.send(message("alice", "never acknowledged")).await;
    alice.hear_message().await;
    relay.stop().await;
}

#[tokio::test]
async fn a_second_relay_on_the_same_file_is_refused() {
    let relay = Relay::start(&[]).await;
    relay.connect("alice").await.settle().await;
    let error = serve_over(&relay.db()).await.to_string();
    assert!(error.contains("in use by another relay"), "{error}");
    assert!(error.contains("IM_DB="), "{error}");
    relay.connect("alice").await.settle().await;
}

#[tokio::test]
async fn a_newer_or_foreign_file_is_refused() {
    let relay = Relay::start(&[]).await;
    relay.connect("alice").await.settle().await;
    let db = relay.db();
    let _folder = relay.stop().await;
    let newer = rusqlite::Connection::open(&db).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    newer.close().unwrap();
    let error = serve_over(&db).await.to_string();
    assert!(error.contains("schema version 99"), "{error}");

    let foreign = db.with_file_name("foreign.db");
    let other = rusqlite::Connection::open(&foreign).unwrap();
    other.execute_batch("CREATE TABLE notes (text)").unwrap();
    let error = serve_over(&foreign).await.to_string();
    assert!(error.contains("is not a relay's database"), "{error}");
    let tables: i64 =
        other.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    assert_eq!(tables, 1, "another program's file stays as it is");

    std::fs::write(&db, "this is no database".repeat(100)).unwrap();
    let error = serve_over(&db).await.to_string();
    assert!(error.contains("cannot open IM_DB="), "{error}");
}

async fn serve_over(db: &std::path::Path) -> im_server::Error {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let config = config(db, &[]);
    im_server::serve(listener, config, CancellationToken::new()).await.expect_err("a refusal")
}

#[tokio::test]
async fn a_locked_file_delays_senders_and_loses_nothing() {
    let relay = Relay::start(&[]).await;
    let mut alice = relay.connect("alice").await;
    alice.send(message("bob", "before")).await;
    let mut other = rusqlite::Connection::open(relay.db()).unwrap();
    let lock = other.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    alice.say(ClientFrame::Send(message("bob", "while locked"))).await;
    // The relay answers pings and new handshakes all the while.
    relay.open().await;
    lock.rollback().unwrap();
    alice.hear_accepted().await;
    let mut bob = relay.connect("bob").await;
    assert_eq!(bob.hear_message().await.content, "before");
    assert_eq!(bob.hear_message().await.content, "while locked");
    bob.settle().await;
}
