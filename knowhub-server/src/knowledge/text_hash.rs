//! When two records say the same: in the same words, whatever their case, their width and their spacing.

use sha2::{Digest, Sha256};
use unicode_normalization::UnicodeNormalization;

/// What two records that say the same have in common.
pub(crate) type TextHash = [u8; 32];

/// Returns the hash of a record's text as it compares.
///
/// Task and content are compared each for itself, so that no word changes sides.
pub(crate) fn text_hash(task: &str, content: &str) -> TextHash {
    let mut hash = Sha256::new_with_prefix(normalized(task));
    hash.update("\n");
    hash.update(normalized(content));
    hash.finalize().into()
}

/// Returns a text in lower case and Unicode's NFKC form, with one space for each run of white space.
pub(crate) fn normalized(text: &str) -> String {
    let folded = text.nfkc().collect::<String>().to_lowercase();
    let mut normal = String::with_capacity(folded.len());
    for word in folded.split_whitespace() {
        if !normal.is_empty() {
            normal.push(' ');
        }
        normal.push_str(word);
    }
    normal
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_only_looks_different_is_the_same() {
        for (one, other, same) in [
            (("a", "Use  Pdf\n plumber "), ("A", "use pdf plumber"), true),
            (("提取 ＰＤＦ", "①"), ("提取 pdf", "1"), true),
            (("a b", "c"), ("a", "b c"), false),
            (("a", "use it."), ("a", "use it"), false),
            (("a", "2 % of 3"), ("a", "3 % of 2"), false),
            (("a", "提取 表格"), ("a", "提取表格"), false),
        ] {
            let hashes = [one, other].map(|(task, content)| text_hash(task, content));
            assert_eq!(hashes[0] == hashes[1], same, "{one:?} {other:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_normal_stays(text in r"\PC{0,40}") {
            // NFKC of a lower case may differ once more, as of `ͅ`; what compares is one pass over both texts.
            let normal = normalized(&text);
            prop_assert!(!normal.contains("  ") && normal.trim() == normal);
        }
    }
}
