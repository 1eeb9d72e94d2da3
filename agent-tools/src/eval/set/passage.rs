//! A passage, and the knowledge record that is made of it.

/// What becomes one knowledge record.
///
/// The hub searches a record's task and content as one text. Title and text go into it as the set has them; where
/// there is no title, the first sentence is the task, so that nothing is said twice and nothing is added.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Passage {
    pub(crate) task: String,
    pub(crate) content: String,
}

impl Passage {
    /// Makes a passage of a text; `None` of one that says nothing.
    pub(crate) fn of_text(text: &str) -> Option<Self> {
        let text = text.trim();
        // A single word stands in both, since a record has both.
        let (task, content) =
            after_sentence(text).or_else(|| after_clause(text)).unwrap_or((text, text));
        (!text.is_empty()).then(|| Self { task: task.to_owned(), content: content.to_owned() })
    }

    /// Makes a passage of a title and a text, of which one may be empty.
    pub(crate) fn titled(title: &str, text: &str) -> Option<Self> {
        match (title.trim(), text.trim()) {
            ("", text) => Self::of_text(text),
            (title, "") => Self::of_text(title),
            (title, text) => Some(Self { task: title.to_owned(), content: text.to_owned() }),
        }
    }
}

/// Cuts a text behind its first sentence.
fn after_sentence(text: &str) -> Option<(&str, &str)> {
    cut(text, |c, next| match c {
        '。' | '！' | '？' | '\n' => true,
        '.' | '!' | '?' => next.is_whitespace(),
        _ => false,
    })
}

/// Cuts a text where a word surely ends.
fn after_clause(text: &str) -> Option<(&str, &str)> {
    cut(text, |c, _| c.is_whitespace() || matches!(c, '，' | '、' | '；' | '：'))
}

/// Cuts a text behind the first character that ends something, given what follows; both sides say something.
fn cut(text: &str, is_end: impl Fn(char, char) -> bool) -> Option<(&str, &str)> {
    let following = text.chars().skip(1);
    text.char_indices()
        .zip(following)
        .filter(|((_, c), next)| is_end(*c, *next))
        .map(|((at, c), _)| text.split_at(at + c.len_utf8()))
        .map(|(task, content)| (task.trim(), content.trim()))
        .find(|(task, content)| !task.is_empty() && !content.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(passage: Option<Passage>) -> Option<(String, String)> {
        passage.map(|passage| (passage.task, passage.content))
    }

    #[test]
    fn without_a_title_a_record_says_what_its_passage_says_once() {
        for (text, task, content) in [
            ("One. Two! Three", "One.", "Two! Three"),
            ("Version 1.5 is out. Take it.", "Version 1.5 is out.", "Take it."),
            ("第一句。第二句。", "第一句。", "第二句。"),
            ("只有一句，没有第二句。", "只有一句，", "没有第二句。"),
            ("only one sentence", "only", "one sentence"),
            ("  \nA line\nand more ", "A line", "and more"),
            ("word", "word", "word"),
            ("表", "表", "表"),
            ("。", "。", "。"),
        ] {
            let expected = Some((task.to_owned(), content.to_owned()));
            assert_eq!(parts(Passage::of_text(text)), expected, "{text:?}");
        }
        assert_eq!(Passage::of_text(" \n"), None);
    }

    #[test]
    fn a_title_is_the_task() {
        for (title, text, task, content) in [
            (" Wings", "Wings. On birds. ", "Wings", "Wings. On birds."),
            ("", "One. Two.", "One.", "Two."),
            ("One. Two.", "", "One.", "Two."),
        ] {
            let expected = Some((task.to_owned(), content.to_owned()));
            assert_eq!(parts(Passage::titled(title, text)), expected, "{title:?} {text:?}");
        }
        assert_eq!(Passage::titled(" ", ""), None);
    }
}
