//! Reads the id of what a command shows: as it is, or as an answer cites it.

use protocol::{ExperienceId, KnowledgeId, ResourceId, SourceId, ids::IdFault};

/// Reads `knowledge-…`, with or without brackets.
pub(super) fn knowledge_id(text: &str) -> Result<KnowledgeId, String> {
    bare(text).parse().map_err(|err: IdFault| err.to_string())
}

/// Reads `7`, `experience-7` or `[experience-7]`.
pub(super) fn experience_id(text: &str) -> Result<ExperienceId, String> {
    let text = bare(text);
    let number = text.strip_prefix("experience-").unwrap_or(text);
    match format!("experience-{number}").parse() {
        Ok(SourceId::Experience(id)) => Ok(id),
        _ => Err("expected a number from 1, or a citation such as [experience-7]".to_owned()),
    }
}

/// Reads `pymupdf/tables` or `[resource:pymupdf/tables]`.
pub(super) fn resource_id(text: &str) -> Result<ResourceId, String> {
    without_kind(text).parse().map_err(|err: IdFault| err.to_string())
}

/// Reads a resource's id, or any other name that experiences may have.
pub(super) fn resource_name(text: &str) -> Result<String, String> {
    let name = without_kind(text);
    if name.trim().is_empty() {
        return Err("expected an id, or the name of a resource".to_owned());
    }
    // A URL cannot hold them, however they are written.
    if name.split('/').any(|part| matches!(part, "." | "..")) {
        return Err("no part between slashes may be . or ..".to_owned());
    }
    Ok(name.to_owned())
}

fn bare(text: &str) -> &str {
    text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text)
}

fn without_kind(text: &str) -> &str {
    let text = bare(text);
    text.strip_prefix("resource:").unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_and_as_they_are_cited() {
        for text in ["7", "experience-7", "[experience-7]"] {
            assert_eq!(experience_id(text), Ok(ExperienceId(7)), "{text}");
        }
        for text in ["", "0", "07", "-1", "[7", "knowledge-20260305-a1b2"] {
            assert!(experience_id(text).is_err(), "{text}");
        }
        for text in ["knowledge-20260305-a1b2", "[knowledge-20260305-a1b2]"] {
            assert_eq!(knowledge_id(text).unwrap().as_str(), "knowledge-20260305-a1b2");
        }
        for text in ["论文/第一节", "resource:论文/第一节", "[resource:论文/第一节]"]
        {
            assert_eq!(resource_id(text).unwrap().as_str(), "论文/第一节");
            assert_eq!(resource_name(text).unwrap(), "论文/第一节");
        }
        assert_eq!(resource_name("Attention Is All You Need").unwrap().len(), 25);
        for text in [" ", "..", "a/./b"] {
            assert!(resource_name(text).is_err(), "{text}");
        }
    }
}
