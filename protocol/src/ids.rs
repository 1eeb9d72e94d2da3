//! Newtypes for everything that is identified, each checked where it enters.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::time::Timestamp;

/// The text is no valid id of its kind; says what a valid one looks like.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a valid {kind}: {rule}")]
pub struct IdFault {
    kind: &'static str,
    rule: &'static str,
}

/// Makes a checked text id: `is_valid` decides, `rule` tells people what it wants, `schema` tells programs.
macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $rule:literal, [$($schema:tt)*], $is_valid:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
        #[schema(value_type = String, description = $rule, $($schema)*)]
        pub struct $name(String);

        impl $name {
            /// Returns the id as it is written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdFault;

            fn try_from(text: String) -> Result<Self, IdFault> {
                let is_valid: fn(&str) -> bool = $is_valid;
                if is_valid(&text) {
                    Ok(Self(text))
                } else {
                    Err(IdFault { kind: $kind, rule: $rule })
                }
            }
        }

        impl FromStr for $name {
            type Err = IdFault;

            fn from_str(text: &str) -> Result<Self, IdFault> {
                Self::try_from(text.to_owned())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::try_from(String::deserialize(deserializer)?).map_err(de::Error::custom)
            }
        }
    };
}

text_id!(
    /// Who sends and receives on the relay: 1 to 128 of `[A-Za-z0-9._@/-]`, case-sensitive.
    ///
    /// Short-lived clients use `name/instance` with a random instance.
    ContactId,
    "contact id",
    "1 to 128 characters of A-Z a-z 0-9 . _ @ / -",
    [pattern = "^[A-Za-z0-9._@/-]{1,128}$"],
    |text| (1..=128).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._@/-".contains(&b))
);

impl ContactId {
    /// Returns the contact `{self}/{instance}`, for one short-lived client of this name.
    ///
    /// # Errors
    ///
    /// When the result would be no contact id.
    pub fn instance(&self, instance: &str) -> Result<Self, IdFault> {
        Self::try_from(format!("{}/{instance}", self.0))
    }
}

text_id!(
    /// One conversation of a sender: 1 to 128 bytes without control characters.
    ChatId,
    "chat id",
    "1 to 128 bytes without control characters",
    [min_length = 1, max_length = 128],
    |text| (1..=128).contains(&text.len()) && !text.chars().any(char::is_control)
);

text_id!(
    /// A knowledge record: `knowledge-YYYYMMDD-HHMMSS-xxxx`, or without the time of day.
    KnowledgeId,
    "knowledge id",
    "knowledge-YYYYMMDD-HHMMSS-xxxx or knowledge-YYYYMMDD-xxxx, xxxx four lower-case hex digits",
    [pattern = "^knowledge-[0-9]{8}(-[0-9]{6})?-[0-9a-f]{4}$"],
    is_knowledge_id
);

fn is_knowledge_id(text: &str) -> bool {
    let is_digits = |part: &str, len| part.len() == len && part.bytes().all(|b| b.is_ascii_digit());
    let is_hex = |part: &str| {
        part.len() == 4 && part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    match text.split('-').collect::<Vec<_>>()[..] {
        ["knowledge", date, suffix] => is_digits(date, 8) && is_hex(suffix),
        ["knowledge", date, time, suffix] => {
            is_digits(date, 8) && is_digits(time, 6) && is_hex(suffix)
        }
        _ => false,
    }
}

impl KnowledgeId {
    /// Returns the id of a record made at `now`; `random` gives its four hex digits.
    ///
    /// Four digits collide in a burst: whoever stores the record draws again.
    pub fn new(now: Timestamp, random: u16) -> Self {
        let (date, time) = now.date_and_time_digits();
        Self(format!("knowledge-{date}-{time}-{random:04x}"))
    }
}

text_id!(
    /// A stored resource or content: a path such as `pymupdf` or `org/tools/name`, up to 512 bytes.
    ///
    /// Segments are separated by `/`, not empty, and neither `.` nor `..`.
    /// White space, control characters, brackets and backslashes do not occur, so that an id can stand in a citation.
    ResourceId,
    "resource id",
    "a path of up to 512 bytes: segments separated by /, none empty, . or .., without white space, control characters, [ ] or \\",
    [
        max_length = 512,
        pattern = r"^(?!\.{1,2}(/|$))[^/\s\[\]\\\x00-\x1f\x7f-\x9f]+(/(?!\.{1,2}(/|$))[^/\s\[\]\\\x00-\x1f\x7f-\x9f]+)*$"
    ],
    |text| text.len() <= 512
        && text.split('/').all(|part| !matches!(part, "" | "." | ".."))
        && !text.chars().any(|c| c.is_whitespace() || c.is_control() || "[]\\".contains(c))
);

/// A reported experience, numbered from 1 by the hub.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(transparent)]
pub struct ExperienceId(pub i64);

impl fmt::Display for ExperienceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for ExperienceId {
    type Err = IdFault;

    fn from_str(text: &str) -> Result<Self, IdFault> {
        let number = text.parse().ok().filter(|number| *number >= 1);
        number.map(Self).ok_or(IdFault { kind: "experience id", rule: "a whole number from 1" })
    }
}

/// A message on the relay: a UUID made by its sender, the key that removes doubles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(pub Uuid);

impl MessageId {
    /// Draws a new random id.
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }

    /// Returns the id of *the* reply to message `request` of `asker`.
    ///
    /// Whoever answers uses the same id, so that two librarians cannot answer twice.
    pub fn of_reply(asker: &ContactId, request: Self) -> Self {
        let name = format!("{asker}\n{request}");
        Self(Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()))
    }

    /// Returns the `Idempotency-Key` of the item at `index` of its list in the upload that is this message of `sender`.
    ///
    /// Whoever brings the item to the hub uses the same key.
    /// A hub with tokens keeps the keys of each principal apart, so there it is the way that must be the same too.
    pub fn item_key(self, sender: &ContactId, index: usize) -> String {
        format!("{sender}/{self}/{index}")
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for MessageId {
    type Err = IdFault;

    fn from_str(text: &str) -> Result<Self, IdFault> {
        Uuid::parse_str(text)
            .map(Self)
            .map_err(|_| IdFault { kind: "message id", rule: "a UUID made by the sender" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T: FromStr>(valid: &[&str], invalid: &[&str]) {
        for text in valid {
            assert!(text.parse::<T>().is_ok(), "should be valid: {text:?}");
        }
        for text in invalid {
            assert!(text.parse::<T>().is_err(), "should be invalid: {text:?}");
        }
    }

    #[test]
    fn contact_ids() {
        let longest = "a".repeat(128);
        let too_long = "a".repeat(129);
        check::<ContactId>(
            &["a", "agent/7f3a", "me@example.com", "../x", &longest],
            &["", &too_long, "a b", "a\0b", "a\u{2028}b", "代理", "a:b"],
        );
    }

    #[test]
    fn knowledge_ids() {
        check::<KnowledgeId>(
            &["knowledge-20260305-a1b2", "knowledge-20260309-215835-a699"],
            &["", "knowledge-", "knowledge-2026-a1b2", "knowledge-20260305-A1B2", "experience-1"],
        );
        let now: Timestamp = "2026-03-09T21:58:35Z".parse().unwrap();
        assert_eq!(KnowledgeId::new(now, 0xa699).as_str(), "knowledge-20260309-215835-a699");
    }

    #[test]
    fn resource_ids() {
        let too_long = "a".repeat(513);
        check::<ResourceId>(
            &["pymupdf", "attention-paper/section-3-2", "org/tools/100%_ok", "论文/第一节"],
            &["", "/a", "a/", "a//b", "a/../b", ".", "a b", "a]b", "a\\b", "a\nb", &too_long],
        );
    }

    #[test]
    fn experience_ids() {
        check::<ExperienceId>(
            &["1", "9007199254740991"],
            &["", "0", "-1", "x", "1.0", "9223372036854775808"],
        );
        assert_eq!("7".parse(), Ok(ExperienceId(7)));
    }

    #[test]
    fn a_reply_id_depends_on_asker_and_request_alone() {
        let (a, b) = ("a".parse().unwrap(), "b".parse().unwrap());
        let request = MessageId::random();
        assert_eq!(MessageId::of_reply(&a, request), MessageId::of_reply(&a, request));
        assert_ne!(MessageId::of_reply(&a, request), MessageId::of_reply(&b, request));
        assert_ne!(MessageId::of_reply(&a, request), MessageId::of_reply(&a, MessageId::random()));
    }

    #[test]
    fn a_bad_id_in_json_says_what_is_right() {
        let err = serde_json::from_str::<ContactId>("\"a b\"").unwrap_err().to_string();
        assert!(err.contains("contact id: 1 to 128 characters"), "{err}");
    }
}
