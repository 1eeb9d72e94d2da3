//! The part of a text that a model is given.

use super::MAX_TEXT_CHARS;

/// A text is not cut below this: no model takes less, so length is not what is wrong with it.
const MIN_CUT_CHARS: usize = 256;

/// A text, or its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Text<'a> {
    pub(super) text: &'a str,
    /// Something is missing at its end.
    pub(super) is_cut: bool,
}

impl<'a> Text<'a> {
    /// Takes at most [`MAX_TEXT_CHARS`] of a text.
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, is_cut: false }.cut(MAX_TEXT_CHARS)
    }

    /// Leaves half of the text; `false` when that would be too little to embed.
    pub(super) fn halve(&mut self) -> bool {
        let chars = self.text.chars().count();
        if chars <= MIN_CUT_CHARS {
            return false;
        }
        *self = self.cut((chars / 2).max(MIN_CUT_CHARS));
        true
    }

    fn cut(self, max_chars: usize) -> Self {
        match self.text.char_indices().nth(max_chars) {
            Some((end, _)) => Self { text: &self.text[..end], is_cut: true },
            None => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_characters_and_say_so() {
        let long = "限".repeat(MAX_TEXT_CHARS + 1);
        assert!(!Text::new(&long[3..]).is_cut);
        let mut text = Text::new(&long);
        let mut chars = vec![text.text.chars().count()];
        while text.halve() {
            assert!(text.is_cut);
            chars.push(text.text.chars().count());
        }
        assert_eq!(chars, [8_000, 4_000, 2_000, 1_000, 500, 256]);
        assert!(!Text::new("short").halve());
    }
}
