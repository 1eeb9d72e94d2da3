//! `knowhub experience`: reports what happened with a resource, and finds what others report.

use std::{fmt::Write as _, path::PathBuf};

use anyhow::anyhow;
use clap::{Args, Subcommand};
use protocol::{
    MessageId,
    hub::{Body, ExperienceSearch, FieldFault, NewExperience, ResourceHit},
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    Failure, Outcome, items,
    outcome::{STRONG, printable},
};
use crate::tools::Context;

/// Report what happened with a resource, or find what others report
#[derive(Debug, Subcommand)]
pub(super) enum Experience {
    Add(Add),
    Search(Search),
}

const ADD_EXAMPLES: &str = "\
Examples:
  knowhub experience add --name pymupdf --category library --task \"extract tables from a PDF\" \\
      --score 4 --outcome \"fast; two columns get mixed\" --tips \"use page.find_tables()\"
  knowhub experience add --file experiences.jsonl

In a file each line is {\"name\": \"…\", \"task\": \"…\", \"url\", \"category\", \"score\", \"outcome\", \"tips\"}.
Every line is checked before the first is sent; a file that is sent again stores nothing twice.";

/// Report one experience, or a file of them
#[derive(Args, Debug)]
#[command(after_help = ADD_EXAMPLES)]
pub(super) struct Add {
    /// The resource's common name: a package, a paper's title, a blog
    #[arg(long, required_unless_present = "file", conflicts_with = "file")]
    name: Option<String>,
    /// The concrete task it was used for
    #[arg(long, required_unless_present = "file", conflicts_with = "file")]
    task: Option<String>,
    /// Its canonical address
    #[arg(long, default_value = "", hide_default_value = true)]
    url: String,
    /// mcp, skill, library, api, paper, blog, book, course, or your own word
    #[arg(long, default_value = "", hide_default_value = true)]
    category: String,
    /// How well it served, 1 to 5
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=5))]
    score: Option<u8>,
    /// What came of it, good and bad
    #[arg(long, default_value = "", hide_default_value = true)]
    outcome: String,
    /// The most important advice for the next who tries
    #[arg(long, default_value = "", hide_default_value = true)]
    tips: String,
    /// A content node that tells more
    #[arg(long, default_value = "", hide_default_value = true)]
    content_id: String,
    /// Who reports it, such as an e-mail address
    #[arg(long, default_value = "", hide_default_value = true)]
    submitted_by: String,
    /// JSON Lines with one experience a line; `-` is stdin
    #[arg(long)]
    file: Option<PathBuf>,
}

const SEARCH_EXAMPLES: &str = "\
Examples:
  knowhub experience search \"pdf table\"
  knowhub experience search 表格 --category library --limit 3 --json";

/// Find resources by what others experienced with them
#[derive(Args, Debug)]
#[command(after_help = SEARCH_EXAMPLES)]
pub(super) struct Search {
    /// Words that a report contains
    #[arg(required = true)]
    query: Vec<String>,
    /// Only resources of this kind
    #[arg(long)]
    category: Option<String>,
    /// How many resources at most
    #[arg(long, default_value_t = 10)]
    limit: usize,
}

impl Experience {
    pub(super) async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        match self {
            Self::Add(add) => add.run(context).await,
            Self::Search(search) => search.run(context).await,
        }
    }
}

impl Add {
    async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let mut ids = Vec::new();
        for (key, experience) in self.experiences()? {
            let created = context.hub.add_experience(&experience, Some(&key)).await;
            let id = created.map_err(|err| {
                let mut failure = Failure::from(err);
                if !ids.is_empty() {
                    let stored = format!("{} experiences were stored before this one", ids.len());
                    failure.error = failure.error.context(stored);
                }
                failure
            })?;
            ids.push(id.id);
        }
        let lines: Vec<_> = ids.iter().map(|id| format!("Stored as experience-{id}.")).collect();
        Ok(Outcome::done(lines.join("\n"), &json!({ "ids": ids })))
    }

    /// Returns what to report, each under the key that keeps it from being stored twice.
    fn experiences(self) -> Result<Vec<(String, NewExperience)>, Failure> {
        let Some(file) = &self.file else {
            let experience = NewExperience {
                name: self.name.unwrap_or_default(),
                url: self.url,
                category: self.category,
                task: self.task.unwrap_or_default(),
                score: self.score,
                outcome: self.outcome,
                tips: self.tips,
                content_id: self.content_id,
                submitted_by: self.submitted_by,
                on_behalf_of: None,
            };
            experience.check().map_err(Failure::input)?;
            return Ok(vec![(MessageId::random().to_string(), experience)]);
        };
        let lines = items::lines(&items::read(file)?)?;
        if lines.is_empty() {
            return Err(Failure::input(anyhow!("{} holds no experience", file.display())));
        }
        lines.iter().map(|(line, value)| keyed(*line, value)).collect()
    }
}

/// Reads one line of a file; its key is made of what it says and where, so that the same file has the same keys.
fn keyed(line: usize, value: &Value) -> Result<(String, NewExperience), Failure> {
    let fault = |fault: FieldFault| Failure::input(anyhow!("line {line}: {fault}"));
    let experience = NewExperience::from_value(value).map_err(fault)?;
    let name = format!("experience\n{line}\n{value}");
    Ok((Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes()).to_string(), experience))
}

impl Search {
    async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let query = self.query.join(" ");
        let category = self.category.as_deref();
        let found = context.hub.search_experiences(&query, category, self.limit).await?;
        Ok(Outcome::done(text(&found), &found))
    }
}

fn text(found: &ExperienceSearch) -> String {
    if found.results.is_empty() {
        return "No experiences found.".to_owned();
    }
    found.results.iter().map(resource).collect::<Vec<_>>().join("\n\n")
}

fn resource(hit: &ResourceHit) -> String {
    let mut text = format!("{STRONG}{}{STRONG:#}", printable(&hit.name));
    if !hit.url.is_empty() {
        text = format!("{text} <{}>", printable(&hit.url));
    }
    let score =
        hit.avg_score.map_or_else(|| "not rated".to_owned(), |score| format!("{score:.1}/5"));
    let noun = if hit.experience_count == 1 { "experience" } else { "experiences" };
    // Writing to a string cannot fail.
    let _ = write!(text, " – {score}, {} {noun}", hit.experience_count);
    for experience in &hit.relevant_experiences {
        let score = experience.score.map_or_else(String::new, |score| format!(" ({score}/5)"));
        let task = printable(&experience.task);
        let _ = write!(text, "\n  [experience-{}] {task}{score}", experience.id);
        for (label, part) in [("outcome", &experience.outcome), ("tips", &experience.tips)] {
            if !part.is_empty() {
                let part = printable(part).replace('\n', "\n    ");
                let _ = write!(text, "\n    {label}: {part}");
            }
        }
    }
    text
}
