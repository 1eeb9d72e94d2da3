//! How deep free JSON may nest: readers of JSON give up at some depth, and what is stored must stay readable.

use serde_json::Value;

use super::FieldFault;

/// The most lists and objects that a value of free JSON may nest, itself included; a deeper one is refused with 422.
pub const MAX_JSON_DEPTH: usize = 32;

/// Checks that a value nests at most [`MAX_JSON_DEPTH`] lists and objects.
///
/// # Errors
///
/// Names `field` when it nests more.
pub fn check_depth(field: &str, value: &Value) -> Result<(), FieldFault> {
    check_depths(field, [value], MAX_JSON_DEPTH)
}

/// Checks the entries of an object or a list, which is itself one of the [`MAX_JSON_DEPTH`].
pub(super) fn check_entry_depths<'a>(
    field: &str,
    entries: impl IntoIterator<Item = &'a Value>,
) -> Result<(), FieldFault> {
    check_depths(field, entries, MAX_JSON_DEPTH - 1)
}

pub(super) fn check_depths<'a>(
    field: &str,
    values: impl IntoIterator<Item = &'a Value>,
    limit: usize,
) -> Result<(), FieldFault> {
    if values.into_iter().all(|value| nests_at_most(value, limit)) {
        return Ok(());
    }
    let reason = format!("nests more than {MAX_JSON_DEPTH} lists and objects");
    Err(FieldFault::new(field, reason))
}

/// Looks no deeper than `limit`, however deep the value is.
fn nests_at_most(value: &Value, limit: usize) -> bool {
    let inner = |limit: usize| limit.checked_sub(1);
    match value {
        Value::Array(list) => {
            inner(limit).is_some_and(|rest| list.iter().all(|value| nests_at_most(value, rest)))
        }
        Value::Object(map) => {
            inner(limit).is_some_and(|rest| map.values().all(|value| nests_at_most(value, rest)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!("x"), |value, level| match level % 2 {
            0 => json!([value]),
            _ => json!({ "a": value }),
        })
    }

    #[test]
    fn lists_and_objects_nest_to_a_bound() {
        for depth in [0, 1, MAX_JSON_DEPTH] {
            assert_eq!(check_depth("x", &nested(depth)), Ok(()), "{depth}");
        }
        for depth in [MAX_JSON_DEPTH + 1, 120] {
            let fault = check_depth("x", &nested(depth)).unwrap_err();
            assert_eq!(fault.to_string(), "x: nests more than 32 lists and objects", "{depth}");
        }
        let wide = json!([nested(MAX_JSON_DEPTH - 1), nested(MAX_JSON_DEPTH)]);
        assert!(check_depth("x", &wide).is_err(), "the deepest counts");
        assert!(check_entry_depths("x", wide.as_array().unwrap()).is_err());
        assert!(check_entry_depths("x", [&nested(MAX_JSON_DEPTH - 1)]).is_ok());
    }
}
