//! The librarian's grammar as a pair: what is written is read again, and nothing makes it panic.

use proptest::prelude::*;
use protocol::{
    MessageId,
    librarian::{GrammarFault, Items, Request},
};
use serde_json::{Value, json};
use uuid::Uuid;

fn parse(text: &str) -> Result<Request, GrammarFault> {
    text.parse()
}

#[test]
fn reads_the_three_kinds() {
    assert_eq!(parse("[ASK] 怎么提取表格？"), Ok(Request::Ask("怎么提取表格？".into())));
    assert_eq!(parse("  [ASK]how?\n"), Ok(Request::Ask("how?".into())));
    let item = json!({"task": "t", "content": "c"});
    let items = Items { knowledge: vec![item.clone()], ..Items::default() };
    let text = format!("[UPLOAD] {}", json!({"knowledge": [item]}));
    assert_eq!(parse(&text), Ok(Request::Upload(items)));
    let nothing = Request::Finalize { items: Items::default(), parts: vec![] };
    assert_eq!(parse("[UPLOAD:FINALIZE]"), Ok(nothing.clone()));
    assert_eq!(parse("[UPLOAD:FINALIZE] {}"), Ok(nothing));
}

#[test]
fn says_what_is_wrong() {
    assert_eq!(parse("hello"), Err(GrammarFault::UnknownPrefix));
    assert_eq!(parse("[ask] lower case"), Err(GrammarFault::UnknownPrefix));
    assert_eq!(parse("[ASK]"), Err(GrammarFault::EmptyQuestion));
    let long = format!("[ASK] {}", "表".repeat(4_001));
    assert_eq!(parse(&long), Err(GrammarFault::LongQuestion { chars: 4_001 }));
    for (json, reason) in [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "expected an object"),
        (r#"{"knowledge": {}}"#, "knowledge: must be a list"),
        (r#"{"tools": "x"}"#, "tools: must be a list"),
        (r#"{"parts": ["x"]}"#, "parts: "),
        (r#"{"knowlege": [{}]}"#, "none of the lists knowledge, resources, tools, parts"),
    ] {
        let fault = parse(&format!("[UPLOAD] {json}")).unwrap_err().to_string();
        assert!(fault.starts_with("[UPLOAD]") && fault.contains(reason), "{fault}");
    }
    let many = json!({"knowledge": vec![json!({}); 300], "tools": vec![json!({}); 201]});
    let fault = parse(&format!("[UPLOAD] {many}")).unwrap_err().to_string();
    assert!(fault.contains("more than 500 items"), "{fault}");
}

fn values() -> impl Strategy<Value = Vec<Value>> {
    let value = prop_oneof![
        any::<String>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(Value::Null),
        proptest::collection::btree_map(any::<String>(), any::<String>(), 0..3)
            .prop_map(|fields| json!(fields)),
    ];
    proptest::collection::vec(value, 0..4)
}

fn items() -> impl Strategy<Value = Items> {
    (values(), values(), values()).prop_map(|(knowledge, resources, tools)| Items {
        knowledge,
        resources,
        tools,
    })
}

fn requests() -> impl Strategy<Value = Request> {
    let parts = proptest::collection::vec(any::<u128>(), 0..4)
        .prop_map(|parts| parts.into_iter().map(|bits| MessageId(Uuid::from_u128(bits))).collect());
    let questions = "\\PC{1,50}"
        .prop_map(|text: String| text.trim().to_owned())
        .prop_filter("a question is not blank", |text| !text.is_empty());
    prop_oneof![
        questions.prop_map(Request::Ask),
        items().prop_map(Request::Upload),
        (items(), parts).prop_map(|(items, parts)| Request::Finalize { items, parts }),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(request in requests()) {
        prop_assert_eq!(parse(&request.to_string()), Ok(request));
    }

    #[test]
    fn no_text_makes_it_panic(
        prefix in "(\\[ASK\\]|\\[UPLOAD\\]|\\[UPLOAD:FINALIZE\\])?",
        text in any::<String>(),
    ) {
        let _ = parse(&format!("{prefix}{text}")).map_err(|fault| fault.to_string());
    }
}
