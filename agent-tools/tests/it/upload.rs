//! `upload_knowledge`: handed over to the relay, or to the hub where there is none.

use agent_tools::{
    im,
    tools::{
        Context, Error,
        upload_knowledge::{Finality, Uploaded, upload},
    },
};
use protocol::{
    im::{ErrorCode, Message, Recipient},
    librarian::{ItemKind, Items, Receipt, ReceiptItem, ReplyMeta, Request},
};
use serde_json::json;

use crate::{
    scripted_hub::{self, Hub, refusal, with_records},
    scripted_relay::{PATIENCE, Relay, config, dead_url, librarian, reply},
};

fn context(hub: &Hub, relay: im::Config) -> Context {
    Context::new(hub.client(), relay, librarian(), PATIENCE)
}

fn notes(count: usize) -> Items {
    let knowledge = vec![json!({"task": "t", "content": "c"}); count];
    Items { knowledge, ..Items::default() }
}

const LAST: Finality = Finality::Final { receipt_patience: Some(PATIENCE) };

#[tokio::test]
async fn an_upload_is_done_when_the_relay_has_it() {
    let (relay, hub) = (Relay::start().await, Hub::start(with_records).await);
    let context = context(&hub, relay.config());
    let (uploaded, id) = tokio::join!(upload(&context, notes(1), Finality::Open), async {
        let mut peer = relay.accept().await;
        let send = peer.hear_send().await;
        assert_eq!(send.content.parse(), Ok(Request::Upload(notes(1))));
        peer.accept(&send, Recipient::Offline).await;
        send.id
    });
    assert_eq!(uploaded.unwrap(), Uploaded::Accepted { id, recipient: Recipient::Offline });
    assert!(hub.asked().is_empty());
}

#[tokio::test]
async fn the_last_upload_lists_its_parts_and_brings_the_receipt() {
    let (relay, hub) = (Relay::start().await, Hub::start(with_records).await);
    let context = context(&hub, relay.config());
    let stored = ReceiptItem { kind: ItemKind::Knowledge, index: 0, id: "knowledge-1".into() };
    let receipt = Receipt { accepted: vec![stored], ..Receipt::default() };
    let (uploaded, ()) = tokio::join!(
        async {
            upload(&context, notes(1), Finality::Open).await.unwrap();
            upload(&context, Items::default(), LAST).await
        },
        async {
            let mut peer = relay.accept().await;
            let first = peer.hear_send().await;
            peer.accept(&first, Recipient::Online).await;
            let last = peer.hear_send().await;
            let parts = vec![first.id];
            let finalize = Request::Finalize { items: Items::default(), parts };
            assert_eq!(last.content.parse(), Ok(finalize));
            peer.accept(&last, Recipient::Online).await;
            let meta = ReplyMeta { receipt: Some(receipt.clone()), ..ReplyMeta::default() };
            let meta = Some(meta.to_meta());
            peer.deliver(Message { meta, ..reply(1, &last, "1 stored") }).await;
        }
    );
    let expected = Uploaded::Submitted { text: "1 stored".into(), receipt: Some(receipt.clone()) };
    assert_eq!(uploaded.unwrap(), expected);
}

#[tokio::test]
async fn an_absent_librarian_gives_no_receipt_but_gets_the_upload() {
    let (relay, hub) = (Relay::start().await, Hub::start(with_records).await);
    let context = context(&hub, relay.config());
    let (uploaded, id) = tokio::join!(upload(&context, notes(1), LAST), async {
        let mut peer = relay.accept().await;
        let send = peer.hear_send().await;
        peer.accept(&send, Recipient::Offline).await;
        let again = peer.hear_send().await;
        assert_eq!(again.id, send.id);
        peer.accept(&again, Recipient::Offline).await;
        send.id
    });
    assert_eq!(uploaded.unwrap(), Uploaded::Accepted { id, recipient: Recipient::Offline });
}

#[tokio::test]
async fn without_a_relay_items_go_to_the_hub_under_keys_of_their_own() {
    let hub = Hub::start(with_records).await;
    let context = context(&hub, config(dead_url().await));
    let items = Items {
        resources: vec![json!({"id": "pymupdf/tables", "body": "b", "on_behalf_of": "somebody"})],
        tools: vec![json!({"name": "x", "category": "y"})],
        ..notes(2)
    };
    let uploaded = upload(&context, items, LAST).await.unwrap();
    let Uploaded::Direct { reason, receipt } = &uploaded else { panic!("{uploaded:?}") };
    assert!(reason.starts_with("the relay cannot be reached"), "{reason}");
    assert_eq!((receipt.accepted.len(), receipt.rejected.len()), (3, 1));
    assert_eq!(receipt.accepted[2].id, "pymupdf/tables");
    assert_eq!(receipt.rejected[0].kind, ItemKind::Tool);
    assert!(uploaded.to_string().contains("\n- tools[0]: the hub keeps no tools of their own"));
    let asked = hub.asked();
    assert_eq!(asked[2].call, "POST /api/resource");
    assert!(asked[2].body.get("on_behalf_of").is_none(), "{}", asked[2].body);
    let keys: Vec<_> = asked
        .iter()
        .map(|asked| asked.headers["idempotency-key"].to_str().unwrap().to_owned())
        .collect();
    let (head, tail) = keys[0].rsplit_once('/').unwrap();
    assert!(head.starts_with("agent/test/") && tail == "0", "{keys:?}");
    assert_eq!(keys[1..], [format!("{head}/1"), format!("{head}/0")]);
}

#[tokio::test]
async fn with_neither_relay_nor_hub_nothing_is_claimed() {
    let relay = dead_url().await;
    let hub = scripted_hub::client(&relay.replace("ws://", "http://").replace("/ws", ""));
    let context = Context::new(hub, config(relay), librarian(), PATIENCE);
    for items in
        [notes(2), Items { tools: vec![json!({"name": "x", "category": "y"})], ..notes(0) }]
    {
        let err = upload(&context, items, LAST).await.unwrap_err();
        assert!(matches!(err, Error::NotUploaded { .. }), "{err:?}");
        assert!(err.to_string().starts_with("nothing was uploaded: the relay cannot be reached"));
    }
}

#[tokio::test]
async fn an_item_that_the_hub_refuses_costs_only_itself() {
    let hub = Hub::start(|call| match call {
        "POST /api/knowledge" => refusal(422, "invalid", "task: too dull"),
        _ => with_records(call),
    })
    .await;
    let context = context(&hub, config(dead_url().await));
    let uploaded = upload(&context, notes(2), Finality::Open).await.unwrap();
    let receipt = uploaded.receipt().unwrap();
    assert_eq!((receipt.accepted.len(), receipt.rejected.len()), (0, 2));
    assert_eq!(receipt.rejected[1].reason, "task: too dull");
}

#[tokio::test]
async fn a_hub_that_does_not_let_in_takes_nothing_and_says_so() {
    for status in [401, 403] {
        let hub = match status {
            401 => Hub::start(|_| refusal(401, "unauthorized", "this hub asks for a token")).await,
            _ => Hub::start(|_| refusal(403, "forbidden", "writing needs the role writer")).await,
        };
        let context = context(&hub, config(dead_url().await));
        let err = upload(&context, notes(2), LAST).await.unwrap_err();
        assert!(err.hub().unwrap().is_about_access(), "{err:?}");
        assert_eq!(hub.asked().len(), 1);
    }
}

#[tokio::test]
async fn a_secret_never_reaches_the_relay() {
    let (relay, hub) = (Relay::start().await, Hub::start(with_records).await);
    let resources = vec![json!({"id": "acme/login", "secure_body": "hunter2"})];
    let context = context(&hub, relay.config());
    let err = upload(&context, Items { resources, ..notes(1) }, LAST).await.unwrap_err();
    assert!(err.to_string().contains("resources[0].secure_body: a secret must not lie"), "{err}");
    assert!(!err.to_string().contains("hunter2"), "{err}");
    assert!(hub.asked().is_empty());
}

#[tokio::test]
async fn what_the_relay_refuses_for_good_is_not_tried_elsewhere() {
    let (relay, hub) = (Relay::start().await, Hub::start(with_records).await);
    let context = context(&hub, relay.config());
    let (uploaded, ()) = tokio::join!(upload(&context, notes(1), Finality::Open), async {
        let mut peer = relay.accept().await;
        let send = peer.hear_send().await;
        peer.refuse(send.id, ErrorCode::TooLarge, 0).await;
    });
    let err = uploaded.unwrap_err();
    assert!(matches!(err, Error::Refused(_)), "{err:?}");
    assert!(hub.asked().is_empty());
}
