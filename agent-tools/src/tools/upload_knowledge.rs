//! `upload_knowledge`: knowledge for the librarian; straight to the hub when there is no relay.

mod check;
mod direct;

use std::time::Duration;

use async_trait::async_trait;
use librarian_core::wording;
use protocol::{
    MessageId,
    hub::{Body, FieldFault},
    im::{self, Recipient},
    librarian::{Items, Receipt, ReplyMeta, Request},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Context, Error, Tool, ToolResult};
use crate::im::{Outgoing, RequestError, SendError};

pub use check::check;

/// How long handing an upload over to the relay may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Uploads items.
pub(super) struct UploadKnowledge;

/// Whether an upload is all there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finality {
    /// More may follow.
    Open,
    /// The last one: everything is submitted now.
    Final {
        /// How long to wait for the receipt; `None` does not wait.
        receipt_patience: Option<Duration>,
    },
}

/// What became of an upload.
#[derive(Clone, Debug, PartialEq)]
pub enum Uploaded {
    /// The relay has it on disk, and the librarian submits it.
    Accepted {
        /// The id of the message.
        id: MessageId,
        /// Whether the librarian is there.
        recipient: Recipient,
    },
    /// The librarian has submitted it.
    Submitted {
        /// The librarian's words.
        text: String,
        /// What became of each item; `None` when the librarian sent no receipt.
        receipt: Option<Receipt>,
    },
    /// There was no relay; the hub took it directly.
    Direct {
        /// Why the relay did not take it.
        reason: String,
        /// What became of each item.
        receipt: Receipt,
    },
}

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// What to store.
    data: Data,
    /// Whether this is the last upload: everything sent so far is submitted at once.
    #[serde(default)]
    finalize: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Data {
    /// Knowledge: objects with `task` (the situation), `content` (what was learned), and optionally `types`, `tags`, `scopes`, `owner`, `resource_ids`, `source`.
    #[serde(default)]
    knowledge: Vec<Value>,
    /// Resources: objects with `id`, `title` and `body`.
    #[serde(default)]
    resources: Vec<Value>,
    /// Tools: objects with `name`, `category`, and optionally `description`, `url`, `knowledge_ids`.
    #[serde(default)]
    tools: Vec<Value>,
}

impl Body for Input {
    fn check(&self) -> Result<(), FieldFault> {
        // The items are checked one by one, so that every fault is told.
        Ok(())
    }
}

#[async_trait]
impl Tool for UploadKnowledge {
    fn name(&self) -> &'static str {
        "upload_knowledge"
    }

    fn description(&self) -> &'static str {
        "Hand over what you learned to the team's librarian, who merges and stores it. Does not \
         wait for storage. Set finalize on your last upload of a task."
    }

    fn input_schema(&self) -> Value {
        schemars::schema_for!(Input).to_value()
    }

    async fn run(&self, context: &Context, input: Value) -> Result<ToolResult, Error> {
        let Input { data: Data { knowledge, resources, tools }, finalize } =
            Input::from_value(&input)?;
        let items = Items { knowledge, resources, tools };
        let last = Finality::Final { receipt_patience: None };
        let finality = if finalize { last } else { Finality::Open };
        let uploaded = upload(context, items, finality).await?;
        let metadata = uploaded.to_json();
        Ok(ToolResult { output: uploaded.to_string(), metadata })
    }
}

impl Uploaded {
    /// Returns it as programs read it.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Accepted { id, recipient } => {
                json!({ "via": "relay", "message_id": id, "recipient": recipient })
            }
            Self::Submitted { receipt, .. } => json!({ "via": "relay", "receipt": receipt }),
            Self::Direct { reason, receipt } => {
                json!({ "via": "hub", "reason": reason, "receipt": receipt })
            }
        }
    }

    /// Returns what became of each item, once that is known.
    pub fn receipt(&self) -> Option<&Receipt> {
        match self {
            Self::Accepted { .. } => None,
            Self::Submitted { receipt, .. } => receipt.as_ref(),
            Self::Direct { receipt, .. } => Some(receipt),
        }
    }
}

/// Checks the items, then hands them over: to the relay, or to the hub where there is no relay.
pub async fn upload(
    context: &Context,
    items: Items,
    finality: Finality,
) -> Result<Uploaded, Error> {
    check(&items, finality)?;
    let id = MessageId::random();
    match hand_over(context, id, &items, finality).await {
        Ok(uploaded) => Ok(uploaded),
        Err(NotTaken::ForGood(err)) => Err(err),
        Err(NotTaken::NoRelay(reason)) => {
            tracing::warn!(%reason, "no relay for an upload, posting it to the hub");
            let receipt = direct::post(context, id, &items)
                .await
                .map_err(|hub| Error::NotUploaded { relay: reason.clone(), hub })?;
            Ok(Uploaded::Direct { reason, receipt })
        }
    }
}

/// Why the relay does not have an upload.
enum NotTaken {
    /// Sending it another way would end the same.
    ForGood(Error),
    /// The relay cannot be reached, or has no room.
    NoRelay(String),
}

async fn hand_over(
    context: &Context,
    id: MessageId,
    items: &Items,
    finality: Finality,
) -> Result<Uploaded, NotTaken> {
    let im = context.im();
    im.connected(PATIENCE).await?;
    let request = match finality {
        Finality::Open => Request::Upload(items.clone()),
        Finality::Final { .. } => {
            Request::Finalize { items: items.clone(), parts: context.parts() }
        }
    };
    let message = Outgoing { id, ..Outgoing::new(context.librarian.clone(), request.to_string()) };
    if let Finality::Final { receipt_patience: Some(patience) } = finality {
        match im.request(message.clone(), patience).await {
            Ok(reply) => {
                context.forget_parts();
                return read_receipt(reply);
            }
            Err(RequestError::Refused(error)) => return Err(SendError::Refused(error).into()),
            // The relay may have it, and says so under the same id.
            Err(err) => tracing::warn!(reason = %err, "no receipt for the upload"),
        }
    }
    let accepted = im.send(message, PATIENCE).await?;
    match finality {
        Finality::Open => context.note_part(id),
        Finality::Final { .. } => context.forget_parts(),
    }
    Ok(Uploaded::Accepted { id, recipient: accepted.recipient })
}

fn read_receipt(reply: im::Message) -> Result<Uploaded, NotTaken> {
    let meta = reply.meta.as_ref().and_then(ReplyMeta::from_meta).unwrap_or_default();
    match (meta.error, meta.receipt) {
        (Some(error), None) => Err(NotTaken::ForGood(Error::Librarian(error.message))),
        (_, receipt) => Ok(Uploaded::Submitted { text: reply.content, receipt }),
    }
}

impl From<SendError> for NotTaken {
    fn from(err: SendError) -> Self {
        use im::ErrorCode::{MailboxFull, RateLimited, Unavailable};
        match err {
            SendError::Refused(error)
                if !matches!(error.code, MailboxFull | RateLimited | Unavailable) =>
            {
                Self::ForGood(Error::Refused(error))
            }
            err => Self::NoRelay(err.to_string()),
        }
    }
}

impl std::fmt::Display for Uploaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Accepted { id, recipient: Recipient::Online } => {
                write!(f, "Handed over as {id}; the librarian stores it.")
            }
            Self::Accepted { id, .. } => write!(
                f,
                "Handed over as {id}; the librarian is offline and stores it when it is back."
            ),
            Self::Submitted { text, .. } => f.write_str(text),
            Self::Direct { reason, receipt } => write!(
                f,
                "Posted to the hub directly ({reason}): {} stored, {} refused.{}",
                receipt.accepted.len(),
                receipt.rejected.len(),
                wording::rejected_items(&receipt.rejected),
            ),
        }
    }
}
