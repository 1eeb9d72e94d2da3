//! What the author of a resource notes about it beside its text.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{
    MAX_LIST_ITEMS, PlainTexts,
    body::{FieldFault, check_bound},
    depth::check_entry_depths,
};
use crate::time::Timestamp;

/// The largest metadata, in bytes as JSON; larger ones are refused with 422.
pub const MAX_METADATA_BYTES: usize = 16 * 1024;

/// A JSON object: `language`, `acquired_at` and `expires_at` have a meaning, all other keys are the author's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = Object, example = json!({
    "acquired_at": "2026-03-06T10:00:00Z", "expires_at": "2026-04-06T10:00:00Z"
}))]
pub struct Metadata(pub Map<String, Value>);

impl Metadata {
    /// Returns when the resource stops working; absent when nobody said, or not readably.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.0.get("expires_at")?.as_str()?.parse().ok()
    }

    /// Returns whether the resource is known to have stopped working by `now`.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at().is_some_and(|end| end <= now)
    }

    /// Takes over each key of `changes`; one that is `null` there is removed.
    pub fn merge(&mut self, changes: Self) {
        for (key, value) in changes.0 {
            if value.is_null() {
                self.0.remove(&key);
            } else {
                self.0.insert(key, value);
            }
        }
    }

    /// Returns all texts in it by their keys, and the keys themselves, which no field names.
    pub fn plain_texts(&self) -> PlainTexts<'_> {
        self.0
            .iter()
            .fold(PlainTexts::default(), |texts, (key, value)| texts.text("", key).json(key, value))
    }

    /// Checks times and bounds, [`MAX_JSON_DEPTH`](super::MAX_JSON_DEPTH) among them.
    ///
    /// # Errors
    ///
    /// Names the key that is wrong, such as `metadata.expires_at`.
    pub fn check(&self) -> Result<(), FieldFault> {
        if self.0.len() > MAX_LIST_ITEMS {
            return Err(FieldFault::new("metadata", format!("more than {MAX_LIST_ITEMS} entries")));
        }
        for key in self.0.keys() {
            check_bound("metadata", key)?;
        }
        for key in ["acquired_at", "expires_at"] {
            self.check_text(key, |text| text.parse::<Timestamp>().map_err(|err| err.to_string()))?;
        }
        self.check_text("language", |_| Ok(()))?;
        check_entry_depths("metadata", self.0.values())?;
        let bytes = serde_json::to_string(&self.0).map_or(usize::MAX, |json| json.len());
        if bytes > MAX_METADATA_BYTES {
            let reason = format!("longer than {MAX_METADATA_BYTES} bytes of JSON");
            return Err(FieldFault::new("metadata", reason));
        }
        Ok(())
    }

    fn check_text<T>(
        &self,
        key: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<(), FieldFault> {
        let field = || format!("metadata.{key}");
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(()),
            Some(Value::String(text)) => {
                check_bound(&field(), text)?;
                read(text).map(drop).map_err(|reason| FieldFault::new(field(), reason))
            }
            Some(_) => Err(FieldFault::new(field(), "must be text")),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metadata(value: Value) -> Metadata {
        serde_json::from_value(value).unwrap()
    }

    #[track_caller]
    fn check(value: Value, expected: Option<(&str, &str)>) {
        let fault = metadata(value).check().err();
        let fault = fault.as_ref().map(|fault| (fault.field.as_str(), fault.reason.as_str()));
        assert_eq!(fault, expected);
    }

    #[test]
    fn times_and_bounds_are_checked() {
        check(json!({}), None);
        check(json!({ "language": "rust", "expires_at": "2026-03-06T10:00:00+08:00" }), None);
        check(json!({ "expires_at": null, "free": { "of": ["any", "shape"] } }), None);
        check(
            json!({ "expires_at": "next week" }),
            Some((
                "metadata.expires_at",
                "not an RFC 3339 time such as 2026-03-20T10:00:00.000Z: `next week`",
            )),
        );
        check(json!({ "acquired_at": 7 }), Some(("metadata.acquired_at", "must be text")));
        check(json!({ "language": ["rust"] }), Some(("metadata.language", "must be text")));
        let many: Map<String, Value> = (0..101).map(|n| (n.to_string(), json!(n))).collect();
        check(Value::Object(many), Some(("metadata", "more than 100 entries")));
        check(
            json!({ "long": "字".repeat(6_000) }),
            Some(("metadata", "longer than 16384 bytes of JSON")),
        );
        let deep = (0..32).fold(json!(1), |value, _| json!([value]));
        check(json!({ "deep": deep }), Some(("metadata", "nests more than 32 lists and objects")));
        check(json!({ "deep": deep[0] }), None);
    }

    #[test]
    fn expiry_is_a_matter_of_now() {
        let noon = metadata(json!({ "expires_at": "2026-03-06T12:00:00Z" }));
        assert!(!noon.is_expired("2026-03-06T11:59:59.999Z".parse().unwrap()));
        assert!(noon.is_expired("2026-03-06T12:00:00Z".parse().unwrap()));
        assert!(!metadata(json!({ "expires_at": "soon" })).is_expired(Timestamp::from_millis(0)));
    }

    #[test]
    fn merging_sets_and_removes() {
        let mut kept = metadata(json!({ "language": "zh", "a": 1 }));
        kept.merge(metadata(json!({ "a": null, "b": 2 })));
        assert_eq!(kept, metadata(json!({ "language": "zh", "b": 2 })));
    }
}
