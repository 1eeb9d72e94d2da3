//! What must hold for any text that comes from outside; tried at random here, and searched for gaps by `fuzz/`.

use std::fmt::Debug;

use protocol::{
    ContactId, KnowledgeId, ResourceId, SourceId,
    hub::{Body, NewExperience, NewKnowledge},
};
use serde::Serialize;
use serde_json::Value;

/// The longest complaint about a body: no caller gets back whatever large text it sent.
const MAX_FAULT_CHARS: usize = 1_000;

/// An id that is taken is kept as it came, can be cited, and as a path leads nowhere but down.
pub(crate) fn path_id(text: &str) {
    let _ = (text.parse::<ContactId>(), text.parse::<KnowledgeId>(), text.parse::<SourceId>());
    let Ok(id) = text.parse::<ResourceId>() else { return };
    assert_eq!(id.as_str(), text);
    assert!(text.split('/').all(|part| !["", ".", ".."].contains(&part)), "{text:?}");
    let written = serde_json::to_string(&id).expect("an id can be written");
    assert_eq!(serde_json::from_str::<ResourceId>(&written).ok().as_ref(), Some(&id));
    let cited = SourceId::Resource(id);
    assert_eq!(cited.to_string().parse().ok(), Some(cited));
}

/// A body that is taken says the same when it is written and read again; the complaint about any other is short.
pub(crate) fn body(value: &Value) {
    body_of::<NewExperience>(value);
    body_of::<NewKnowledge>(value);
}

fn body_of<T: Body + Serialize + PartialEq + Debug>(value: &Value) {
    match T::from_value(value) {
        Ok(body) => {
            let written = serde_json::to_value(&body).expect("a body can be written");
            assert_eq!(T::from_value(&written).as_ref(), Ok(&body));
        }
        Err(fault) => assert!(fault.to_string().chars().count() < MAX_FAULT_CHARS, "{fault}"),
    }
}

#[cfg(test)]
mod random {
    use proptest::{collection::vec, prelude::*};
    use serde_json::{Map, json};

    use super::*;

    /// Names of fields that some body has, beside arbitrary ones.
    const FIELDS: &str = "name|task|content|score|url|types|tags|scopes|owner|source|urls|.{0,9}";

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            (1..6_u8).prop_map(Value::from),
            ".{0,20}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Value::from),
                vec((FIELDS, inner), 0..4)
                    .prop_map(|pairs| Value::from(pairs.into_iter().collect::<Map<_, _>>())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_text_is_an_id_or_none(text: String, part in "[a-z./%论\\[\\] ]{0,12}") {
            path_id(&text);
            path_id(&part);
        }

        #[test]
        fn any_value_is_a_body_or_none(value in any_value(), fields in vec((FIELDS, any_value()), 0..6)) {
            body(&value);
            let mut good = json!({ "name": "a", "task": "b", "content": "c" });
            good.as_object_mut().unwrap().extend(fields);
            body(&good);
        }
    }
}
