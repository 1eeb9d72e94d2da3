//! Decides what a message is to the librarian; knows no wires.

use librarian_core::upload::{Conversation, Finalize, Part};
use protocol::librarian::{GrammarFault, Items, Request};
use protocol::{ContactId, MessageId, Timestamp, im};

/// What is to be done about a message.
#[derive(Debug, PartialEq)]
pub(crate) enum Matter {
    /// A question.
    Ask(String),
    /// Something to store.
    Upload(Part),
    /// None the librarian understands, and its sender should know.
    Malformed(GrammarFault),
    /// Nothing; the reason is for the log.
    Nothing(&'static str),
}

/// Sorts a message that came to the contact `own`.
pub(crate) fn sort(message: &im::Message, own: &ContactId, now: Timestamp) -> Matter {
    if message.from == *own {
        return Matter::Nothing("it comes from the librarian itself");
    }
    match message.content.parse() {
        Ok(Request::Ask(_)) if message.expires_at <= now => {
            Matter::Nothing("its asker has stopped waiting")
        }
        Ok(Request::Ask(query)) => Matter::Ask(query),
        Ok(Request::Upload(items)) => Matter::Upload(part(message, items, None)),
        Ok(Request::Finalize { items, parts }) => Matter::Upload(part(message, items, Some(parts))),
        // Two programs that answer each other's replies would go on forever.
        Err(GrammarFault::UnknownPrefix) if message.in_reply_to.is_some() => {
            Matter::Nothing("it is a reply to something else")
        }
        Err(fault) => Matter::Malformed(fault),
    }
}

fn part(message: &im::Message, items: Items, finalize: Option<Vec<MessageId>>) -> Part {
    Part {
        conversation: Conversation { sender: message.from.clone(), chat: message.chat_id.clone() },
        id: message.id,
        items,
        size_bytes: message.content.len(),
        finalize: finalize.map(|parts| Finalize { parts }),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn now() -> Timestamp {
        "2026-03-20T10:00:00Z".parse().expect("a time")
    }

    fn message(content: &str) -> im::Message {
        im::Message {
            seq: 1,
            id: MessageId::random(),
            from: "agent/1".parse().expect("a contact"),
            to: "knowledge_manager".parse().expect("a contact"),
            content: content.to_owned(),
            chat_id: Some("chat".parse().expect("a chat")),
            in_reply_to: None,
            meta: None,
            sent_at: now(),
            expires_at: now().after(Duration::from_secs(30)),
            attempt: 1,
        }
    }

    fn sorted(message: &im::Message) -> Matter {
        sort(message, &message.to, now())
    }

    #[test]
    fn questions_and_uploads_are_recognized() {
        assert_eq!(sorted(&message("[ASK] how?")), Matter::Ask("how?".to_owned()));
        let Matter::Upload(part) = sorted(&message(r#"[UPLOAD] {"knowledge": [{}]}"#)) else {
            panic!("an upload");
        };
        assert_eq!((part.items.knowledge.len(), part.finalize, part.size_bytes), (1, None, 28));
        assert_eq!(part.conversation.chat.expect("it has one").as_str(), "chat");
        let Matter::Upload(part) = sorted(&message("[UPLOAD:FINALIZE] {}")) else {
            panic!("an upload");
        };
        assert_eq!(part.finalize, Some(Finalize::default()));
    }

    #[test]
    fn what_is_not_understood_is_told_once() {
        for content in ["hello", "", "[ASK]", "[UPLOAD] {", "[UPLOAD] []"] {
            let message = message(content);
            assert!(matches!(sorted(&message), Matter::Malformed(_)), "{content}");
        }
    }

    #[test]
    fn replies_and_own_messages_are_never_answered() {
        let reply = im::Message { in_reply_to: Some(MessageId::random()), ..message("thanks") };
        assert!(matches!(sorted(&reply), Matter::Nothing(_)));
        let own = message("[ASK] how?");
        assert!(matches!(sort(&own, &own.from, now()), Matter::Nothing(_)));
    }

    #[test]
    fn a_follow_up_question_is_a_question() {
        let follow_up =
            im::Message { in_reply_to: Some(MessageId::random()), ..message("[ASK] and then?") };
        assert_eq!(sorted(&follow_up), Matter::Ask("and then?".to_owned()));
    }

    #[test]
    fn an_expired_question_is_nothing_but_an_upload_never_expires_here() {
        let late = |content| im::Message { expires_at: now(), ..message(content) };
        assert!(matches!(sorted(&late("[ASK] how?")), Matter::Nothing(_)));
        assert!(matches!(sorted(&late("[UPLOAD] {}")), Matter::Upload(_)));
    }
}
