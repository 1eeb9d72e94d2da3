//! `knowhub search`: the hub's own search of knowledge records.

use clap::{Args, builder::RangedU64ValueParser, value_parser};
use protocol::hub::{DEFAULT_MIN_SCORE, DEFAULT_TOP_K, MAX_TOP_K};

use super::{Failure, Outcome, outcome::printable};
use crate::{
    hub::KnowledgeQuery,
    tools::{Context, knowledge_search},
};

const EXAMPLES: &str = "\
Examples:
  knowhub search \"PDF table extraction\"
  knowhub search \"表格提取\" --top-k 10 --type tool --json
  knowhub search \"release checklist\" --scope org:acme --tag project:hub

`knowhub knowledge show ID` shows one of them with its verdicts.";

/// Search knowledge records directly, without the librarian
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Search {
    /// What to search for
    #[arg(required = true)]
    query: Vec<String>,

    /// How many records at most, 1 to 20
    #[arg(
        long,
        default_value_t = DEFAULT_TOP_K,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=MAX_TOP_K as u64)
    )]
    top_k: usize,

    /// The least score of a record, 1 to 5
    #[arg(long, default_value_t = DEFAULT_MIN_SCORE, value_parser = value_parser!(u8).range(1..=5))]
    min_score: u8,

    /// A kind that a record must be of; repeat it to ask for several at once
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,

    /// An owner that a record may have; repeat it to allow several
    #[arg(long)]
    owner: Vec<String>,

    /// A scope that a record may hold for, such as `org:acme`; repeat it to allow several
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,

    /// A tag that a record must have; repeat it to ask for several at once
    #[arg(long = "tag", value_name = "NAME:VALUE", value_parser = parse_tag)]
    tags: Vec<String>,

    /// Also show what is judged irrelevant
    #[arg(long)]
    all: bool,
}

impl Search {
    pub(super) async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let query = KnowledgeQuery {
            q: self.query.join(" "),
            top_k: Some(self.top_k),
            min_score: Some(self.min_score),
            types: self.types,
            owner: self.owner,
            scopes: self.scopes,
            tags: self.tags,
            all: self.all,
        };
        let found = context.hub.search_knowledge(&query).await?;
        let mut outcome = Outcome::done(String::new(), &found);
        outcome.text = printable(&knowledge_search::describe(&query.q, found));
        Ok(outcome)
    }
}

fn parse_tag(text: &str) -> Result<String, String> {
    match text.split_once(':') {
        Some((name, _)) if !name.is_empty() => Ok(text.to_owned()),
        _ => Err("expected NAME:VALUE, such as project:hub".to_owned()),
    }
}
