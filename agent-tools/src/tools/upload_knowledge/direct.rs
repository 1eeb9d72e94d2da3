//! An upload without a relay: each knowledge item goes to the hub by itself.

use protocol::{
    MessageId,
    librarian::{Batch, ItemKind, Receipt, ReceiptItem, RejectedItem},
};

use crate::{hub::Error, tools::Context};

/// Posts the knowledge items; what the hub has no route for is refused with that reason.
///
/// Each item has the key that the librarian gives it too, so that an upload which reached the relay after
/// all is stored once.
/// Fails only if the hub took nothing because it is away.
pub(super) async fn post(
    context: &Context,
    id: MessageId,
    batch: &Batch,
) -> Result<Receipt, Error> {
    let mut receipt = Receipt::default();
    // Once the hub is away, the rest is not tried: each item would wait for the same answer.
    let mut is_away = None;
    for (index, item) in batch.knowledge.iter().enumerate() {
        let kind = ItemKind::Knowledge;
        if let Some(err) = &is_away {
            receipt.rejected.push(refusal(kind, index, err));
            continue;
        }
        let key = id.item_key(&context.relay.contact_id, index);
        match context.hub.add_knowledge(item, Some(&key)).await {
            Ok(created) => {
                receipt.accepted.push(ReceiptItem { kind, index, id: created.id.to_string() });
            }
            Err(err) if err.is_transient() && receipt.accepted.is_empty() => return Err(err),
            Err(err) => {
                receipt.rejected.push(refusal(kind, index, &err));
                is_away = Some(err).filter(Error::is_transient);
            }
        }
    }
    if batch.knowledge.is_empty() {
        context.hub.health().await?;
    }
    for (kind, count) in
        [(ItemKind::Resource, batch.resources.len()), (ItemKind::Tool, batch.tools.len())]
    {
        let reason = "only the librarian takes it, and there is no relay to reach it";
        receipt.rejected.extend((0..count).map(|index| RejectedItem {
            kind,
            index,
            field: String::new(),
            reason: reason.to_owned(),
        }));
    }
    Ok(receipt)
}

fn refusal(kind: ItemKind, index: usize, err: &Error) -> RejectedItem {
    let field = match err {
        Error::Refused { detail, .. } => detail.field.clone().unwrap_or_default(),
        _ => String::new(),
    };
    RejectedItem { kind, index, field, reason: err.to_string() }
}
