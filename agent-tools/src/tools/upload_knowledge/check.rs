//! Looks at the items of an upload before they leave, so that a fault is told at once.

use librarian_core::upload::NO_SECRETS;
use protocol::{
    hub::{Body, FieldFault, NewKnowledge, NewResource},
    librarian::{ItemKind, Items, MAX_UPLOAD_ITEMS},
};
use serde_json::Value;

use super::Finality;
use crate::tools::Error;

/// Checks every item, and names each fault with the item's list and index.
pub fn check(items: &Items, finality: Finality) -> Result<(), Error> {
    if items.is_empty() && finality == Finality::Open {
        return Err(FieldFault::new("data", "no knowledge, resources or tools in it").into());
    }
    if items.len() > MAX_UPLOAD_ITEMS {
        let reason = format!("{} items; at most {MAX_UPLOAD_ITEMS} in one upload", items.len());
        return Err(FieldFault::new("data", reason).into());
    }
    let faults = items.entries().filter_map(|(kind, index, item)| {
        let (list, checked) = match kind {
            ItemKind::Knowledge => ("knowledge", NewKnowledge::from_value(item).map(drop)),
            ItemKind::Resource => ("resources", check_resource(item)),
            ItemKind::Tool => ("tools", check_tool(item)),
        };
        checked.err().map(|fault| fault.within(&format!("{list}[{index}]")))
    });
    let faults: Vec<_> = faults.collect();
    if faults.is_empty() { Ok(()) } else { Err(Error::Invalid(faults)) }
}

/// Checks a resource; a secret is stopped here, before the relay has it on disk.
fn check_resource(item: &Value) -> Result<(), FieldFault> {
    if item.get("secure_body").is_some() {
        return Err(FieldFault::new("secure_body", NO_SECRETS));
    }
    NewResource::from_value(item).map(drop)
}

/// Checks that a tool has the texts it must have; the librarian tells what becomes of it.
fn check_tool(item: &Value) -> Result<(), FieldFault> {
    if !item.is_object() {
        return Err(FieldFault::new("", "must be an object"));
    }
    for field in ["name", "category"] {
        let is_there = item[field].as_str().is_some_and(|text| !text.trim().is_empty());
        if !is_there {
            return Err(FieldFault::new(field, "required, must be a text that is not blank"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn fault(items: &Value, finality: Finality, expected: &Expect) {
        let items: Items = serde_json::from_value(items.clone()).unwrap();
        let text = check(&items, finality).map_or_else(|err| err.to_string(), |()| "fine".into());
        expected.assert_eq(&text);
    }

    #[test]
    fn every_bad_item_is_named() {
        let last = Finality::Final { receipt_patience: None };
        let items = json!({
            "knowledge": [{"task": "t", "content": "c"}, {"task": "t"}, {"task": " ", "content": 1}],
            "resources": [7, {"id": "pymupdf"}, {"id": "a b"}, {"id": "acme", "secure_body": "hunter2"}],
            "tools": [{"name": "x"}],
        });
        let named = expect![
            "invalid input: knowledge[1].content: required; knowledge[2].content: invalid type: integer `1`, expected a string; resources[0]: must be a JSON object; resources[2].id: not a valid resource id: a path of up to 512 bytes: segments separated by /, none empty, . or .., without white space, control characters, [ ] or \\; resources[3].secure_body: a secret must not lie in a message; send the resource to the hub itself, with `knowhub resource put` or POST /api/resource; tools[0].category: required, must be a text that is not blank"
        ];
        fault(&items, Finality::Open, &named);
        fault(
            &json!({}),
            Finality::Open,
            &expect!["invalid input: data: no knowledge, resources or tools in it"],
        );
        fault(&json!({}), last, &expect!["fine"]);
        let many = json!({ "knowledge": vec![json!({"task": "t"}); 501] });
        fault(&many, last, &expect!["invalid input: data: 501 items; at most 500 in one upload"]);
        let bad = json!({ "knowledge": vec![json!(null); 12] });
        let text = check(&serde_json::from_value(bad).unwrap(), last).unwrap_err().to_string();
        assert!(text.ends_with("; and 2 more"), "{text}");
    }
}
