//! What every reply has in common, whatever the service: JSON, or a provider's own words about a failure.

use reqwest::StatusCode;
use serde_json::Value;

/// How much of a provider's error message is passed on; the rest is cut.
const MAX_EXCERPT_CHARS: usize = 200;

/// Why a body with a status of success holds no reply.
#[derive(Debug, PartialEq)]
pub(crate) enum NoReply {
    /// Some providers put their refusal into a 200.
    Refused {
        status: StatusCode,
        message: String,
    },
    Malformed(String),
}

impl NoReply {
    pub(crate) fn malformed(complaint: impl Into<String>) -> Self {
        Self::Malformed(complaint.into())
    }
}

/// Reads a body that is JSON, and no error of the provider.
pub(crate) fn parse(body: &[u8]) -> Result<Value, NoReply> {
    let body: Value = serde_json::from_str(&String::from_utf8_lossy(body))
        .map_err(|err| NoReply::Malformed(format!("not JSON ({err})")))?;
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        let status = error.get("code").and_then(Value::as_u64).and_then(status);
        let status = status.unwrap_or(StatusCode::BAD_GATEWAY);
        return Err(NoReply::Refused { status, message: message_of(error) });
    }
    Ok(body)
}

/// Returns the provider's own words about a failure, cut, on one line.
pub(crate) fn error_message(body: &[u8]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_inside_a_success_keeps_its_status() {
        let refused = parse(r#"{"error": {"code": 429, "message": "slow\n down"}}"#.as_bytes());
        let (status, message) = (StatusCode::TOO_MANY_REQUESTS, "slow down".to_owned());
        assert_eq!(refused, Err(NoReply::Refused { status, message }));
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
