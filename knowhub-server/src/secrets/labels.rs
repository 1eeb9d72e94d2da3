//! Values that a Chinese note calls a password or a key: `密码：…`.

use std::ops::Range;

use memchr::memmem;

use super::{Finding, MIN_SECRET_BYTES};

/// What a secret is called: how such words begin, how each goes on, and what it is in English.
///
/// A text is looked through once for each beginning.
const LABELS: [(&str, &[(&str, &str)]); 5] = [
    ("密", &[("码", PASSWORD), ("碼", PASSWORD), ("钥", "key"), ("鑰", "key")]),
    ("口", &[("令", PASSWORD)]),
    ("秘", &[("钥", "key"), ("鑰", "key")]),
    ("令", &[("牌", "token")]),
    ("私", &[("钥", "private key"), ("鑰", "private key")]),
];

/// What people make up themselves, so that any name may be one.
const PASSWORD: &str = "password";

/// What may stand between a label and its value: `密码 | …`, `密码就是 …`, `密码设置为：…`.
const BETWEEN: &[char] = &[
    ' ', '\t', '\r', '\n', ':', '：', '=', '|', '>', '→', '*', '"', '\'', '`', '“', '「', '【',
    '是', '为', '為', '就', '设', '設', '置', '改', '成',
];

/// The longest remark in brackets between a label and its value, in bytes; a value behind a longer one passes.
const MAX_REMARK_BYTES: usize = 64;

/// How often letters and digits take turns in a name at most, as in `secp256k1`; a key with no more turns passes,
/// which few of a dozen characters have.
const MAX_TURNS: usize = 3;

/// Returns each value behind a label that looks like a secret.
pub(super) fn find_all(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (begin, ends) in LABELS {
        for at in memmem::find_iter(text.as_bytes(), begin) {
            let inner = at + begin.len();
            for (end, english) in ends.iter().filter(|(end, _)| text[inner..].starts_with(end)) {
                let range = value_behind(text, inner + end.len());
                if range.clone().is_some_and(|range| is_secret(&text[range], english)) {
                    let kind = format!("{english} after \"{begin}{end}\"");
                    findings.extend(range.map(|range| Finding { kind, range }));
                }
            }
        }
    }
    findings
}

/// Returns where the value of a label stands that ends at `at`.
fn value_behind(text: &str, at: usize) -> Option<Range<usize>> {
    let behind = without_remark(&text[at..]);
    let value = behind.trim_start_matches(BETWEEN);
    let between = &behind[..behind.len() - value.len()];
    // A line below a label is its value only where a sign says so; below a heading any text stands.
    let is_told = if between.contains('\n') {
        between.contains(|c: char| !c.is_whitespace())
    } else {
        !between.is_empty()
    };
    let start = text.len() - value.len();
    let length = value.bytes().take_while(|b| is_part_of_value(*b)).count();
    is_told.then_some(start..start + length)
}

/// Returns what stands behind a remark in brackets, such as `（测试环境）`; all where there is none.
fn without_remark(text: &str) -> &str {
    let Some(inside) = text.trim_start_matches(' ').strip_prefix(['（', '(']) else { return text };
    let near = &inside[..inside.floor_char_boundary(MAX_REMARK_BYTES)];
    let end = near.char_indices().find(|(_, c)| ['）', ')'].contains(c));
    end.map_or(text, |(at, bracket)| &inside[at + bracket.len_utf8()..])
}

fn is_part_of_value(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"'`,;<>(){}[]".contains(&byte)
}

/// Tells whether the value of a label is a secret itself, rather than an algorithm, an address or a variable.
fn is_secret(value: &str, english: &str) -> bool {
    value.len() >= MIN_SECRET_BYTES
        && is_mixed(value)
        && !value.contains("://")
        && !is_variable(value)
        && (english == PASSWORD || !reads_as_name(value))
}

/// Tells whether a value only names a variable: `$DB_PASS1`.
fn is_variable(value: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    value.strip_prefix('$').is_some_and(|name| name.bytes().all(is_part))
}

pub(super) fn is_mixed(value: &str) -> bool {
    value.bytes().any(|b| b.is_ascii_digit()) && value.bytes().any(|b| b.is_ascii_alphabetic())
}

/// Tells whether a value reads like a name of something: `RSA-2048`, `app-tls-v2`, `cl100k_base`.
pub(super) fn reads_as_name(value: &str) -> bool {
    let is_turn = |pair: &[u8]| {
        let (before, after) = (pair[0], pair[1]);
        let are_parts = before.is_ascii_alphanumeric() && after.is_ascii_alphanumeric();
        are_parts && before.is_ascii_digit() != after.is_ascii_digit()
            || before.is_ascii_lowercase() && after.is_ascii_uppercase()
    };
    value.as_bytes().windows(2).filter(|pair| is_turn(pair)).count() <= MAX_TURNS
}
