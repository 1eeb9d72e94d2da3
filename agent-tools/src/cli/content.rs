//! `knowhub content`: Markdown under path ids, shown and stored.

use std::{collections::HashSet, fmt::Write as _, path::PathBuf};

use anyhow::anyhow;
use clap::{Args, Subcommand};
use protocol::{
    ResourceId,
    hub::{self, Body, ContentLink, FieldFault, NewContent, ResourceStored},
};
use serde_json::json;

use super::{
    Failure, Outcome, cited, items,
    outcome::{STRONG, printable},
};
use crate::tools::Context;

/// Show what is stored to read, or store it
#[derive(Debug, Subcommand)]
pub(super) enum Content {
    Show(Show),
    Add(Box<Add>),
}

const SHOW_EXAMPLES: &str = "\
Examples:
  knowhub content show pymupdf/find-tables
  knowhub content show pymupdf --json | jq -r '.children[].id'";

/// Show a node, and what stands above, beside and below it
#[derive(Args, Debug)]
#[command(after_help = SHOW_EXAMPLES)]
pub(super) struct Show {
    /// Its id: a path such as `pymupdf/find-tables`
    #[arg(value_parser = cited::resource_id)]
    id: ResourceId,
}

const ADD_EXAMPLES: &str = "\
A node that is there already gets the new text; what it said before is kept as a version.
In a file of nodes each line is {\"id\": \"…\", \"body\": \"…\", \"title\", \"sort_order\", \"submitted_by\"};
every line is checked before the first is sent, and sending the file again changes nothing.

Examples:
  knowhub content add pymupdf/find-tables tables.md --sort-order 1
  pandoc paper.tex -t gfm | knowhub content add attention-paper -
  knowhub content add --file chapters.jsonl";

/// Store a Markdown file as a node, or a file of nodes
#[derive(Args, Debug)]
#[command(after_help = ADD_EXAMPLES)]
pub(super) struct Add {
    #[command(flatten)]
    node: Node,

    /// JSON Lines with one node a line; `-` is stdin
    #[arg(long, conflicts_with = "Node")]
    file: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct Node {
    /// Its id: a path such as `pymupdf/find-tables`
    #[arg(value_parser = cited::resource_id, required_unless_present = "file")]
    id: Option<ResourceId>,

    /// A Markdown file, images by URL; `-` is stdin
    #[arg(required_unless_present = "file")]
    markdown: Option<PathBuf>,

    /// Its title; without it, the heading that the file begins with
    #[arg(long)]
    title: Option<String>,

    /// Its place among its siblings, smallest first
    #[arg(long, default_value_t = 0, allow_negative_numbers = true)]
    sort_order: i64,

    /// Who stores it, such as an e-mail address
    #[arg(long, default_value = "", hide_default_value = true)]
    submitted_by: String,
}

impl Content {
    pub(super) async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        match self {
            Self::Show(show) => show.run(context).await,
            Self::Add(add) => add.run(context).await,
        }
    }
}

impl Show {
    async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let id = self.id;
        let node = context.hub.find_content(&id).await?;
        let node = node.ok_or_else(|| Failure::input(anyhow!("nothing is stored under {id}")))?;
        Ok(Outcome::done(text(&node), &node))
    }
}

fn text(node: &hub::Content) -> String {
    let mut text = head(&node.title, &node.id);
    // Writing to a string cannot fail.
    let _ = write!(text, "\n\n{}\n", printable(node.body.trim_end()));
    if node.expired {
        text.push_str("\nexpired: what it says no longer works");
    }
    for (label, link) in [("root", &node.toc), ("before", &node.prev), ("after", &node.next)] {
        if let Some(ContentLink { id, title }) = link {
            let _ = write!(text, "\n{label}: {id}  {}", printable(title));
        }
    }
    if node.children_count > 0 {
        let _ = write!(text, "\nbelow ({}):", node.children_count);
    }
    for ContentLink { id, title } in &node.children {
        let _ = write!(text, "\n  {id}  {}", printable(title));
    }
    text
}

/// Returns the line that a node or resource is shown under.
pub(super) fn head(title: &str, id: &ResourceId) -> String {
    if title.is_empty() {
        return format!("[resource:{id}]");
    }
    format!("{STRONG}{}{STRONG:#} [resource:{id}]", printable(title))
}

impl Add {
    async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let nodes = match &self.file {
            Some(file) => {
                let mut ids = HashSet::new();
                items::lines_of(file, "node", |value| {
                    let node = NewContent::from_value(value)?;
                    // Each would overwrite the other, every time that the file is sent.
                    if !ids.insert(node.id.clone()) {
                        return Err(FieldFault::new("id", "stands in an earlier line too"));
                    }
                    Ok(node)
                })?
            }
            None => vec![self.node.read()?],
        };
        let mut stored = Vec::new();
        for node in nodes {
            let answer = context.hub.submit_content(&node, None).await;
            stored.push(answer.map_err(|err| Failure::from(err).after(stored.len(), "nodes"))?);
        }
        let lines: Vec<_> = stored.iter().map(told).collect();
        Ok(Outcome::done(lines.join("\n"), &json!({ "stored": stored })))
    }
}

impl Node {
    fn read(self) -> Result<NewContent, Failure> {
        let (Some(id), Some(file)) = (self.id, self.markdown) else {
            return Err(Failure::input(FieldFault::new("", "neither a node nor a file of nodes")));
        };
        let body = items::read(&file)?;
        let title = self.title.unwrap_or_else(|| heading(&body).to_owned());
        let (sort_order, submitted_by) = (self.sort_order, self.submitted_by);
        let node = NewContent { id, title, body, sort_order, submitted_by, on_behalf_of: None };
        node.check().map_err(Failure::input)?;
        Ok(node)
    }
}

/// Returns the heading that Markdown begins with; empty where it begins with something else.
fn heading(markdown: &str) -> &str {
    let first = markdown.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let title = first.trim_start_matches('#');
    if title.len() < first.len() && title.starts_with(' ') { title.trim() } else { "" }
}

/// Returns what became of a stored node or resource.
pub(super) fn told(stored: &ResourceStored) -> String {
    let ResourceStored { id, version, created } = stored;
    let did = if *created { "Stored" } else { "Replaced" };
    format!("{did} {id}, now at version {version}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_heading_that_the_text_begins_with() {
        for (text, title) in [
            ("\n## Finding tables\n\ntext", "Finding tables"),
            ("# 表格", "表格"),
            ("text\n# later", ""),
            ("#hashtag", ""),
            ("", ""),
        ] {
            assert_eq!(heading(text), title, "{text}");
        }
    }
}
