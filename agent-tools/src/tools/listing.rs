//! Found records as text, in the language of the question.

use std::fmt::Write as _;

use protocol::{Source, SourceId, source::excerpt};

/// How much of a record's task is shown, in characters; the rest is cut.
const TASK_CHARS: usize = 200;

/// How much of a record's content is shown, in characters; the rest is cut.
const CONTENT_CHARS: usize = 300;

/// A language in which the tools speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Chinese, simplified.
    Chinese,
    /// English, also for whatever is neither.
    English,
}

impl Language {
    /// Returns the language of a question: Chinese if it has at least as many Chinese characters as Latin words.
    pub fn of(text: &str) -> Self {
        let han = text.chars().filter(|c| ('\u{3400}'..='\u{9fff}').contains(c)).count();
        let words = text
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| word.contains(|c: char| c.is_ascii_alphabetic()))
            .count();
        if han > 0 && han >= words { Self::Chinese } else { Self::English }
    }
}

/// Returns the records as a numbered list, each with its citation.
pub fn numbered(sources: &[Source]) -> String {
    let mut list = String::new();
    for (index, source) in sources.iter().enumerate() {
        let task = on_one_line(&excerpt(&source.task, TASK_CHARS));
        let content = on_one_line(&excerpt(&source.content, CONTENT_CHARS));
        let citation = source.id.to_citation();
        // Writing to a string cannot fail.
        let _ = write!(list, "{}. {task} {citation}\n   {content}\n", index + 1);
    }
    list.trim_end().to_owned()
}

/// Returns the text on one line, without anything that could pass for a citation.
fn on_one_line(text: &str) -> String {
    without_citations(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Turns the brackets of what looks like a citation into round ones.
///
/// A record may quote the ids of others; only the list itself says what was found.
fn without_citations(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('[') {
        out.push_str(&rest[..start]);
        let inner = &rest[start + 1..];
        match inner.split_once(']') {
            Some((list, after)) if list.split(',').any(is_id) => {
                let _ = write!(out, "({list})");
                rest = after;
            }
            _ => {
                out.push('[');
                rest = inner;
            }
        }
    }
    out.push_str(rest);
    out
}

fn is_id(text: &str) -> bool {
    text.trim().parse::<SourceId>().is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_record_cannot_cite() {
        let text = "see [experience-7], [a [knowledge-20260305-a1b2, x] and [1]";
        let plain = "see (experience-7), [a (knowledge-20260305-a1b2, x) and [1]";
        assert_eq!(without_citations(text), plain);
    }

    #[test]
    fn questions_have_a_language() {
        assert_eq!(Language::of("怎么从论文 PDF 里提取表格？"), Language::Chinese);
        assert_eq!(Language::of("What does 表格 mean?"), Language::English);
        assert_eq!(Language::of(""), Language::English);
    }

    proptest! {
        #[test]
        fn text_without_brackets_stays(text in "[^\\[\\]]*") {
            prop_assert_eq!(without_citations(&text), text);
        }

        #[test]
        fn nothing_is_left_to_cite(text in "(\\[|\\]|experience-7|, | |x)*") {
            let out = without_citations(&text);
            prop_assert!(!out.contains("[experience-7]"), "{}", out);
        }
    }
}
