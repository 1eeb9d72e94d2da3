//! How much is embedded at once: what a failure costs, and what is kept before the next part is asked for.

use llm::embedding::MAX_TEXT_CHARS;

/// How many changed records are embedded between two notes of how far it is.
pub(super) const PAGE_ROWS: u32 = 64;

/// How many characters are embedded between two notes, so that a model on two busy processors has its page done in time.
const PAGE_CHARS: usize = 2 * MAX_TEXT_CHARS;

/// Returns how many of these records, at least one, have no more to be embedded than a page; each is told by the characters of its text.
pub(super) fn fitting(texts: impl Iterator<Item = usize>) -> usize {
    let (mut count, mut chars) = (0, 0);
    for text in texts {
        chars += text.min(MAX_TEXT_CHARS);
        if chars > PAGE_CHARS && count > 0 {
            break;
        }
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_bounded_by_characters() {
        for (texts, expected) in [
            (vec![], 0),
            (vec![0; 64], 64),
            (vec![250; 64], 64),
            (vec![251; 64], 63),
            (vec![usize::MAX; 3], 2),
            (vec![1, MAX_TEXT_CHARS, MAX_TEXT_CHARS], 2),
            (vec![MAX_TEXT_CHARS, 0, MAX_TEXT_CHARS, 0, 1], 4),
        ] {
            assert_eq!(fitting(texts.iter().copied()), expected, "{texts:?}");
        }
    }
}
