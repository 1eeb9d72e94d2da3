//! Looks at the items of an upload before they leave, so that a fault is told at once.

use protocol::{
    hub::{Body, FieldFault, NewKnowledge},
    librarian::{Batch, MAX_BATCH_ITEMS},
};
use serde_json::Value;

use super::Finality;
use crate::tools::Error;

/// Checks every item, and names each fault with the item's list and index.
pub fn check(batch: &Batch, finality: Finality) -> Result<(), Error> {
    if batch.is_empty() && finality == Finality::Open {
        return Err(FieldFault::new("data", "no knowledge, resources or tools in it").into());
    }
    if batch.len() > MAX_BATCH_ITEMS {
        let reason = format!("{} items; at most {MAX_BATCH_ITEMS} in one upload", batch.len());
        return Err(FieldFault::new("data", reason).into());
    }
    let mut faults = Vec::new();
    for (index, item) in batch.knowledge.iter().enumerate() {
        let place = format!("knowledge[{index}]");
        faults.extend(NewKnowledge::from_value(item).err().map(|fault| fault.within(&place)));
    }
    for (list, items, fields) in [
        ("resources", &batch.resources, &["id"][..]),
        ("tools", &batch.tools, &["name", "category"]),
    ] {
        for (index, item) in items.iter().enumerate() {
            let place = format!("{list}[{index}]");
            faults.extend(check_fields(item, fields).err().map(|fault| fault.within(&place)));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Error::Invalid(faults)) }
}

/// Checks that an item is an object with these texts; whatever else it needs, the librarian tells.
fn check_fields(item: &Value, fields: &[&str]) -> Result<(), FieldFault> {
    if !item.is_object() {
        return Err(FieldFault::new("", "must be an object"));
    }
    for &field in fields {
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

    fn fault(batch: &Value, finality: Finality, expected: &Expect) {
        let batch: Batch = serde_json::from_value(batch.clone()).unwrap();
        let text = check(&batch, finality).map_or_else(|err| err.to_string(), |()| "fine".into());
        expected.assert_eq(&text);
    }

    #[test]
    fn every_bad_item_is_named() {
        let last = Finality::Final { receipt_patience: None };
        let batch = json!({
            "knowledge": [{"task": "t", "content": "c"}, {"task": "t"}, {"task": " ", "content": 1}],
            "resources": [7, {"id": "pymupdf"}],
            "tools": [{"name": "x"}],
        });
        let named = expect![
            "invalid input: knowledge[1].content: required; knowledge[2].content: invalid type: integer `1`, expected a string; resources[0]: must be an object; tools[0].category: required, must be a text that is not blank"
        ];
        fault(&batch, Finality::Open, &named);
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
