//! Enums whose values are single words: how each is written, and read, in one place.

/// Gives an enum the list of its values and their words, which are those of its JSON, and reads them again.
///
/// What is no such word is the fault of the field that is named.
macro_rules! words {
    ($type:ident in $field:literal: $($value:ident = $word:literal),+ $(,)?) => {
        impl $type {
            /// Every value.
            pub const ALL: &[Self] = &[$(Self::$value),+];

            /// Returns the word, as it is written everywhere.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::hub::FieldFault;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let value = Self::ALL.iter().find(|value| value.as_str() == text);
                value.copied().ok_or_else(|| {
                    let words: Vec<_> = Self::ALL.iter().map(|value| value.as_str()).collect();
                    let reason = format!("must be one of {}", words.join(", "));
                    $crate::hub::FieldFault::new($field, reason)
                })
            }
        }
    };
}

pub(super) use words;

#[cfg(test)]
mod tests {
    use std::{fmt::Debug, str::FromStr};

    use serde::{Serialize, de::DeserializeOwned};
    use serde_json::json;

    use crate::hub::{
        ContentType, DemandKind, ErrorCode, EvalStatus, FieldFault, KnowledgeStatus, MergeKind,
        Role,
    };

    #[track_caller]
    fn check<T>(all: &[T], as_str: impl Fn(T) -> &'static str, field: &str)
    where
        T: Copy + Debug + PartialEq + FromStr<Err = FieldFault> + Serialize + DeserializeOwned,
    {
        for value in all {
            let word = as_str(*value);
            assert_eq!(word.parse(), Ok(*value));
            assert_eq!(serde_json::to_value(value).unwrap(), word);
            assert_eq!(serde_json::from_value::<T>(json!(word)).unwrap(), *value);
        }
        let fault = "no such word".parse::<T>().unwrap_err();
        assert_eq!(fault.field, field);
        assert!(fault.reason.contains(as_str(all[all.len() - 1])), "{fault}");
    }

    #[test]
    fn each_value_is_written_one_way_and_read_again() {
        check(ContentType::ALL, ContentType::as_str, "content_type");
        check(DemandKind::ALL, DemandKind::as_str, "kind");
        check(EvalStatus::ALL, EvalStatus::as_str, "eval_status");
        check(KnowledgeStatus::ALL, KnowledgeStatus::as_str, "status");
        check(MergeKind::ALL, MergeKind::as_str, "kind");
        check(Role::ALL, Role::as_str, "role");
        // The last one, of which this version knows nothing, is never written.
        let (_, known) = ErrorCode::ALL.split_last().unwrap();
        check(known, ErrorCode::as_str, "code");
    }
}
