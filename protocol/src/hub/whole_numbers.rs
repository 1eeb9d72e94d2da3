//! Numbers of a body: whole ones such as `4.0`, which many programs write, and those of free JSON, which stay as they are.

use serde_json::Value;

use super::FieldFault;

/// The fields of bodies that hold free JSON, whose numbers mean what their author wants.
const FREE: [&str; 3] = ["metadata", "add_helpful_case", "add_harmful_case"];

/// Writes each whole number in the value without a fraction, so that it can be read as an integer; free JSON stays.
///
/// It is done in place: a copy of a body would hold one more copy of its secret.
pub(super) fn write_whole_numbers(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(write_whole_numbers),
        Value::Object(map) => map
            .iter_mut()
            .filter(|(name, _)| !FREE.contains(&name.as_str()))
            .for_each(|(_, value)| write_whole_numbers(value)),
        value => {
            if let Some(number) = whole(value) {
                *value = number.into();
            }
        }
    }
}

/// Returns a number with an empty fraction as an integer, when it is small enough to be exact.
fn whole(value: &Value) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = value.as_f64().filter(|_| value.is_f64())?;
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

/// Checks that the free JSON of a body holds no whole number that may have lost digits when it was read.
///
/// # Errors
///
/// Names the field.
pub(super) fn check_free_numbers(body: &Value) -> Result<(), FieldFault> {
    for field in FREE {
        if body.get(field).is_some_and(has_inexact) {
            let reason = "holds a whole number of more than 64 bits, which would lose digits; write it as text";
            return Err(FieldFault::new(field, reason));
        }
    }
    Ok(())
}

/// Tells whether a whole number was too large for an integer of 64 bits, so that only its first digits were read.
pub fn has_inexact(value: &Value) -> bool {
    /// 2^63.
    const LARGE: f64 = 9_223_372_036_854_775_808.0;
    match value {
        Value::Array(list) => list.iter().any(has_inexact),
        Value::Object(map) => map.values().any(has_inexact),
        Value::Number(number) if number.is_f64() => {
            number.as_f64().is_some_and(|number| number.fract() == 0.0 && number.abs() >= LARGE)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_numbers_lose_their_fraction_and_others_stay() {
        let mut value = json!({ "a": 4.0, "b": [-2.0, 2.5, 1e300], "c": { "d": 3, "e": "4.0" } });
        write_whole_numbers(&mut value);
        assert_eq!(value, json!({ "a": 4, "b": [-2, 2.5, 1e300], "c": { "d": 3, "e": "4.0" } }));
    }

    #[test]
    fn numbers_of_free_json_stay_as_they_were_written() {
        for field in FREE {
            let text = format!(r#"{{"{field}":{{"list":[-0.0,3],"version":4.0}}}}"#);
            let mut value: Value = serde_json::from_str(&text).unwrap();
            write_whole_numbers(&mut value);
            assert_eq!(value.to_string(), text);
        }
    }

    #[test]
    fn a_number_that_lost_digits_is_noticed_in_free_json() {
        let check = |number: &str| {
            let body = format!(r#"{{"a":1,"metadata":{{"a":[{{"b":{number}}}]}}}}"#);
            check_free_numbers(&serde_json::from_str(&body).unwrap())
        };
        for number in
            ["0", "-0.0", "1.5", "1e10", "1e-300", "18446744073709551615", "-9223372036854775808"]
        {
            assert_eq!(check(number), Ok(()), "{number}");
        }
        for number in
            ["18446744073709551616", "12345678901234567890123", "-9223372036854775809", "1e300"]
        {
            assert_eq!(check(number).unwrap_err().field, "metadata", "{number}");
        }
        let other: Value = serde_json::from_str(r#"{"a":1e300}"#).unwrap();
        assert_eq!(check_free_numbers(&other), Ok(()), "its type says what it may be");
    }
}
