//! The bodies of `POST /embeddings`, read with care: a vector that is none must not be stored.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;
use serde_json::Value;

use crate::endpoint::reply::{self, NoReply};

#[derive(Serialize)]
pub(super) struct Request<'a> {
    model: &'a str,
    input: &'a [String],
    encoding_format: &'static str,
}

impl<'a> Request<'a> {
    pub(super) fn new(model: &'a str, input: &'a [String]) -> Self {
        Self { model, input, encoding_format: "float" }
    }
}

/// Reads the vectors of `count` texts, in the order of the texts.
///
/// What is no vector gets a complaint of its own, since the others may be good.
pub(super) fn parse_reply(
    body: &[u8],
    count: usize,
) -> Result<Vec<Result<Vec<f32>, String>>, NoReply> {
    let body = reply::parse(body)?;
    let data = body.get("data").and_then(Value::as_array);
    let data = data.ok_or_else(|| NoReply::malformed("field `data` is no list"))?;
    if data.len() != count {
        let complaint = format!("field `data` has {} vectors for {count} texts", data.len());
        return Err(NoReply::Malformed(complaint));
    }
    let mut vectors: Vec<_> = vec![None; count];
    for (position, item) in data.iter().enumerate() {
        let place = index(item, position).and_then(|index| vectors.get_mut(index));
        let Some(place @ None) = place else {
            let complaint = format!(
                "field `data[{position}].index` is not one of 0 to {}, each once",
                count - 1
            );
            return Err(NoReply::Malformed(complaint));
        };
        let found = vector(item.get("embedding").unwrap_or(&Value::Null));
        *place = Some(found.map_err(|what| format!("field `data[{position}].embedding` {what}")));
    }
    Ok(vectors.into_iter().flatten().collect())
}

/// Returns which text an element is about; without a number they are in the order of the texts.
fn index(item: &Value, position: usize) -> Option<usize> {
    match item.get("index") {
        None | Some(Value::Null) => Some(position),
        Some(index) => index.as_u64().and_then(|index| usize::try_from(index).ok()),
    }
}

fn vector(embedding: &Value) -> Result<Vec<f32>, &'static str> {
    let vector: Option<Vec<f32>> = match embedding {
        Value::Array(values) => {
            values.iter().map(|value| value.as_f64().map(|value| value as f32)).collect()
        }
        Value::String(text) => BASE64_STANDARD.decode(text).ok().and_then(|bytes| {
            let (values, rest) = bytes.as_chunks();
            rest.is_empty().then(|| values.iter().map(|value| f32::from_le_bytes(*value)).collect())
        }),
        _ => None,
    };
    let vector = vector.ok_or("is no list of numbers")?;
    if vector.is_empty() {
        return Err("is empty");
    }
    Ok(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &str, count: usize) -> Result<Vec<Result<Vec<f32>, String>>, NoReply> {
        parse_reply(body.as_bytes(), count)
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        for body in [
            r#"{"data": [{"embedding": [1, 0.5]}, {"embedding": [-2e0, 0]}]}"#,
            r#"{"data": [{"index": 1, "embedding": [-2, 0]}, {"index": 0, "embedding": [1, 0.5]}]}"#,
            r#"{"data": [{"index": 0, "embedding": "AACAPwAAAD8="}, {"index": 1, "embedding": "AAAAwAAAAAA="}]}"#,
        ] {
            let expected = vec![Ok(vec![1.0, 0.5]), Ok(vec![-2.0, 0.0])];
            assert_eq!(parse(body, 2), Ok(expected), "{body}");
        }
    }

    #[test]
    fn says_what_is_wrong_with_the_reply() {
        for (body, complaint) in [
            ("[NaN]", "not JSON (expected value at line 1 column 2)"),
            ("{}", "field `data` is no list"),
            (r#"{"data": []}"#, "field `data` has 0 vectors for 2 texts"),
            (
                r#"{"data": [{"index": 1, "embedding": [1]}, {"index": 1, "embedding": [1]}]}"#,
                "field `data[1].index` is not one of 0 to 1, each once",
            ),
            (
                r#"{"data": [{"index": 2, "embedding": [1]}, {"index": -1, "embedding": [1]}]}"#,
                "field `data[0].index` is not one of 0 to 1, each once",
            ),
        ] {
            assert_eq!(parse(body, 2), Err(NoReply::malformed(complaint)), "{body}");
        }
    }

    #[test]
    fn says_which_vector_is_none() {
        for (embedding, complaint) in [
            ("null", "is no list of numbers"),
            ("[]", "is empty"),
            ("[1, null]", "is no list of numbers"),
            (r#"["1"]"#, "is no list of numbers"),
            (r#""no base64""#, "is no list of numbers"),
            (r#""AAAA""#, "is no list of numbers"),
            ("[[1]]", "is no list of numbers"),
        ] {
            let body =
                format!(r#"{{"data": [{{"embedding": [1]}}, {{"embedding": {embedding}}}]}}"#);
            let expected = format!("field `data[1].embedding` {complaint}");
            assert_eq!(parse(&body, 2), Ok(vec![Ok(vec![1.0]), Err(expected)]), "{embedding}");
        }
    }
}
