//! Values that a Chinese note calls a password or a key: `密码：…`.

use memchr::memmem;

use super::{Finding, MIN_SECRET_BYTES};

/// What a secret is called, and what that is in English.
const LABELS: [(&str, &str); 6] = [
    ("密码", "password"),
    ("口令", "password"),
    ("密钥", "key"),
    ("秘钥", "key"),
    ("令牌", "token"),
    ("私钥", "private key"),
];

/// What may stand between a label and its value.
const BETWEEN: [char; 13] = [' ', ':', '：', '=', '是', '为', '"', '\'', '`', '“', '「', '【', '*'];

/// Returns each value behind a label that mixes letters and digits as a secret does.
pub(super) fn find_all(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (label, english) in LABELS {
        for at in memmem::find_iter(text.as_bytes(), label) {
            let behind = &text[at + label.len()..];
            let value = behind.trim_start_matches(BETWEEN);
            let has_separator = value.len() < behind.len();
            let length = value.bytes().take_while(|b| is_part_of_value(*b)).count();
            if has_separator && length >= MIN_SECRET_BYTES && is_mixed(&value[..length]) {
                let start = text.len() - value.len();
                let kind = format!("{english} after \"{label}\"");
                findings.push(Finding { kind, range: start..start + length });
            }
        }
    }
    findings
}

fn is_part_of_value(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"'`,;<>(){}[]".contains(&byte)
}

pub(super) fn is_mixed(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_digit()) && value.bytes().any(|b| b.is_ascii_alphabetic())
}
