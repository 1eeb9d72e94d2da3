//! Numbers such as `4.0`, which JSON takes for whole and many programs write.

use serde_json::Value;

/// Writes each whole number in the value without a fraction, so that it can be read as an integer.
///
/// It is done in place: a copy of a body would hold one more copy of its secret.
pub(super) fn write_whole_numbers(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(write_whole_numbers),
        Value::Object(map) => map.values_mut().for_each(write_whole_numbers),
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
        let mut value = json!({ "a": 4.0, "b": [-2.0, 2.5, 1e300], "c": { "d": 3, "e": "4.0" } });
        write_whole_numbers(&mut value);
        assert_eq!(value, json!({ "a": 4, "b": [-2, 2.5, 1e300], "c": { "d": 3, "e": "4.0" } }));
    }
}
