//! Numbers such as `4.0`, which JSON takes for whole and many programs write.

use std::borrow::Cow;

use serde_json::Value;

/// Returns the value with each whole number written without a fraction, so that it can be read as an integer.
pub(super) fn without_fractions(value: &Value) -> Cow<'_, Value> {
    if !has_any(value) {
        return Cow::Borrowed(value);
    }
    let mut value = value.clone();
    shorten(&mut value);
    Cow::Owned(value)
}

fn has_any(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().any(has_any),
        Value::Object(map) => map.values().any(has_any),
        value => whole(value).is_some(),
    }
}

fn shorten(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(shorten),
        Value::Object(map) => map.values_mut().for_each(shorten),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn whole_numbers_lose_their_fraction_and_others_stay() {
        let value = json!({ "a": 4.0, "b": [-2.0, 2.5, 1e300], "c": { "d": 3, "e": "4.0" } });
        let expected = json!({ "a": 4, "b": [-2, 2.5, 1e300], "c": { "d": 3, "e": "4.0" } });
        assert_eq!(*without_fractions(&value), expected);
        assert!(matches!(without_fractions(&expected), Cow::Borrowed(_)));
    }
}
