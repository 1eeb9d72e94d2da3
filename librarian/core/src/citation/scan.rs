//! Finds what is a citation in a text, or looks like one.

use protocol::SourceId;

/// The brackets that people and models put around citations.
const BRACKETS: [(char, char); 3] = [('[', ']'), ('【', '】'), ('［', '］')];

/// What every citation begins with, up to the character that joins it to its id.
const KINDS: [&str; 3] = ["knowledge", "experience", "resource"];

/// What stands between a kind and an id, in citations that are right and in others.
const JOINTS: [char; 4] = ['-', ':', '_', '#'];

/// A stretch of a text.
#[derive(Debug, PartialEq)]
pub(super) enum Piece<'a> {
    /// No citation.
    Text(&'a str),
    /// Brackets around at least one id, or around what looks like one.
    Group {
        /// What the brackets hold.
        inner: &'a str,
        /// The ids among it; none when it only looks like a citation.
        ids: Vec<SourceId>,
    },
    /// A knowledge or experience id that stands alone.
    Bare(SourceId),
}

/// Divides `text` into pieces; put together again they are the whole text.
pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut text_start = 0;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let found = group(&text[at..], c).or_else(|| bare(text, at));
        let Some((piece, len)) = found else {
            at += c.len_utf8();
            continue;
        };
        if text_start < at {
            pieces.push(Piece::Text(&text[text_start..at]));
        }
        pieces.push(piece);
        at += len;
        text_start = at;
    }
    if text_start < text.len() {
        pieces.push(Piece::Text(&text[text_start..]));
    }
    pieces
}

/// Reads a group at the start of `rest`, whose first character is `first`; tells its length too.
fn group(rest: &str, first: char) -> Option<(Piece<'_>, usize)> {
    let (open, close) = BRACKETS.into_iter().find(|(open, _)| *open == first)?;
    let inner_and_more = &rest[open.len_utf8()..];
    let end = inner_and_more.find([open, close])?;
    let (inner, more) = inner_and_more.split_at(end);
    let more = more.strip_prefix(close)?;
    let ids = ids_in(inner)?;
    let len = rest.len() - more.len() + link_len(more);
    Some((Piece::Group { inner, ids }, len))
}

/// Returns the length of a Markdown link target, which a citation has no use for.
fn link_len(rest: &str) -> usize {
    let target = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(url, _)| url);
    match target {
        Some(url) if url.contains("://") && !url.contains(char::is_whitespace) => url.len() + 2,
        _ => 0,
    }
}

/// Returns the ids that a pair of brackets holds, or `None` if it is no citation at all.
fn ids_in(inner: &str) -> Option<Vec<SourceId>> {
    if let Ok(id) = inner.trim().parse() {
        // A resource id may hold a comma, so the whole is tried before its parts.
        return Some(vec![id]);
    }
    let inner = plain(inner);
    let entries: Vec<_> = inner
        .split(|c: char| c.is_whitespace() || ",;|&、".contains(c))
        .filter(|entry| !entry.is_empty())
        .map(Entry::read)
        .collect();
    let is_citation = entries.iter().any(|entry| matches!(entry, Entry::Id(_) | Entry::Broken))
        || (!entries.is_empty() && entries.iter().all(|entry| matches!(entry, Entry::LookAlike)));
    is_citation.then(|| entries.into_iter().filter_map(Entry::id).collect())
}

/// Replaces the typographic characters that models write in the place of those of an id.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{ff0d}' => plain.push('-'),
            '：' => plain.push(':'),
            '，' => plain.push(','),
            '；' => plain.push(';'),
            '`' | '"' | '\'' | '*' | '“' | '”' => {}
            // `resource: x` is one entry.
            c if c.is_whitespace() && plain.ends_with(':') => {}
            c => plain.push(c),
        }
    }
    plain
}

/// One of the things that a pair of brackets lists.
enum Entry {
    /// The id of a record.
    Id(SourceId),
    /// No id, but with the digits or the colon of one.
    Broken,
    /// No id, but it begins like one; so do words such as `experience-based`.
    LookAlike,
    /// Something else.
    Word,
}

impl Entry {
    fn read(entry: &str) -> Self {
        let lower = entry.to_ascii_lowercase();
        let Some(start) = KINDS.iter().filter_map(|kind| kind_at(&lower, kind)).min() else {
            return Self::Word;
        };
        let text = entry[start..].trim_end_matches(['.', ':', ')', ']', '】', '］']);
        let id = text.parse().or_else(|_| text.to_ascii_lowercase().parse());
        match id {
            Ok(id) => Self::Id(id),
            Err(_) if text.contains(|c: char| c.is_ascii_digit() || c == ':') => Self::Broken,
            Err(_) => Self::LookAlike,
        }
    }

    fn id(self) -> Option<SourceId> {
        match self {
            Self::Id(id) => Some(id),
            _ => None,
        }
    }
}

/// Returns where `kind` begins in `entry`, joined to something behind it and to no word before.
fn kind_at(entry: &str, kind: &str) -> Option<usize> {
    entry.match_indices(kind).map(|(start, _)| start).find(|&start| {
        let behind = entry[start + kind.len()..].strip_prefix(JOINTS);
        let stands_alone =
            !entry[..start].ends_with(|c: char| c.is_ascii_alphanumeric() || "-_/".contains(c));
        stands_alone && behind.is_some_and(|id| !id.is_empty())
    })
}

/// Reads a bare id at `at`.
fn bare(text: &str, at: usize) -> Option<(Piece<'_>, usize)> {
    let rest = &text[at..];
    if !rest.starts_with("knowledge-") && !rest.starts_with("experience-") {
        return None;
    }
    if text[..at].ends_with(joins) {
        return None;
    }
    let len = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
    let id = rest[..len].trim_end_matches('-');
    Some((Piece::Bare(id.parse().ok()?), id.len()))
}

/// A character that makes what follows it a part of something longer, such as a path.
fn joins(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_/.#=%&?".contains(c)
}
