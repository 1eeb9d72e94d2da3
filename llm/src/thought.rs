//! Takes out what a model thinks aloud, between `<think>` and `</think>`, before it answers.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Returns `text` without its thoughts, also without one whose beginning was not sent and one that
/// never ends.
pub fn strip(text: &str) -> String {
    let mut said = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((thought, after)) = rest.split_once(CLOSE) {
        let before = thought.split_once(OPEN).map_or("", |(before, _)| before);
        said.push_str(before);
        rest = after;
    }
    said.push_str(rest.split_once(OPEN).map_or(rest, |(before, _)| before));
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_said_stays() {
        for (text, said) in [
            ("plain", "plain"),
            ("<think>hm</think>yes", "yes"),
            ("a<think>hm</think>b<think>hm</think>c", "abc"),
            ("hm, or rather</think>yes", "yes"),
            ("yes<think>but then", "yes"),
            ("<think></think>", ""),
        ] {
            assert_eq!(strip(text), said, "{text}");
        }
    }
}
