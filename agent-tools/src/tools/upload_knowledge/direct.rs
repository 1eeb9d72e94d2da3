//! An upload without a relay: each item goes to the hub by itself.

use librarian_core::upload::note;
use protocol::{
    MessageId,
    librarian::{Items, Receipt},
};
use serde_json::Value;

use crate::{
    hub::{Error, rejected},
    tools::Context,
};

/// Brings the items to the hub as the librarian would, under the same keys.
///
/// On a hub without tokens, an upload that reached the relay after all is therefore stored once; with tokens the
/// librarian is another principal, whose keys are its own.
/// Fails only if the hub took nothing, for a reason that lies in no item.
pub(super) async fn post(
    context: &Context,
    id: MessageId,
    items: &Items,
) -> Result<Receipt, Error> {
    let mut receipt = Receipt::default();
    // After the first such error the rest is not tried: each item would wait for the same answer.
    let mut failed = None;
    for (kind, index, item) in items.entries() {
        let key = id.item_key(&context.relay.contact_id, index);
        let outcome = match &failed {
            Some(err) => rejected(err),
            None => match context.hub.store_item(kind, &for_oneself(item), &key).await {
                Ok(outcome) => outcome,
                Err(err) if receipt.accepted.is_empty() => return Err(err),
                Err(err) => rejected(failed.insert(err)),
            },
        };
        note(&mut receipt, kind, index, outcome);
    }
    if items.knowledge.is_empty() && items.resources.is_empty() {
        context.hub.health().await?;
    }
    Ok(receipt)
}

/// Returns the item without a claim to come from somebody else, which the librarian would not believe either.
fn for_oneself(item: &Value) -> Value {
    let mut item = item.clone();
    if let Value::Object(fields) = &mut item {
        fields.remove("on_behalf_of");
    }
    item
}
