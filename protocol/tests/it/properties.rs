//! What must hold for any text that comes from outside; tried at random here, and searched for gaps by `fuzz/`.

use std::fmt::Debug;

use protocol::{
    ContactId, KnowledgeId, ResourceId, SourceId,
    export::{Checker, ExportFault, Header, Line, Manifest},
    hub::{Body, NewContent, NewExperience, NewKnowledge, NewResource, Reseal, ResourcePatch},
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
    body_of::<NewContent>(value);
    body_of::<NewResource>(value);
    body_of::<ResourcePatch>(value);
    body_of::<Reseal>(value);
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

/// A line that is taken says the same when it is written and read again; the complaint about any other is short.
pub(crate) fn import_line(text: &[u8]) {
    match Line::parse(text) {
        Ok(line) => assert_eq!(Line::parse(line.to_json().as_bytes()).as_ref(), Ok(&line)),
        Err(fault) => assert!(fault.to_string().chars().count() < MAX_FAULT_CHARS, "{fault}"),
    }
}

/// It does not matter in which pieces an export comes, whatever it is.
pub(crate) fn import_in_pieces(bytes: &[u8], piece_bytes: usize) {
    let whole = check_pieces(std::iter::once(bytes));
    assert_eq!(check_pieces(bytes.chunks(piece_bytes.max(1))), whole);
}

fn check_pieces<'a>(
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Result<(Header, Manifest), ExportFault> {
    let mut checker = Checker::default();
    for piece in pieces {
        checker.push(piece)?;
    }
    checker.finish()
}

#[cfg(test)]
mod random {
    use proptest::{collection::vec, prelude::*};
    use serde_json::{Map, json};

    use super::*;

    /// Names of fields that some body has, beside arbitrary ones.
    const FIELDS: &str = "name|task|content|score|url|types|tags|scopes|owner|source|urls|title|body|secure_body|metadata|org|.{0,9}";

    const KINDS: &str =
        "experience|resource|knowledge|version|tombstone|evaluation|feedback|demand|manifest";

    /// Lines as exports have them, so that some get past the first.
    const EXPORT_LINES: &str = r#"\{"knowhub_export":[12],"store_id":"a","last_seq":1,"last_experience":1,"created_at":"2026-03-09T21:58:35.000Z"\}|\{"manifest":\{"counts":\{\},"sha256":"[0-9a-f]{0,4}"\}\}|\r?"#;

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
        fn any_line_is_a_record_or_none(kind in KINDS, value in any_value(), bytes: Vec<u8>) {
            import_line(json!({ kind: value }).to_string().as_bytes());
            import_line(&bytes);
        }

        #[test]
        fn any_export_may_come_in_pieces(
            lines in vec(prop_oneof![any_value().prop_map(|value| value.to_string()), EXPORT_LINES], 0..5),
            piece_bytes in 1..9_usize,
        ) {
            import_in_pieces(lines.join("\n").as_bytes(), piece_bytes);
        }

        #[test]
        fn any_value_is_a_body_or_none(value in any_value(), fields in vec((FIELDS, any_value()), 0..6)) {
            body(&value);
            let mut good = json!({ "name": "a", "task": "b", "content": "c", "id": "d/e" });
            good.as_object_mut().unwrap().extend(fields);
            body(&good);
        }
    }
}
