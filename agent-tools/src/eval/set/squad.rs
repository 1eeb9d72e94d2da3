//! Sets in the layout of SQuAD: articles of paragraphs, each with the questions that it answers.

use std::{collections::HashMap, fmt};

use serde::Deserialize;

use super::{Builder, Fault, File, Files};

/// What a file should be, for messages.
const EXPECTED: &str = r#"{"data": [{"title": …, "paragraphs": [{"context": …, "qas": [{"id": …, "question": …}]}]}]}"#;

#[derive(Deserialize)]
struct Document {
    data: Vec<Article>,
}

#[derive(Deserialize)]
struct Article {
    /// What its paragraphs speak of; the task of their records, as a knowledge record has one.
    #[serde(default)]
    title: String,
    paragraphs: Vec<Paragraph>,
}

#[derive(Deserialize)]
struct Paragraph {
    context: String,
    #[serde(default)]
    qas: Vec<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    id: Id,
    question: String,
    /// Asked about the passage, which does not answer it.
    #[serde(default)]
    is_impossible: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Text(String),
    Number(i64),
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl Document {
    /// Returns each paragraph with its article's title.
    fn paragraphs<'a>(&'a self) -> impl Iterator<Item = (&'a str, &'a Paragraph)> {
        let titled = |article: &'a Article| {
            article.paragraphs.iter().map(|one| (article.title.as_str(), one))
        };
        self.data.iter().flat_map(titled)
    }

    fn questions(&self) -> impl Iterator<Item = &Asked> {
        self.paragraphs().flat_map(|(_, paragraph)| &paragraph.qas)
    }
}

/// Reads a set: a question's passage is the one that has a question of the same id, in whichever file.
pub(super) fn read(files: &Files, builder: &mut Builder) -> Result<(), Fault> {
    let questions: Document = files.questions.json(EXPECTED)?;
    let passages =
        files.passages.as_ref().map(|file| file.json::<Document>(EXPECTED)).transpose()?;
    for (index, (title, paragraph)) in
        passages.as_ref().unwrap_or(&questions).paragraphs().enumerate()
    {
        let shown = format!("passage {}", index + 1);
        let ids = paragraph.qas.iter().map(|asked| asked.id.to_string());
        let passage = super::Passage::titled(title, &paragraph.context);
        builder.add_passage(&shown, ids, passage).map_err(|id| {
            let file = files.passages.as_ref().unwrap_or(&files.questions);
            file.fault(format!("two passages have a question with the id {id}: expected one each"))
        })?;
    }
    let mut seen = HashMap::new();
    for asked in questions.questions() {
        let id = asked.id.to_string();
        if asked.is_impossible {
            builder.left_out.add("questions marked as impossible", &id);
        } else if seen.insert(id.clone(), &asked.question).is_some() {
            let what = format!("two questions have the id {id}: expected one each");
            return Err(files.questions.fault(what));
        } else {
            builder.add_question(&id, &asked.question, [(id.as_str(), 1)]);
        }
    }
    Ok(())
}

/// Returns all questions.
pub(super) fn questions(file: &File) -> Result<Vec<String>, Fault> {
    let document: Document = file.json(EXPECTED)?;
    Ok(document.questions().map(|asked| asked.question.clone()).collect())
}
