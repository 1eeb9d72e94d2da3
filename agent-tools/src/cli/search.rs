//! `knowhub search`: the hub's own search of knowledge records.

use clap::Args;

use super::{Failure, Outcome, outcome::printable};
use crate::{
    hub::KnowledgeQuery,
    tools::{Context, knowledge_search},
};

const EXAMPLES: &str = "\
Examples:
  knowhub search \"PDF table extraction\"
  knowhub search \"表格提取\" --top-k 10 --type tool --json";

/// Search knowledge records directly, without the librarian
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Search {
    /// What to search for
    #[arg(required = true)]
    query: Vec<String>,

    /// How many records at most, 1 to 20 [default: 5]
    #[arg(long)]
    top_k: Option<usize>,

    /// The least score of a record, 1 to 5 [default: 3]
    #[arg(long)]
    min_score: Option<u8>,

    /// A kind that a record must be of; repeat it to ask for several at once
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,

    /// An owner that a record may have; repeat it to allow several
    #[arg(long)]
    owner: Vec<String>,

    /// Also show what is judged irrelevant
    #[arg(long)]
    all: bool,
}

impl Search {
    pub(super) async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let query = KnowledgeQuery {
            q: self.query.join(" "),
            top_k: self.top_k,
            min_score: self.min_score,
            types: self.types,
            owner: self.owner,
            all: self.all,
            ..KnowledgeQuery::default()
        };
        let found = context.hub.search_knowledge(&query).await?;
        let mut outcome = Outcome::done(String::new(), &found);
        outcome.text = printable(&knowledge_search::describe(&query.q, found));
        Ok(outcome)
    }
}
