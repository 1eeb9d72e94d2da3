//! The items of an upload on their way to the hub, whoever brings them.

use librarian_core::upload::{ItemOutcome, NO_SECRETS, NO_TOOLS};
use protocol::librarian::ItemKind;
use serde_json::Value;

use super::{Client, Error};

impl Client {
    /// Stores one item of an upload under its key; one that is at fault itself is refused, which is no error.
    pub async fn store_item(
        &self,
        kind: ItemKind,
        item: &Value,
        idempotency_key: &str,
    ) -> Result<ItemOutcome, Error> {
        let key = Some(idempotency_key);
        let stored = match kind {
            ItemKind::Tool => return Ok(ItemOutcome::refused("", NO_TOOLS)),
            ItemKind::Resource if item.get("secure_body").is_some() => {
                return Ok(ItemOutcome::refused("secure_body", NO_SECRETS));
            }
            ItemKind::Resource => {
                let stored = self.save_resource(item, None, key).await;
                stored.map(|stored| ItemOutcome::Accepted { id: stored.id.to_string() })
            }
            ItemKind::Knowledge => {
                self.add_knowledge(item, key).await.map(|created| match created.duplicate_of {
                    Some(of) => ItemOutcome::Duplicate { of: of.to_string() },
                    None => ItemOutcome::Accepted { id: created.id.to_string() },
                })
            }
        };
        match stored {
            Ok(outcome) => Ok(outcome),
            Err(err) if err.is_about_request() => Ok(rejected(&err)),
            Err(err) => Err(err),
        }
    }
}

/// Returns the outcome of an item that this error kept from being stored.
pub(crate) fn rejected(err: &Error) -> ItemOutcome {
    let Error::Refused { detail, .. } = err else {
        return ItemOutcome::refused("", &err.to_string());
    };
    // The hub's message names the field as well, for readers who see nothing else.
    let field = detail.field.as_deref().unwrap_or_default();
    let message = &detail.message;
    let reason = message.strip_prefix(&format!("{field}: ")).unwrap_or(message);
    ItemOutcome::refused(field, reason)
}
