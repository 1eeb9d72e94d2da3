//! Sets of one JSON object a line: passages in one file, questions with the ids of their passages in another.

use serde::Deserialize;

use super::{Builder, Fault, File, Files, Passage};

/// What a line of passages should be, for messages.
const PASSAGE: &str = r#"{"id": …, "text": …} or {"id": …, "task": …, "content": …}"#;

/// What a line of questions should be, for messages.
const QUESTION: &str = r#"{"query": …, "ids": […]}"#;

#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    /// A knowledge record as it is.
    Record { id: String, task: String, content: String },
    Text {
        id: String,
        #[serde(default)]
        title: String,
        text: String,
    },
}

#[derive(Deserialize)]
struct Asked {
    query: String,
    ids: Vec<String>,
}

/// A question of which nothing more is asked.
#[derive(Deserialize)]
struct Query {
    query: String,
}

/// Reads a set.
pub(super) fn read(files: &Files, builder: &mut Builder) -> Result<(), Fault> {
    let Some(passages) = &files.passages else {
        let what = "holds questions alone: name the file of their passages with --passages";
        return Err(files.questions.fault(what));
    };
    for (line, stored) in passages.json_lines(PASSAGE)? {
        let (id, passage) = match stored {
            Stored::Record { id, task, content } => (id, Passage::titled(&task, &content)),
            Stored::Text { id, title, text } => (id, Passage::titled(&title, &text)),
        };
        builder.add_passage(&id, [id.clone()], passage).map_err(|id| {
            passages.fault_at(line, format!("the id {id} stands here a second time"))
        })?;
    }
    for (line, asked) in files.questions.json_lines::<Asked>(QUESTION)? {
        let judgments = asked.ids.iter().map(|id| (id.as_str(), 1));
        builder.add_question(&format!("line {line}"), &asked.query, judgments);
    }
    Ok(())
}

/// Returns all questions.
pub(super) fn questions(file: &File) -> Result<Vec<String>, Fault> {
    let lines = file.json_lines::<Query>(r#"{"query": …}"#)?;
    Ok(lines.into_iter().map(|(_, asked)| asked.query).collect())
}
