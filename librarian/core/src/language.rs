//! Which of the librarian's two languages a text is in.

/// A language that the librarian speaks by itself; a model may answer in any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Chinese, simplified.
    Chinese,
    /// English, also for whatever is neither.
    English,
}

impl Language {
    /// Returns the language of `text`.
    ///
    /// Chinese text on software is full of Latin names, and a Chinese character says about as
    /// much as half a word: so it is Chinese when it has at least as many of them as Latin words.
    pub fn of(text: &str) -> Self {
        let han = text.chars().filter(|c| is_han(*c)).count();
        let words = text
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| word.contains(|c: char| c.is_ascii_alphabetic()))
            .count();
        if han > 0 && han >= words { Self::Chinese } else { Self::English }
    }
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_chinese_from_the_rest() {
        for text in ["怎么从论文 PDF 里提取表格？", "ControlNet 相关的工具知识", "PDF table 提取"]
        {
            assert_eq!(Language::of(text), Language::Chinese, "{text}");
        }
        for text in ["", "How do I extract tables?", "What does 表格 mean?", "¿Cómo?", "42"] {
            assert_eq!(Language::of(text), Language::English, "{text}");
        }
    }
}
