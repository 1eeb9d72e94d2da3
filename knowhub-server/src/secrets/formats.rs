//! Formats of keys that the library of detectors does not know, or knows only in full.

use std::ops::Range;

use memchr::memmem;

use super::{Finding, labels::is_mixed};

/// A key that begins with the same text each time.
struct Format {
    /// What it looks like.
    kind: &'static str,
    prefix: &'static str,
    /// What its secret part is made of beside letters and digits.
    marks: &'static [u8],
    /// How long the secret part is at least, in bytes; a shorter one passes.
    min_bytes: usize,
}

const FORMATS: [Format; 4] = [
    // Of many model providers, each with a length of its own.
    Format { kind: "model provider key", prefix: "sk-", marks: b"", min_bytes: 32 },
    // Also outside of a whole connection string.
    Format { kind: "azure account key", prefix: "AccountKey=", marks: b"+/=", min_bytes: 40 },
    Format { kind: "pypi api token", prefix: "pypi-AgEI", marks: b"-_", min_bytes: 16 },
    Format {
        kind: "slack webhook",
        prefix: "https://hooks.slack.com/services/",
        marks: b"/",
        min_bytes: 30,
    },
];

/// How a private key begins; its kind follows.
const KEY_BEGIN: &str = "-----BEGIN ";

/// What may stand around each line of a key.
const AROUND_LINE: &[char] = &[' ', '\t', '\r', '"', '\'', '+', '>', ',', '#', '*', '/'];

/// How much of the encoded key must follow its first line, in bytes; a line that is only mentioned passes.
const MIN_KEY_BYTES: usize = 16;

/// How far behind its beginning the encoded key is looked for, in bytes; one behind more notes passes.
const MAX_HEAD_BYTES: usize = 1024;

/// Returns each key in one of the formats, and each private key, whole or cut off.
pub(super) fn find_all(text: &str) -> Vec<Finding> {
    let mut findings = private_keys(text);
    for format in &FORMATS {
        let ranges = tokens(text, format);
        findings.extend(ranges.map(|range| Finding { kind: format.kind.to_owned(), range }));
    }
    findings
}

/// Returns the secret part of each token of one format.
fn tokens(text: &str, format: &Format) -> impl Iterator<Item = Range<usize>> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || format.marks.contains(byte);
    let is_inner = |before: char| before.is_ascii_alphanumeric() || "-_".contains(before);
    let mut end = 0;
    memmem::find_iter(text.as_bytes(), format.prefix).filter_map(move |at| {
        // A prefix may stand in the secret part of another; no part is read twice.
        if at < end || text[..at].ends_with(is_inner) {
            return None;
        }
        let start = at + format.prefix.len();
        end = start + text[start..].bytes().take_while(is_part).count();
        let is_token = end - start >= format.min_bytes && is_mixed(&text[start..end]);
        is_token.then_some(start..end)
    })
}

fn private_keys(text: &str) -> Vec<Finding> {
    let (mut findings, mut at) = (Vec::new(), 0);
    while let Some(before) = memmem::find(&text.as_bytes()[at..], KEY_BEGIN.as_bytes()) {
        let start = at + before;
        at = start + KEY_BEGIN.len();
        if is_private_key(&text[at..text.floor_char_boundary(at + MAX_HEAD_BYTES)]) {
            at = end_of_key(text, at);
            findings.push(Finding { kind: "private key".to_owned(), range: start..at });
        }
    }
    findings
}

/// Tells whether a key follows that is private and more than mentioned.
fn is_private_key(head: &str) -> bool {
    let Some((label, body)) = head.split_once("-----") else { return false };
    // A key may stand in JSON, in source code, a comment or a quotation, with its line ends written out.
    let lines = body.split('\n').flat_map(|line| line.split("\\n"));
    let mut lines = lines.map(|line| line.trim_matches(AROUND_LINE));
    let is_note = |line: &str| line.is_empty() || line.contains(": ");
    let first = lines.find(|line| !is_note(line)).unwrap_or_default();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let length = first.bytes().take_while(is_part).count();
    (label.ends_with("PRIVATE KEY") || label.ends_with("PRIVATE KEY BLOCK"))
        && length >= MIN_KEY_BYTES
        && is_mixed(&first[..length])
}

/// Returns where the last line of a key ends; of one that is cut off, where the text does.
fn end_of_key(text: &str, at: usize) -> usize {
    let last = text[at..].find("-----END ").map(|last| at + last);
    let end = last.and_then(|last| text[last..].find('\n').map(|length| last + length));
    end.unwrap_or(text.len())
}
