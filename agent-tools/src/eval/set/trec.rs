//! Sets as TREC has them: documents and topics in a tagged form that is almost XML, judgments in lines.

use std::collections::HashMap;

use super::{Builder, Fault, File, Files, Passage};

/// A topic: its number as written, and the question.
struct Topic {
    number: String,
    text: String,
}

/// The passages that were judged for each question, with their grades.
type Judgments<'a> = HashMap<&'a str, Vec<(&'a str, i64)>>;

/// Reads a set.
pub(super) fn read(files: &Files, builder: &mut Builder) -> Result<(), Fault> {
    let (Some(passages), Some(qrels)) = (&files.passages, &files.qrels) else {
        let what =
            "holds topics: name the documents with --passages and the judgments with --qrels";
        return Err(files.questions.fault(what));
    };
    for (at, doc) in elements(passages, "doc")? {
        let Some(name) = field(doc, "docno") else {
            return Err(passages.fault_at_byte(at, "a <doc> without <docno>"));
        };
        let title = field(doc, "title").unwrap_or_default();
        let passage = Passage::titled(&title, &field(doc, "text").unwrap_or_default());
        builder.add_passage(&name, [name.clone()], passage).map_err(|name| {
            passages.fault_at_byte(at, format!("the docno {name} stands here a second time"))
        })?;
    }
    let topics = topics(&files.questions)?;
    let judgments = judgments(qrels)?;
    let is_numbered = is_numbered(&topics, &judgments, qrels)?;
    for (index, topic) in topics.iter().enumerate() {
        let id = if is_numbered { topic.number.clone() } else { (index + 1).to_string() };
        let judged = judgments.get(id.as_str()).into_iter().flatten().copied();
        builder.add_question(&format!("topic {}", topic.number), &topic.text, judged);
    }
    Ok(())
}

/// Returns all questions.
pub(super) fn questions(file: &File) -> Result<Vec<String>, Fault> {
    Ok(topics(file)?.into_iter().map(|topic| topic.text).collect())
}

fn topics(file: &File) -> Result<Vec<Topic>, Fault> {
    let topic = |(at, top): (usize, &str)| {
        let number =
            field(top, "num").ok_or_else(|| file.fault_at_byte(at, "a <top> without <num>"))?;
        let number = number.trim_start_matches("Number:").trim().to_owned();
        let text =
            field(top, "title").ok_or_else(|| file.fault_at_byte(at, "a <top> without <title>"))?;
        Ok(Topic { number, text })
    };
    elements(file, "top")?.into_iter().map(topic).collect()
}

/// Returns the judgments by question, from lines of `question 0 passage grade`.
fn judgments(file: &File) -> Result<Judgments<'_>, Fault> {
    let mut judgments = Judgments::new();
    for (index, line) in file.text.lines().enumerate() {
        let fields: Vec<_> = line.split_whitespace().collect();
        match fields[..] {
            [] => {}
            [question, _, passage, grade] if grade.parse::<i64>().is_ok() => {
                let grade = grade.parse().unwrap_or_default();
                judgments.entry(question).or_default().push((passage, grade));
            }
            _ => {
                let what =
                    "expected a judgment as `question 0 passage grade`, the grade a whole number";
                return Err(file.fault_at(index + 1, what));
            }
        }
    }
    Ok(judgments)
}

/// Tells whether judgments name topics by their numbers; else they name them by their places, from 1.
///
/// Old collections do: their judgments were made on the topics that were kept, whose numbers have gaps.
fn is_numbered(topics: &[Topic], judgments: &Judgments<'_>, qrels: &File) -> Result<bool, Fault> {
    if judgments.keys().all(|id| topics.iter().any(|topic| topic.number == *id)) {
        return Ok(true);
    }
    let is_place =
        |id: &str| id.parse().is_ok_and(|place: usize| (1..=topics.len()).contains(&place));
    match judgments.keys().find(|id| !is_place(id)) {
        None => Ok(false),
        Some(id) => Err(qrels.fault(format!(
            "judges the question {id}, which is neither the number of a topic nor a place among {}",
            topics.len()
        ))),
    }
}

/// Returns what stands in each element of a name, and where each begins.
fn elements<'a>(file: &'a File, name: &str) -> Result<Vec<(usize, &'a str)>, Fault> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut elements = Vec::new();
    let mut from = 0;
    while let Some(start) = find(&file.text[from..], &open).map(|at| from + at) {
        let inner = start + open.len();
        let Some(end) = find(&file.text[inner..], &close).map(|at| inner + at) else {
            return Err(file.fault_at_byte(start, format!("{open} without {close}")));
        };
        elements.push((start, &file.text[inner..end]));
        from = end + close.len();
    }
    if elements.is_empty() {
        return Err(file.fault(format!("holds no {open}")));
    }
    Ok(elements)
}

/// Returns the text of a field: up to its closing tag, or to the next tag that begins a line where it has none.
fn field(element: &str, name: &str) -> Option<String> {
    let open = format!("<{name}>");
    let rest = &element[find(element, &open)? + open.len()..];
    let end = find(rest, &format!("</{name}>")).or_else(|| rest.find("\n<")).unwrap_or(rest.len());
    Some(unescaped(rest[..end].trim()))
}

/// Returns where a tag stands, in whichever case it is written.
fn find(text: &str, tag: &str) -> Option<usize> {
    let mut places = text.match_indices('<').map(|(at, _)| at);
    places.find(|at| {
        text.as_bytes()[*at..]
            .get(..tag.len())
            .is_some_and(|it| it.eq_ignore_ascii_case(tag.as_bytes()))
    })
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&amp;", "&")
}
