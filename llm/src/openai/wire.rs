//! The bodies of `POST /chat/completions`, read leniently: only the text must be there.

use reqwest::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ChatReply, ChatRequest, FinishReason, Message, Role, Usage};

/// How much of a provider's error message is passed on; the rest is cut.
const MAX_EXCERPT_CHARS: usize = 200;

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

/// Why a body with a status of success holds no reply.
#[derive(Debug, PartialEq)]
pub(super) enum NoReply {
    /// Some providers put their refusal into a 200.
    Refused {
        status: StatusCode,
        message: String,
    },
    Malformed(String),
}

pub(super) fn parse_reply(body: &[u8]) -> Result<ChatReply, NoReply> {
    let malformed = |complaint: &str| NoReply::Malformed(complaint.to_owned());
    let body: Value = serde_json::from_str(&String::from_utf8_lossy(body))
        .map_err(|err| NoReply::Malformed(format!("not JSON ({err})")))?;
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        let status = error.get("code").and_then(Value::as_u64).and_then(status);
        let status = status.unwrap_or(StatusCode::BAD_GATEWAY);
        return Err(NoReply::Refused { status, message: message_of(error) });
    }
    let choices = body.get("choices").and_then(Value::as_array);
    let choice = choices
        .ok_or_else(|| malformed("field `choices` is no list"))?
        .first()
        .ok_or_else(|| malformed("field `choices` is empty"))?;
    let content = choice
        .get("message")
        .and_then(|message| text(message.get("content").unwrap_or(&Value::Null)))
        .ok_or_else(|| malformed("field `choices[0].message.content` is no text"))?;
    Ok(ChatReply {
        content,
        finish_reason: finish_reason(choice.get("finish_reason").and_then(Value::as_str)),
        usage: usage(body.get("usage")),
    })
}

/// Returns the provider's own words about a failure, cut, on one line.
pub(super) fn error_message(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    match serde_json::from_str::<Value>(&text) {
        Ok(body) => message_of(body.get("error").unwrap_or(&body)),
        Err(_) => excerpt(&text),
    }
}

fn message_of(error: &Value) -> String {
    match error.get("message").unwrap_or(error) {
        Value::String(message) => excerpt(message),
        other => excerpt(&other.to_string()),
    }
}

fn excerpt(text: &str) -> String {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
        if words.len() > 4 * MAX_EXCERPT_CHARS {
            break;
        }
    }
    match words.char_indices().nth(MAX_EXCERPT_CHARS) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None if words.is_empty() => "no message".to_owned(),
        None => words,
    }
}

fn status(code: u64) -> Option<StatusCode> {
    u16::try_from(code).ok().and_then(|code| StatusCode::from_u16(code).ok())
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
    fn an_error_inside_a_success_keeps_its_status() {
        let refused = parse(r#"{"error": {"code": 429, "message": "slow\n down"}}"#);
        let (status, message) = (StatusCode::TOO_MANY_REQUESTS, "slow down".to_owned());
        assert_eq!(refused, Err(NoReply::Refused { status, message }));
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

    #[test]
    fn error_messages_are_found_and_cut() {
        assert_eq!(error_message(br#"{"error": {"message": "no such model"}}"#), "no such model");
        assert_eq!(error_message(br#"{"error": "bad key"}"#), "bad key");
        assert_eq!(error_message(b"<h1>Bad\n Gateway</h1>"), "<h1>Bad Gateway</h1>");
        assert_eq!(error_message(b""), "no message");
        let long = "限".repeat(5_000);
        assert_eq!(error_message(long.as_bytes()).chars().count(), MAX_EXCERPT_CHARS + 1);
    }
}
