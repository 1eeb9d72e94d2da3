//! The bodies of `POST /chat/completions`, read leniently: only the text must be there.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::endpoint::reply::{self, NoReply};
use crate::{ChatReply, ChatRequest, FinishReason, Message, Role, Usage};

#[derive(Serialize)]
pub(super) struct Request<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    max_tokens: u32,
    temperature: f32,
    stream: bool,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: &'a str,
}

impl<'a> Request<'a> {
    pub(super) fn new(model: &'a str, request: &'a ChatRequest) -> Self {
        Self {
            model,
            messages: request.messages.iter().map(WireMessage::new).collect(),
            max_tokens: request.max_tokens,
            temperature: request.temperature,
            stream: false,
        }
    }
}

impl<'a> WireMessage<'a> {
    fn new(message: &'a Message) -> Self {
        let role = match message.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        Self { role, content: &message.content }
    }
}

pub(super) fn parse_reply(body: &[u8]) -> Result<ChatReply, NoReply> {
    let body = reply::parse(body)?;
    let choices = body.get("choices").and_then(Value::as_array);
    let choice = choices
        .ok_or_else(|| NoReply::malformed("field `choices` is no list"))?
        .first()
        .ok_or_else(|| NoReply::malformed("field `choices` is empty"))?;
    let content = choice
        .get("message")
        .and_then(|message| text(message.get("content").unwrap_or(&Value::Null)))
        .ok_or_else(|| NoReply::malformed("field `choices[0].message.content` is no text"))?;
    Ok(ChatReply {
        content,
        finish_reason: finish_reason(choice.get("finish_reason").and_then(Value::as_str)),
        usage: usage(body.get("usage")),
    })
}

/// A content is a string, nothing (a model that only thought), or a list of parts.
fn text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Null => Some(String::new()),
        Value::Array(parts) => {
            Some(parts.iter().filter_map(|part| part.get("text")?.as_str()).collect())
        }
        _ => None,
    }
}

fn finish_reason(reason: Option<&str>) -> FinishReason {
    match reason {
        Some("stop") => FinishReason::Stop,
        Some("length") => FinishReason::Length,
        Some("content_filter") => FinishReason::ContentFilter,
        other => FinishReason::Other(other.unwrap_or_default().to_owned()),
    }
}

fn usage(value: Option<&Value>) -> Usage {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Counted {
        prompt_tokens: u64,
        completion_tokens: u64,
        cost: Option<f64>,
    }
    // A count in a form of its own is no reason to lose the reply.
    let counted = value.and_then(|value| Counted::deserialize(value).ok()).unwrap_or_default();
    let Counted { prompt_tokens, completion_tokens, cost } = counted;
    Usage { prompt_tokens, completion_tokens, cost }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &str) -> Result<ChatReply, NoReply> {
        parse_reply(body.as_bytes())
    }

    #[test]
    fn reads_text_usage_and_cost() {
        let reply = parse(
            r#"{"choices": [{"message": {"content": "hi"}, "finish_reason": "length"}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 1, "cost": 0.5}}"#,
        );
        let usage = Usage { prompt_tokens: 3, completion_tokens: 1, cost: Some(0.5) };
        let finish_reason = FinishReason::Length;
        assert_eq!(reply, Ok(ChatReply { content: "hi".into(), finish_reason, usage }));
    }

    #[test]
    fn reads_parts_and_absent_content() {
        let parts = r#"{"choices": [{"message": {"content": [{"type": "text", "text": "a"},
            {"type": "image"}, {"type": "text", "text": "b"}]}}], "usage": {"prompt_tokens": -1}}"#;
        assert_eq!(parse(parts).expect("parts are text").content, "ab");
        let none = r#"{"choices": [{"message": {"content": null}, "finish_reason": "stop"}]}"#;
        assert_eq!(parse(none).expect("null is empty").content, "");
    }

    #[test]
    fn says_what_is_missing() {
        for (body, complaint) in [
            ("<html>", "not JSON (expected value at line 1 column 1)"),
            ("{}", "field `choices` is no list"),
            (r#"{"choices": []}"#, "field `choices` is empty"),
            (r#"{"choices": [{}]}"#, "field `choices[0].message.content` is no text"),
        ] {
            assert_eq!(parse(body), Err(NoReply::Malformed(complaint.to_owned())), "{body}");
        }
    }
}
