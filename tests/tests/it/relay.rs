//! Messages between contacts, seen from two clients and a restarted relay.

use agent_tools::im::Outgoing;
use protocol::im::Recipient;
use tests::{system::System, wait::PATIENCE};

use super::fixtures::connect;

#[tokio::test]
async fn a_message_to_somebody_offline_arrives_when_he_comes() {
    let mut system = System::stopped(vec![]).unwrap();
    system.start_relay().await.unwrap();
    let (sender, _) = connect(&system, "sender");
    for text in ["first", "第二"] {
        let message = Outgoing::new("receiver".parse().unwrap(), text);
        let accepted = sender.send(message, PATIENCE).await.unwrap();
        assert_eq!(accepted.recipient, Recipient::Unknown);
    }
    // An accepted message outlives the relay's sudden death.
    system.relay.take().unwrap().kill().await.unwrap();
    system.start_relay().await.unwrap();

    let (receiver, mut inbox) = connect(&system, "receiver");
    for text in ["first", "第二"] {
        let delivery = tokio::time::timeout(PATIENCE, inbox.next()).await.unwrap().unwrap();
        assert_eq!(delivery.message.content, text);
        assert_eq!(delivery.message.from.as_str(), "sender");
        delivery.ack();
    }
    receiver.close().await;
    sender.close().await;
    system.stop().await.unwrap();
}
