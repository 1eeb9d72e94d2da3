//! Question sets: passages, and questions that some of them answer.
//!
//! Nothing is left out in silence: what a set holds and cannot be measured is counted, with an example.

mod file;
mod jsonl;
mod pairs;
mod passage;
mod squad;
mod trec;

pub(crate) use file::{Fault, File};
pub(crate) use pairs::{Pair, Pairs};
pub(crate) use passage::Passage;

use std::collections::{BTreeMap, HashMap};

use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
use serde::{Deserialize, Serialize};

/// How a question set is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// One JSON object with `data`, articles of paragraphs, each with the questions it answers
    Squad,
    /// `<doc>` and `<top>` elements, with judgments in a file of their own
    Trec,
    /// One JSON object a line: passages `{"id", "text"}`, questions `{"query", "ids"}`
    Jsonl,
}

impl Format {
    /// Returns the format that the file's beginning speaks of.
    fn of(file: &File) -> Result<Self, Fault> {
        let text = file.text.trim_start();
        let line = text.lines().next().unwrap_or_default();
        let object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(line);
        match (text.chars().next(), object) {
            (Some('<'), _) => Ok(Self::Trec),
            (Some('{'), Ok(object)) if !object.contains_key("data") => Ok(Self::Jsonl),
            (Some('{'), _) => Ok(Self::Squad),
            _ => Err(file.fault(
                "begins like no question set: expected a JSON object with `data` (SQuAD), `<doc>` or `<top>` \
                 elements (TREC), or one JSON object a line (JSONL)",
            )),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Squad => "SQuAD",
            Self::Trec => "TREC",
            Self::Jsonl => "JSONL",
        }
    }
}

/// The files that make a question set.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) questions: File,
    /// The file of the questions where it is absent.
    pub(crate) passages: Option<File>,
    /// Which passages answer which question, where that stands apart (TREC).
    pub(crate) qrels: Option<File>,
    /// Detected where it is absent.
    pub(crate) format: Option<Format>,
}

/// Passages, and questions that some of them answer.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct QuestionSet {
    pub(crate) passages: Vec<Passage>,
    pub(crate) questions: Vec<Question>,
    /// What could not be taken in.
    pub(crate) left_out: Vec<LeftOut>,
}

/// One question, and the passages that answer it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) text: String,
    /// One at least, each passage once.
    pub(crate) answers: Vec<Answer>,
}

/// A passage that answers a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Its place among the set's passages.
    pub(crate) passage: usize,
    /// How well it answers, 1 or more.
    pub(crate) grade: u32,
}

/// Something that a set holds and that was not taken in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeftOut {
    pub(crate) what: String,
    pub(crate) count: u64,
    /// The first of them.
    pub(crate) example: String,
}

impl QuestionSet {
    /// Reads a set.
    pub(crate) fn read(files: &Files) -> Result<Self, Fault> {
        let format_of = |file: &File| files.format.map_or_else(|| Format::of(file), Ok);
        let format = format_of(&files.questions)?;
        if let Some(passages) = &files.passages {
            let other = format_of(passages)?;
            if other != format {
                let (ours, theirs) = (format.name(), other.name());
                let what =
                    format!("is {theirs}, and the questions are {ours}: expected one format");
                return Err(passages.fault(what));
            }
        }
        let mut builder = Builder::default();
        match format {
            Format::Squad => squad::read(files, &mut builder)?,
            Format::Trec => trec::read(files, &mut builder)?,
            Format::Jsonl => jsonl::read(files, &mut builder)?,
        }
        builder.finish(files)
    }

    /// Reads the texts of questions, whatever answers them.
    pub(crate) fn questions_of(file: &File, format: Option<Format>) -> Result<Vec<String>, Fault> {
        let questions = match format.map_or_else(|| Format::of(file), Ok)? {
            Format::Squad => squad::questions(file)?,
            Format::Trec => trec::questions(file)?,
            Format::Jsonl => jsonl::questions(file)?,
        };
        let questions: Vec<_> =
            questions.into_iter().filter(|text| !text.trim().is_empty()).collect();
        if questions.is_empty() {
            return Err(file.fault("holds no question"));
        }
        Ok(questions)
    }
}

/// Returns `limit` of them at most: the first, or those that a seed draws.
pub(crate) fn sample<T>(mut all: Vec<T>, limit: Option<usize>, seed: Option<u64>) -> Vec<T> {
    if let Some(seed) = seed {
        all.shuffle(&mut StdRng::seed_from_u64(seed));
    }
    all.truncate(limit.unwrap_or(usize::MAX));
    all
}

/// Puts a set together, and counts what cannot be part of it.
#[derive(Debug, Default)]
struct Builder {
    set: QuestionSet,
    /// Where each text stands among the passages.
    by_text: HashMap<Passage, usize>,
    /// Where the passage of each name stands; `None` for one that says nothing.
    by_name: HashMap<String, Option<usize>>,
    left_out: Tally,
}

impl Builder {
    /// Adds a passage under the names by which questions know it; one that has the text of another is that other.
    ///
    /// `shown` is its name in messages.
    ///
    /// # Errors
    ///
    /// Returns a name that another passage has already.
    fn add_passage(
        &mut self,
        shown: &str,
        names: impl IntoIterator<Item = String>,
        passage: Option<Passage>,
    ) -> Result<(), String> {
        let place = self.place_of(shown, passage);
        for name in names {
            if self.by_name.insert(name.clone(), place).is_some_and(|earlier| earlier != place) {
                return Err(name);
            }
        }
        Ok(())
    }

    /// Returns where a passage stands among those of the set, the same for the same text; `None` if it says nothing.
    fn place_of(&mut self, shown: &str, passage: Option<Passage>) -> Option<usize> {
        let Some(passage) = passage else {
            self.left_out.add("passages that say nothing", shown);
            return None;
        };
        if let Some(&place) = self.by_text.get(&passage) {
            self.left_out
                .add("passages with the text of an earlier one, which counts for them", shown);
            return Some(place);
        }
        let place = self.set.passages.len();
        self.by_text.insert(passage.clone(), place);
        self.set.passages.push(passage);
        Some(place)
    }

    /// Adds a question with the names of the passages that answer it, each with its grade.
    fn add_question<'a>(
        &mut self,
        shown: &str,
        text: &str,
        judgments: impl IntoIterator<Item = (&'a str, i64)>,
    ) {
        let mut answers = BTreeMap::<usize, u32>::new();
        for (name, grade) in judgments {
            let Ok(grade @ 1..) = u32::try_from(grade) else { continue };
            match self.by_name.get(name) {
                Some(Some(passage)) => {
                    let best = answers.entry(*passage).or_default();
                    *best = grade.max(*best);
                }
                Some(None) => self.left_out.add("judgments on a passage that says nothing", name),
                None => self.left_out.add("judgments on a passage that is not there", name),
            }
        }
        if text.trim().is_empty() {
            self.left_out.add("questions that say nothing", shown);
        } else if answers.is_empty() {
            self.left_out.add("questions that no passage answers", shown);
        } else {
            let answer = |(passage, grade)| Answer { passage, grade };
            let answers = answers.into_iter().map(answer).collect();
            self.set.questions.push(Question { text: text.trim().to_owned(), answers });
        }
    }

    fn finish(mut self, files: &Files) -> Result<QuestionSet, Fault> {
        if self.set.passages.is_empty() {
            let file = files.passages.as_ref().unwrap_or(&files.questions);
            return Err(file.fault("holds no passage"));
        }
        self.set.left_out = self.left_out.told();
        if self.set.questions.is_empty() {
            let told: Vec<_> = self.set.left_out.iter().map(LeftOut::told).collect();
            let told = told.join("; ");
            return Err(files
                .questions
                .fault(format!("holds no question that a passage answers: {told}")));
        }
        Ok(self.set)
    }
}

/// Counts what is left out: by what is wrong with it, how many, and the first.
#[derive(Debug, Default)]
struct Tally(BTreeMap<&'static str, (u64, String)>);

impl Tally {
    fn add(&mut self, what: &'static str, example: &str) {
        self.0.entry(what).or_insert_with(|| (0, example.to_owned())).0 += 1;
    }

    fn told(self) -> Vec<LeftOut> {
        let told =
            |(what, (count, example)): (&str, _)| LeftOut { what: what.to_owned(), count, example };
        self.0.into_iter().map(told).collect()
    }
}

impl LeftOut {
    /// Returns it as a person reads it.
    pub(crate) fn told(&self) -> String {
        format!("{} {}, such as {}", self.count, self.what, self.example)
    }
}

#[cfg(test)]
mod tests;
