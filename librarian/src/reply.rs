//! Sends replies under ids that make each the only one.

use std::time::Duration;

use agent_tools::im::{Client, Outgoing, SendError};
use librarian_core::{Answer, Language, wording};
use protocol::im::{ErrorCode, Message};
use protocol::librarian::{GrammarFault, Receipt, ReplyCode, ReplyError, ReplyMeta};
use protocol::{MessageId, Timestamp};

/// What the librarian says to a message.
#[derive(Debug)]
pub(crate) struct Reply {
    text: String,
    meta: ReplyMeta,
}

/// What became of a reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The relay has it, or has the reply of another librarian to the same message.
    Done,
    /// The relay will not take it; why is in the log.
    Refused,
    /// The relay could not be asked in time.
    Unsure,
}

impl Reply {
    /// The answer to a question.
    pub(crate) fn answer(answer: Answer) -> Self {
        let meta = answer.to_meta();
        Self { text: answer.text, meta }
    }

    /// Says what is wrong with a message.
    pub(crate) fn malformed(language: Language, fault: &GrammarFault) -> Self {
        Self::refused_query(language, &fault.to_string())
    }

    /// Says what the hub does not like about a question.
    pub(crate) fn refused_query(language: Language, complaint: &str) -> Self {
        let text = wording::malformed(language, complaint);
        Self { text, meta: error(ReplyCode::Malformed, complaint) }
    }

    /// Says that too many questions are being answered.
    pub(crate) fn busy(language: Language) -> Self {
        let text = wording::busy(language).to_owned();
        Self { meta: error(ReplyCode::Busy, wording::busy(Language::English)), text }
    }

    /// Says that the hub does not answer.
    pub(crate) fn hub_unavailable(language: Language) -> Self {
        let text = wording::hub_unavailable(language).to_owned();
        let message = wording::hub_unavailable(Language::English);
        Self { meta: error(ReplyCode::HubUnavailable, message), text }
    }

    /// Says what became of an upload.
    pub(crate) fn receipt(language: Language, receipt: Receipt) -> Self {
        let text = wording::receipt(language, &receipt);
        Self { text, meta: ReplyMeta { receipt: Some(receipt), ..ReplyMeta::default() } }
    }

    /// Says which items of one uploaded message were refused.
    pub(crate) fn rejections(language: Language, receipt: Receipt) -> Self {
        let text = wording::rejections(language, &receipt.rejected);
        let ReplyMeta { error, .. } = error(ReplyCode::Malformed, &text);
        Self { text, meta: ReplyMeta { receipt: Some(receipt), error, ..ReplyMeta::default() } }
    }

    /// Sends the reply to `message`, worth delivering for `ttl`, within `patience`.
    ///
    /// Its id follows from the message alone, so that the relay takes one reply to each.
    pub(crate) async fn send(
        &self,
        im: &Client,
        message: &Message,
        ttl: Option<Duration>,
        patience: Duration,
    ) -> Sent {
        let outgoing = Outgoing {
            id: MessageId::of_reply(&message.from, message.id),
            to: message.from.clone(),
            content: self.text.clone(),
            chat_id: message.chat_id.clone(),
            in_reply_to: Some(message.id),
            ttl,
            meta: Some(self.meta.to_meta()),
        };
        match im.send(outgoing, patience).await {
            Ok(_) => Sent::Done,
            Err(SendError::Refused(refusal)) => match refusal.code {
                ErrorCode::IdConflict => Sent::Done,
                ErrorCode::MailboxFull
                | ErrorCode::RateLimited
                | ErrorCode::Unavailable
                | ErrorCode::ShuttingDown => Sent::Unsure,
                _ => {
                    tracing::error!(
                        message.id = %message.id,
                        contact.id = %message.from,
                        "the relay refuses the reply: {}",
                        refusal.message
                    );
                    Sent::Refused
                }
            },
            Err(SendError::Unreachable(_) | SendError::Deadline | SendError::Stopped(_)) => {
                Sent::Unsure
            }
        }
    }
}

fn error(code: ReplyCode, message: &str) -> ReplyMeta {
    let error = ReplyError { code, message: message.to_owned() };
    ReplyMeta { error: Some(error), ..ReplyMeta::default() }
}

/// Returns how long the sender of a message still waits for its reply.
pub(crate) fn patience_left(message: &Message, now: Timestamp) -> Duration {
    message.expires_at.since(now)
}
