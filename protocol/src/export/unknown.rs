//! Fields that a reader would lose, because it does not know them.

use serde::Serialize;
use serde_json::Value;

/// Returns the path of the first field of `given` that is not in `read`, which was read from it.
///
/// # Panics
///
/// When `read` cannot be written as JSON; what was read from JSON always can.
pub fn unknown_field(given: &Value, read: &impl Serialize) -> Option<String> {
    let read = serde_json::to_value(read).expect("what was read from JSON can be written as JSON");
    first_beyond(given, &read)
}

fn first_beyond(given: &Value, read: &Value) -> Option<String> {
    match (given, read) {
        (Value::Object(given), Value::Object(read)) => given.iter().find_map(|(name, given)| {
            let Some(read) = read.get(name) else { return Some(name.clone()) };
            first_beyond(given, read).map(|below| joined(name, &below))
        }),
        (Value::Array(given), Value::Array(read)) => {
            let both = given.iter().zip(read).enumerate();
            both.into_iter().find_map(|(index, (given, read))| {
                first_beyond(given, read).map(|below| joined(&format!("[{index}]"), &below))
            })
        }
        _ => None,
    }
}

fn joined(above: &str, below: &str) -> String {
    let dot = if below.starts_with('[') { "" } else { "." };
    format!("{above}{dot}{below}")
}
