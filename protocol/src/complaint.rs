//! What a parser complains of, short enough to be told to whoever sent the text.

/// The longest complaint, in characters; of a longer one the middle is left out, which quotes what was sent.
const MAX_CHARS: usize = 400;

/// Returns a complaint that does not send back whatever large text it is about.
pub(crate) fn shortened(complaint: &str) -> String {
    let count = complaint.chars().count();
    if count <= MAX_CHARS {
        return complaint.to_owned();
    }
    let half = MAX_CHARS / 2;
    let head: String = complaint.chars().take(half).collect();
    let tail: String = complaint.chars().skip(count - half).collect();
    format!("{head}…{tail}")
}
