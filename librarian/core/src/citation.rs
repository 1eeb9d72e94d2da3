//! Which citations may stand in a text: those of records that were retrieved for it.

use protocol::SourceId;

use self::scan::{Piece, pieces};

mod scan;

/// A text all of whose citations are allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The text; each citation is one id in square brackets.
    pub text: String,
    /// What it cites, in order of first appearance.
    pub cited: Vec<SourceId>,
}

/// Removes what is not in `allowed` from the citations of `text`, and writes the rest in one form.
///
/// A citation is a pair of brackets (square or full-width) around ids, or around what looks like
/// one; a knowledge or experience id without brackets counts as a citation too, since a model
/// means it as one.
pub fn check(text: &str, allowed: &[SourceId]) -> Checked {
    let mut checked = check_once(text, allowed);
    // What is removed can bring together what looks like a citation. Each round leaves less text
    // outside of good citations, so there is a last one.
    loop {
        let again = check_once(&checked.text, allowed);
        if again == checked {
            return checked;
        }
        checked = again;
    }
}

/// Puts round brackets in the place of those that make a citation, so that quoted text cites
/// nothing.
pub fn neutralize(text: &str) -> String {
    let mut text = text.to_owned();
    // Brackets may be nested; each round has fewer.
    loop {
        let again = neutralize_once(&text);
        if again == text {
            return text;
        }
        text = again;
    }
}

fn check_once(text: &str, allowed: &[SourceId]) -> Checked {
    let mut checked = Checked { text: String::with_capacity(text.len()), cited: Vec::new() };
    let mut last_was_removed = false;
    for piece in pieces(text) {
        let ids = match piece {
            Piece::Text(text) => {
                if last_was_removed && text.starts_with(closes_up) {
                    trim_spaces(&mut checked.text);
                }
                last_was_removed = false;
                checked.text.push_str(text);
                continue;
            }
            Piece::Group { ids, .. } => ids,
            Piece::Bare(id) => vec![id],
        };
        let mut kept: Vec<SourceId> = Vec::new();
        for id in ids {
            if allowed.contains(&id) && !kept.contains(&id) {
                checked.text.push_str(&id.to_citation());
                kept.push(id);
            }
        }
        last_was_removed = kept.is_empty();
        for id in kept {
            if !checked.cited.contains(&id) {
                checked.cited.push(id);
            }
        }
    }
    if last_was_removed {
        trim_spaces(&mut checked.text);
    }
    checked
}

/// Before these the space that led to a removed citation is too much.
fn closes_up(c: char) -> bool {
    c.is_whitespace() || ".,;:!?)。，；：！？）、".contains(c)
}

fn trim_spaces(text: &mut String) {
    text.truncate(text.trim_end_matches(' ').len());
}

fn neutralize_once(text: &str) -> String {
    let mut neutral = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => neutral.push_str(text),
            Piece::Group { inner, .. } => {
                neutral.push('(');
                neutral.push_str(inner);
                neutral.push(')');
            }
            Piece::Bare(id) => neutral.push_str(&id.to_string()),
        }
    }
    neutral
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: &str = "knowledge-20260309-215835-a699";
    const B: &str = "experience-7";
    const C: &str = "resource:pymupdf/find-tables";

    fn allowed() -> Vec<SourceId> {
        [A, B, C].map(|id| id.parse().expect("a source id")).into()
    }

    #[track_caller]
    fn check_text(text: &str, expected: &str, cited: &[&str]) {
        let checked = check(text, &allowed());
        assert_eq!(checked.text, expected);
        let found: Vec<_> = checked.cited.iter().map(SourceId::to_string).collect();
        assert_eq!(found, cited);
    }

    #[test]
    fn retrieved_ids_stay_in_order_of_first_appearance() {
        check_text(
            &format!("Use it [{B}]. Then [{A}][{B}]. See [{C}]."),
            &format!("Use it [{B}]. Then [{A}][{B}]. See [{C}]."),
            &[B, A, C],
        );
    }

    #[test]
    fn what_was_not_retrieved_is_removed() {
        for (text, expected) in [
            ("Good [experience-8].", "Good."),
            ("Good [knowledge-20260309-215835-ffff], yes", "Good, yes"),
            ("好用[resource:other]。", "好用。"),
            ("Good [knowledge-abc] [experience-?]", "Good"),
            ("Good [knowledge-x, knowledge-y]", "Good"),
            ("Good [resource: other one]", "Good"),
            ("As experience-8 says", "As says"),
            ("Good [knowledge_1](https://example.com/x) so", "Good so"),
        ] {
            check_text(text, expected, &[]);
        }
    }

    #[test]
    fn the_forms_that_models_use_become_one() {
        for form in [
            format!("[{A}, {B}]"),
            format!("[{A}；experience-9、{B}]"),
            format!("【{A} {B}】"),
            format!("［来源：{A}，id={B}］"),
            format!("[`{A}`; \"Experience\u{2011}7\"]"),
            format!("[{A}](https://example.com/{A})[{B}]"),
            format!("{A}{B}", A = format_args!("[{A}]"), B = format_args!("{B}")),
        ] {
            check_text(&format!("x {form}。"), &format!("x [{A}][{B}]。"), &[A, B]);
        }
    }

    #[test]
    fn other_brackets_and_words_stay() {
        for text in [
            "list[1] and [x](https://example.com) and [^1], [note], [] and [[a]]",
            "a knowledge-based tool, experience-driven, resource:x, [an experience-based guess]",
            "https://hub/api/knowledge/knowledge-20260309-215835-ffff",
            "unclosed [experience",
            "数组[0]和【注意】",
        ] {
            check_text(text, text, &[]);
        }
    }

    #[test]
    fn what_removal_brings_together_is_removed_too() {
        check_text("exp[experience-9]erience-8 stays", " stays", &[]);
        check_text("[a [experience-9], experience-8]", "[a, ]", &[]);
    }

    #[test]
    fn quoted_text_cites_nothing() {
        for (text, expected) in [
            (format!("see [{A}, x]"), format!("see ({A}, x)")),
            (format!("见【{B}】"), format!("见({B})")),
            ("cite [knowledge-foo]".into(), "cite (knowledge-foo)".into()),
            (format!("[see [{B}] and {A}]"), format!("(see ({B}) and {A})")),
            ("list[1], [x](y)".into(), "list[1], [x](y)".into()),
        ] {
            assert_eq!(neutralize(&text), expected);
        }
    }

    /// Texts that are mostly made of what citations are made of.
    fn adversarial() -> impl Strategy<Value = String> {
        let token = prop_oneof![
            Just(A),
            Just(B),
            Just(C),
            Just("experience-8"),
            Just("knowledge-20260305-a1b2"),
            Just("knowledge-"),
            Just("experience-"),
            Just("resource:"),
            Just("7"),
            Just("["),
            Just("]"),
            Just("【"),
            Just("】"),
            Just("［"),
            Just("］"),
            Just("("),
            Just(")"),
            Just(","),
            Just("，"),
            Just(" "),
            Just("\n"),
            Just("x"),
            Just("来源："),
            Just("`"),
        ];
        let token = prop_oneof![9 => token.prop_map(str::to_owned), 1 => r"\PC{0,3}"];
        prop::collection::vec(token, 0..24).prop_map(|tokens| tokens.concat())
    }

    /// What is in square brackets and an id, found without the scanner.
    fn plainly_cited(text: &str) -> Vec<SourceId> {
        text.split('[').skip(1).filter_map(|rest| rest.split_once(']')?.0.parse().ok()).collect()
    }

    proptest! {
        #[test]
        fn only_allowed_ids_survive(text in adversarial()) {
            let checked = check(&text, &allowed());
            let mut cited = Vec::new();
            for id in plainly_cited(&checked.text) {
                prop_assert!(allowed().contains(&id), "{id} in {:?}", checked.text);
                if !cited.contains(&id) {
                    cited.push(id);
                }
            }
            prop_assert_eq!(&cited, &checked.cited);
            prop_assert_eq!(check(&checked.text, &allowed()), checked);
        }

        #[test]
        fn neutral_text_cites_nothing(text in adversarial()) {
            let neutral = neutralize(&text);
            prop_assert_eq!(plainly_cited(&neutral), []);
            prop_assert_eq!(neutralize(&neutral), neutral);
        }

        #[test]
        fn text_without_brackets_and_ids_is_left_alone(text in r"[^\[【［]{0,80}") {
            prop_assume!(!text.contains("knowledge-") && !text.contains("experience-"));
            prop_assert_eq!(check(&text, &allowed()).text, text);
        }
    }
}
