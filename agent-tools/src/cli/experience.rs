//! `knowhub experience`: reports what happened with a resource, and finds what others report.

use std::{collections::HashMap, fmt::Write as _, path::PathBuf};

use anyhow::anyhow;
use clap::{Args, Subcommand, builder::RangedU64ValueParser};
use protocol::{
    ExperienceId, MessageId,
    hub::{
        self, Body, DEFAULT_NAMES, ExperienceHit, ExperienceSearch, MAX_NAMES, NewExperience,
        ResourceHit,
    },
};
use serde_json::json;
use uuid::Uuid;

use super::{
    Failure, Outcome, cited, items,
    outcome::{STRONG, printable},
};
use crate::tools::{Context, report_experience};

/// Report what happened with a resource, or find and show what others report
#[derive(Debug, Subcommand)]
pub(super) enum Experience {
    Add(Box<Add>),
    Search(Search),
    Show(Show),
}

const ADD_EXAMPLES: &str = "\
Examples:
  knowhub experience add --name pymupdf --category library --task \"extract tables from a PDF\" \\
      --score 4 --outcome \"fast; two columns get mixed\" --tips \"use page.find_tables()\"
  knowhub experience add --file experiences.jsonl

In a file each line is {\"name\": \"…\", \"task\": \"…\", \"url\", \"category\", \"score\", \"outcome\", \"tips\",
\"content_id\", \"submitted_by\"}.
Every line is checked before the first is sent. A file that is sent again within 24 hours under the
same token, even with more lines, stores nothing twice.";

/// Report one experience, or a file of them
#[derive(Args, Debug)]
#[command(after_help = ADD_EXAMPLES)]
pub(super) struct Add {
    #[command(flatten)]
    report: Report,

    /// JSON Lines with one experience a line; `-` is stdin
    #[arg(long, conflicts_with = "Report")]
    file: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct Report {
    /// The resource's common name: a package, a paper's title, a blog
    #[arg(long, required_unless_present = "file")]
    name: Option<String>,
    /// The concrete task it was used for
    #[arg(long, required_unless_present = "file")]
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
}

impl From<Report> for NewExperience {
    fn from(report: Report) -> Self {
        Self {
            name: report.name.unwrap_or_default(),
            url: report.url,
            category: report.category,
            task: report.task.unwrap_or_default(),
            score: report.score,
            outcome: report.outcome,
            tips: report.tips,
            content_id: report.content_id,
            submitted_by: report.submitted_by,
            on_behalf_of: None,
        }
    }
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
    #[arg(
        long,
        default_value_t = DEFAULT_NAMES,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_NAMES as u64)
    )]
    limit: usize,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  knowhub experience show 7
  knowhub experience show \"[experience-7]\" --json | jq -r .tips";

/// Show one experience with all it says
#[derive(Args, Debug)]
#[command(after_help = SHOW_EXAMPLES)]
pub(super) struct Show {
    /// Its number, or a citation such as `[experience-7]`
    #[arg(value_parser = cited::experience_id)]
    id: ExperienceId,
}

impl Experience {
    pub(super) async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        match self {
            Self::Add(add) => add.run(context).await,
            Self::Search(search) => search.run(context).await,
            Self::Show(show) => show.run(context).await,
        }
    }
}

impl Add {
    async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let mut ids = Vec::new();
        for (key, experience) in self.experiences()? {
            let stored = report_experience::store(context, &experience, &key).await;
            ids.push(stored.map_err(|err| Failure::from(err).after(ids.len(), "experiences"))?);
        }
        let lines: Vec<_> = ids.iter().copied().map(report_experience::told).collect();
        Ok(Outcome::done(lines.join("\n"), &json!({ "ids": ids })))
    }

    /// Returns what to report, each under the key that keeps it from being stored twice.
    fn experiences(self) -> Result<Vec<(String, NewExperience)>, Failure> {
        let mut seen: HashMap<String, usize> = HashMap::new();
        match &self.file {
            Some(file) => items::lines_of(file, "experience", |value| {
                // Made of what it says, and of how many lines before say the same, so that a file that grew anywhere
                // has the same keys.
                let nth = seen.entry(value.to_string()).or_default();
                *nth += 1;
                let name = format!("experience\n{nth}\n{value}");
                let key = Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes());
                Ok((key.to_string(), NewExperience::from_value(value)?))
            }),
            None => Ok(vec![(MessageId::random().to_string(), self.report.into())]),
        }
    }
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
    let head = rating(&hit.name, &hit.url, hit.avg_score, hit.experience_count);
    head + &hit.relevant_experiences.iter().map(experience).collect::<String>()
}

/// Returns one line on what all experiences with a resource say together.
pub(super) fn rating(name: &str, url: &str, avg_score: Option<f64>, count: u64) -> String {
    let mut text = format!("{STRONG}{}{STRONG:#}", printable(name));
    if !url.is_empty() {
        text = format!("{text} <{}>", printable(url));
    }
    let score = avg_score.map_or_else(|| "not rated".to_owned(), |score| format!("{score:.1}/5"));
    let noun = if count == 1 { "experience" } else { "experiences" };
    format!("{text} – {score}, {count} {noun}")
}

/// Returns one experience, each line of it after a line end.
pub(super) fn experience(hit: &ExperienceHit) -> String {
    let score = hit.score.map_or_else(String::new, |score| format!(" ({score}/5)"));
    let mut text = format!("\n  [experience-{}] {}{score}", hit.id, printable(&hit.task));
    for (label, part) in [("outcome", &hit.outcome), ("tips", &hit.tips)] {
        if !part.is_empty() {
            let part = printable(part).replace('\n', "\n    ");
            // Writing to a string cannot fail.
            let _ = write!(text, "\n    {label}: {part}");
        }
    }
    text
}

impl Show {
    async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let id = self.id;
        let found = context.hub.find_experience(id).await?;
        let found = found.ok_or_else(|| Failure::input(anyhow!("there is no experience-{id}")))?;
        Ok(Outcome::done(whole(&found), &found))
    }
}

fn whole(experience: &hub::Experience) -> String {
    let mut text = format!("{STRONG}{}{STRONG:#}", printable(&experience.name));
    if !experience.url.is_empty() {
        text = format!("{text} <{}>", printable(&experience.url));
    }
    let score = experience.score.map(|score| format!("{score}/5")).unwrap_or_default();
    // Writing to a string cannot fail.
    let _ = write!(text, " [experience-{}]", experience.id);
    for (label, part) in [
        ("task", &experience.task),
        ("score", &score),
        ("outcome", &experience.outcome),
        ("tips", &experience.tips),
        ("category", &experience.category),
        ("more in", &experience.content_id),
        ("reported by", &experience.submitted_by),
        ("token", &experience.authenticated_as),
        ("on behalf of", &experience.on_behalf_of),
        ("stored", &experience.created_at.to_string()),
    ] {
        if !part.is_empty() {
            let _ = write!(text, "\n{label}: {}", printable(part).replace('\n', "\n  "));
        }
    }
    text
}
