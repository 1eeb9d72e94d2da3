//! What looks like a secret in text that everybody may read.
//!
//! Finds what [`redact_secret`] knows, what [`labels`] adds for Chinese notes, and what [`formats`] adds beside.
//! A text without anything that looks like a secret may still hold one; this catches accidents, not intent.

mod formats;
mod labels;

use std::{borrow::Cow, ops::Range, sync::LazyLock};

use protocol::hub::{FieldFault, PlainTexts};
use redact_secret::{BuiltInRegistry, DefaultPolicy};

/// The shortest run of visible ASCII that is looked at, in bytes; shorter secrets pass.
const MIN_SECRET_BYTES: usize = 8;

/// What stands in a text in place of a secret.
const REDACTED: &str = "[REDACTED]";

/// A likely secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// What it looks like, such as `github token`.
    pub(crate) kind: String,
    /// Where it stands, in bytes.
    pub(crate) range: Range<usize>,
}

/// A likely secret in a field of a body; never holds the secret itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LikelySecret {
    /// The field, as a path such as `tags.project`; ends before a key that is the likely secret itself.
    pub(crate) field: String,
    /// What it looks like.
    pub(crate) kind: String,
}

/// Returns the first likely secret in a text.
pub(crate) fn find(text: &str) -> Option<Finding> {
    find_all(text).into_iter().next()
}

/// Returns the text with `[REDACTED]` in place of each likely secret.
pub(crate) fn redact(text: &str) -> Cow<'_, str> {
    let findings = find_all(text);
    if findings.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut redacted, mut end) = (String::with_capacity(text.len()), 0);
    for Finding { range, .. } in findings {
        if range.start >= end {
            redacted.push_str(&text[end..range.start]);
            redacted.push_str(REDACTED);
        }
        end = end.max(range.end);
    }
    redacted.push_str(&text[end..]);
    Cow::Owned(redacted)
}

/// Returns the first field that holds a likely secret.
pub(crate) fn find_in(texts: &PlainTexts<'_>) -> Option<LikelySecret> {
    // Most bodies hold none, and one long text is looked through at a fraction of the cost of many short ones.
    let mut lines = String::new();
    for (field, text) in texts.iter() {
        let named = named_line(field, text);
        lines.extend([text, "\n", named.as_deref().unwrap_or_default(), "\n"]);
    }
    find(&lines)?;
    texts.iter().find_map(|(field, text)| {
        let Finding { kind, .. } = find(text).or_else(|| find_named(field, text))?;
        Some(LikelySecret { field: shown_part(field).to_owned(), kind })
    })
}

/// Returns a fault as it may be told: what looks like a secret is taken out of its field and its reason.
pub(crate) fn shown(fault: &FieldFault) -> FieldFault {
    FieldFault::new(shown_part(&fault.field), redact(&fault.reason))
}

/// Judges a text of one word with the name of its field, as if both stood in one line: `password: …`.
///
/// What follows such a name in a line is seldom one word of prose; a field often holds one: `"password": "required"`.
fn find_named(field: &str, text: &str) -> Option<Finding> {
    let line = named_line(field, text)?;
    find(&line).filter(|found| labels::is_mixed(&line[found.range.clone()]))
}

/// Returns the line of a field's name and its text; nothing when that cannot be a secret by its name.
fn named_line(field: &str, text: &str) -> Option<String> {
    let value = text.trim();
    if value.contains(char::is_whitespace) || !labels::is_mixed(value) {
        return None;
    }
    let name = field.rsplit('.').next()?.split('[').next()?;
    // In prose a token is many things; a field of this name holds one, or the name of one, as a field `secret` may.
    let is_token = name.eq_ignore_ascii_case("token");
    if (is_token || name.eq_ignore_ascii_case("secret")) && labels::reads_as_name(value) {
        return None;
    }
    let name = if is_token { "access_token" } else { name };
    // In quotes, so that no mark within the value ends it.
    let value = serde_json::to_string(value).expect("a text can be written as JSON");
    Some(format!("{name}: {value}"))
}

/// Returns the part of a path that stands before a key that looks like a secret: all of it, as a rule.
fn shown_part(path: &str) -> &str {
    match find(path) {
        None => path,
        Some(found) => path[..found.range.start].rsplit_once('.').map_or("", |(parent, _)| parent),
    }
}

/// Returns all likely secrets in a text, by their place.
fn find_all(text: &str) -> Vec<Finding> {
    static DETECTORS: LazyLock<BuiltInRegistry> = LazyLock::new(|| {
        BuiltInRegistry::with_built_in().expect("the library's own detectors fit together")
    });
    if !has_long_run(text) {
        return Vec::new();
    }
    let Ok(found) = DETECTORS.scan(text, &DefaultPolicy) else {
        // Only a text with tens of thousands of findings, or of many megabytes, gets here.
        return vec![Finding { kind: "secrets without number".to_owned(), range: 0..text.len() }];
    };
    let known = found.iter().map(|finding| Finding {
        kind: finding.type_name().replace('_', " "),
        range: finding.range().start()..finding.range().end(),
    });
    let mut findings: Vec<_> = known
        .chain(labels::find_all(text))
        .chain(formats::find_all(text))
        .filter(|finding| !is_placeholder(&text[finding.range.clone()]))
        .collect();
    findings.sort_by_key(|finding| finding.range.start);
    findings
}

/// Tells whether a text has a run of visible ASCII that is long enough to be a secret, which most prose has not.
fn has_long_run(text: &str) -> bool {
    text.as_bytes().split(|byte| !byte.is_ascii_graphic()).any(|run| run.len() >= MIN_SECRET_BYTES)
}

/// Tells whether a value stands for a secret rather than being one: `ghp_xxxxxxxx`, `user:pass@host`.
///
/// Most of it must be one letter again and again; a part that is so by chance, such as the `AA` behind the last
/// hyphen of a token, makes none.
fn is_placeholder(value: &str) -> bool {
    const WORDS: [&str; 6] = ["pass", "passwd", "password", "pwd", "secret", "token"];
    let (mut repeated, mut other) = (0, 0);
    for part in value.split(['_', '-', '/']) {
        let is_repeated = part.len() >= 4 && part.bytes().all(|b| b == part.as_bytes()[0]);
        let is_number = part.bytes().all(|b| b.is_ascii_digit());
        match (is_repeated, is_number) {
            (true, _) => repeated += part.len(),
            (false, true) => {}
            (false, false) => other += part.len(),
        }
    }
    repeated > other || WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests;
