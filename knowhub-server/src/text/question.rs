//! A question without its scaffolding: what is left is what an answer must speak of.

use unicode_normalization::UnicodeNormalization;

use super::tokens::{is_cjk, tokens};

/// Question phrases and function characters; of those that begin alike, the longest is taken.
const CJK_SCAFFOLDING: &[&str] = &[
    "怎么样",
    "怎么办",
    "怎么",
    "怎样",
    "如何",
    "什么时候",
    "什么样",
    "什么",
    "哪一个",
    "哪个",
    "哪些",
    "哪里",
    "哪位",
    "哪年",
    "哪种",
    "哪儿",
    "哪",
    "为什么",
    "为何",
    "请问",
    "有没有",
    "可以",
    "是否",
    "能不能",
    "是不是",
    "多少",
    "几个",
    "谁",
    "何时",
    "何地",
    "何",
    "吗",
    "呢",
    "吧",
    "啊",
    "的",
    "了",
    "在",
    "从",
    "里",
    "把",
    "和",
    "与",
    "是",
    "被",
    "由",
    "于",
    "对",
    "有",
    "为",
    "以",
    "及",
    "或",
    "也",
    "都",
    "而",
    "其",
    "之",
    "这",
    "那",
    "个",
    "得",
    "着",
    "过",
    "到",
    "会",
    "能",
    "要",
    "让",
    "将",
    "给",
    "就",
    "还",
    "又",
    "很",
    "最",
];

/// Question and function words.
const ENGLISH_SCAFFOLDING: &[&str] = &[
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "could",
    "did", "do", "does", "for", "from", "get", "had", "has", "have", "how", "i", "if", "in",
    "into", "is", "it", "its", "me", "my", "of", "on", "or", "our", "please", "s", "should", "so",
    "some", "t", "that", "the", "their", "them", "there", "these", "they", "this", "to", "use",
    "using", "was", "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "why",
    "will", "with", "would", "you", "your",
];

/// Returns the tokens of a query that an answer must speak of; all of them when it is nothing but scaffolding.
pub(crate) fn content_tokens(query: &str) -> Vec<String> {
    let content = tokens(&without_scaffolding(query));
    if content.is_empty() { tokens(query) } else { content }
}

/// Tells whether a lower-case word is a question or function word.
pub(crate) fn is_scaffolding(word: &str) -> bool {
    ENGLISH_SCAFFOLDING.binary_search(&word).is_ok()
}

/// Puts a space in place of each question phrase, function character and function word.
fn without_scaffolding(query: &str) -> String {
    let query: String = query.nfkc().flat_map(char::to_lowercase).collect();
    let mut kept = String::with_capacity(query.len());
    let mut rest = query.as_str();
    while let Some(c) = rest.chars().next() {
        let len = if is_cjk(c) {
            let phrase = longest_phrase(rest);
            kept.push_str(if phrase.is_some() { " " } else { &rest[..c.len_utf8()] });
            phrase.unwrap_or(c.len_utf8())
        } else {
            let is_word_end = |c: char| is_cjk(c) || !c.is_alphanumeric();
            let len = rest.find(is_word_end).unwrap_or(rest.len()).max(c.len_utf8());
            kept.push_str(if is_scaffolding(&rest[..len]) { " " } else { &rest[..len] });
            len
        };
        rest = &rest[len..];
    }
    kept
}

fn longest_phrase(text: &str) -> Option<usize> {
    CJK_SCAFFOLDING
        .iter()
        .filter(|phrase| text.starts_with(*phrase))
        .map(|phrase| phrase.len())
        .max()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(query: &str, expected: &[&str]) {
        assert_eq!(content_tokens(query), expected, "{query:?}");
    }

    #[test]
    fn keeps_what_an_answer_must_speak_of() {
        check("怎么从论文 PDF 里提取表格？", &["论文", "pdf", "提取", "取表", "表格"]);
        check("为什么数据库被锁了呢", &["数据", "据库", "锁"]);
        check("How do I extract tables from a PDF?", &["extract", "tabl", "pdf"]);
        check("What's the CAN bus", &["bus"]);
    }

    #[test]
    fn a_query_of_scaffolding_alone_counts_as_it_is() {
        check("什么是什么", &["什么", "么是", "是什", "什么"]);
        check("how to", &["how", "to"]);
        check("?!", &[]);
    }

    #[test]
    fn the_word_list_is_sorted_for_its_search() {
        assert!(ENGLISH_SCAFFOLDING.is_sorted());
    }

    proptest! {
        #[test]
        fn never_panics(query: String) {
            let _ = content_tokens(&query);
        }
    }
}
