//! Reads the JSON out of what a model really sends: thoughts, prose and code fences around it.

use serde::Deserialize;
use serde_json::{Deserializer, Value};

use crate::thought;

/// How many opening braces are tried before the search ends; an object behind them is not found.
const MAX_CANDIDATES: usize = 1_000;

const FENCE: &str = "```";

/// The text holds no JSON that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoJson(&'static str);

/// Returns the object or list that `text` is, or holds in a fenced block, or else the first
/// object that stands in its prose.
///
/// What a model thinks aloud between `<think>` and `</think>` is not looked at.
pub fn find(text: &str) -> Result<Value, NoJson> {
    if let Some(value) = whole(text) {
        return Ok(value);
    }
    let said = thought::strip(text);
    let said = said.trim();
    if said.is_empty() {
        return Err(NoJson("the reply is empty"));
    }
    whole(said)
        .or_else(|| fenced(said))
        .or_else(|| bare(said))
        .ok_or(NoJson("the reply holds no complete JSON object"))
}

fn whole(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().filter(is_container)
}

fn is_container(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

fn fenced(text: &str) -> Option<Value> {
    // Between fences every second piece is a block; the last may lack its closing fence.
    text.split(FENCE).skip(1).step_by(2).find_map(|block| {
        let body = block.split_once('\n').map_or(block, |(_language, body)| body);
        whole(body).or_else(|| whole(block.trim_start_matches(char::is_alphanumeric)))
    })
}

fn bare(text: &str) -> Option<Value> {
    text.match_indices('{')
        .take(MAX_CANDIDATES)
        .find_map(|(start, _)| Value::deserialize(&mut Deserializer::from_str(&text[start..])).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn check(text: &str, expected: &Value) {
        assert_eq!(find(text).as_ref(), Ok(expected), "{text}");
    }

    #[test]
    fn finds_json_as_models_send_it() {
        let object = json!({"a": {"b": "}"}});
        check(r#"{"a": {"b": "}"}}"#, &object);
        check("```json\n{\"a\": {\"b\": \"}\"}}\n```", &object);
        check("```{\"a\": {\"b\": \"}\"}}```", &object);
        check("```json {\"a\": {\"b\": \"}\"}}```", &object);
        check("Sure! ```\n{\"a\": {\"b\": \"}\"}}", &object);
        check("<think>{\"x\": 1}?</think>\n{\"a\": {\"b\": \"}\"}}", &object);
        check("{\"x\": 1}, or rather</think>{\"a\": {\"b\": \"}\"}}", &object);
        check("好的，结果是 {\"a\": {\"b\": \"}\"}}，希望有用 {}", &object);
        check("{not json} but {\"a\": {\"b\": \"}\"}}", &object);
        check("```python\nprint({})\n```\n```json\n[1, 2]\n```", &json!([1, 2]));
        check("[]", &json!([]));
        check(r#"{"tag": "<think>"}"#, &json!({"tag": "<think>"}));
    }

    #[test]
    fn complains_where_there_is_none() {
        let empty = NoJson("the reply is empty");
        let none = NoJson("the reply holds no complete JSON object");
        for (text, complaint) in [
            ("", &empty),
            (" <think>{\"a\": 1}", &empty),
            ("I cannot help with that.", &none),
            ("42", &none),
            (r#"{"a": "cut of"#, &none),
            (r#"{"a": "\ud83d"}"#, &none),
            (r"{'a': 1}", &none),
        ] {
            assert_eq!(find(text).as_ref(), Err(complaint), "{text}");
        }
    }

    #[test]
    fn depth_is_harmless() {
        assert!(find(&"{\"a\":".repeat(100_000)).is_err());
        assert!(find(&"[".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn never_panics(text in r#"(\PC|[{}\[\]"\\`:,]|```|<think>|</think>|\n){0,60}"#) {
            let _ = find(&text);
        }

        #[test]
        fn finds_an_embedded_object(
            before in r"[^{}\[\]<`]{0,40}",
            after in r"\PC{0,40}",
            text in r"\PC{0,20}",
            number in any::<i64>(),
        ) {
            let object = json!({"text": text, "list": [number, {"deep": null}]});
            // A closing tag behind or inside the object would make a thought of what is before it.
            prop_assume!(!after.contains("</think>") && !text.contains("</think>"));
            prop_assume!(!after.contains(FENCE) && !text.contains("<think>"));
            prop_assert_eq!(find(&format!("{before}{object}{after}")), Ok(object));
        }
    }
}
