//! `knowhub resource`: what is stored of tools, papers and logins, with the secrets in it.

mod put;

use std::fmt::Write as _;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use protocol::{
    ResourceId,
    hub::{self, ContentType, ResourceEntry, ResourceReading},
};

use super::{
    Failure, Outcome, cited,
    content::head,
    experience::{experience, rating},
    outcome::{STRONG, printable},
    paging::{self, PagingArgs},
};
use crate::{hub::ResourceQuery, settings, tools::Context};

/// List, show or store resources, and the secrets that only the org's key opens
#[derive(Debug, Subcommand)]
pub(super) enum Resource {
    List(List),
    Show(Show),
    Put(Box<put::Put>),
}

const LIST_EXAMPLES: &str = "\
Examples:
  knowhub resource list
  knowhub resource list pdf tables --type code
  knowhub resource list --prefix acme/sites --json | jq -r '.results[].id'";

/// List resources by id, or find those that answer a query
#[derive(Args, Debug)]
#[command(after_help = LIST_EXAMPLES)]
pub(super) struct List {
    /// Words or a question; without them, all are listed
    query: Vec<String>,

    /// Only this id and those below it
    #[arg(long, value_parser = cited::resource_id)]
    prefix: Option<ResourceId>,

    /// Only this type: text, code, credential or cookie
    #[arg(long = "type", value_name = "TYPE")]
    content_type: Option<ContentType>,

    #[command(flatten)]
    paging: PagingArgs,
}

const SHOW_EXAMPLES: &str = "\
A secret is shown to who has the org's key in KNOWHUB_ORG_KEY; there is no flag for it, since others
on the machine can read command lines.

Examples:
  knowhub resource show pymupdf
  knowhub resource show \"Attention Is All You Need\"
  KNOWHUB_ORG_KEY=$(cat acme.key) knowhub resource show acme/login --json | jq -r .secure_body";

/// Show the resource of an id together with the experiences of that name
#[derive(Args, Debug)]
#[command(after_help = SHOW_EXAMPLES)]
pub(super) struct Show {
    /// Its id, or the name that experiences give it
    #[arg(value_parser = cited::resource_name)]
    name: String,

    #[command(flatten)]
    paging: PagingArgs,
}

impl Resource {
    pub(super) async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        match self {
            Self::List(list) => list.run(context).await,
            Self::Show(show) => show.run(context).await,
            Self::Put(put) => put.run(context).await,
        }
    }
}

impl List {
    async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let query = ResourceQuery {
            q: (!self.query.is_empty()).then(|| self.query.join(" ")),
            prefix: self.prefix,
            content_type: self.content_type,
            paging: self.paging.into(),
        };
        let page = context.hub.list_resources(&query).await?;
        let lines: Vec<_> = page.results.iter().map(entry).collect();
        let text = if lines.is_empty() { "No resources found.".into() } else { lines.join("\n") };
        let mut outcome = Outcome::done(text, &page);
        outcome.note = paging::rest(&page);
        Ok(outcome)
    }
}

fn entry(entry: &ResourceEntry) -> String {
    let ResourceEntry { id, title, content_type, secure_body, expired, .. } = entry;
    let mut marks = vec![content_type.as_str()];
    marks.extend((!secure_body.is_empty()).then_some("with a secret"));
    marks.extend(expired.then_some("expired"));
    format!("{STRONG}{id}{STRONG:#}  {}  ({})", printable(title), marks.join(", "))
}

impl Show {
    async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let (name, key) = (self.name, settings::org_key()?);
        let found = context.hub.find_resource(&name, self.paging.into(), key.as_ref()).await?;
        let found = found.ok_or_else(|| {
            Failure::input(anyhow!("there is neither a resource nor an experience called {name}"))
        })?;
        let mut outcome = Outcome::done(text(&found), &found);
        let shown = found.page.saturating_mul(found.page_size);
        outcome.note = (shown < found.experience_count)
            .then(|| format!("--page {} shows more experiences", found.page + 1));
        Ok(outcome)
    }
}

fn text(found: &ResourceReading) -> String {
    let mut text = found.resource.as_ref().map(resource).unwrap_or_default();
    if found.experience_count > 0 {
        let gap = if text.is_empty() { "" } else { "\n\n" };
        let head = rating(&found.name, &found.url, found.avg_score, found.experience_count);
        text = format!("{text}{gap}{head}");
    }
    for hit in &found.experiences {
        text.push_str(&experience(hit));
    }
    for link in &found.contents {
        // Writing to a string cannot fail.
        let _ = write!(text, "\nmore in {}  {}", link.id, printable(&link.title));
    }
    text
}

fn resource(resource: &hub::Resource) -> String {
    let hub::Resource { id, title, body, secure_body, content_type, metadata, .. } = resource;
    let mut text = format!("{} ({})", head(title, id), content_type.as_str());
    // Writing to a string cannot fail.
    if !body.is_empty() {
        let _ = write!(text, "\n\n{}\n", printable(body.trim_end()));
    }
    if secure_body.is_placeholder() {
        text.push_str("\nsecret: sealed; set KNOWHUB_ORG_KEY to see it");
    } else if !secure_body.is_empty() {
        let _ = write!(text, "\nsecret: {}", printable(secure_body.expose()));
    }
    for (name, value) in &metadata.0 {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let _ = write!(text, "\n{}: {}", printable(name), printable(&value));
    }
    if resource.expired {
        text.push_str("\nexpired: it no longer works");
    }
    let _ = write!(text, "\nversion {}, changed {}", resource.version, resource.updated_at);
    text
}
