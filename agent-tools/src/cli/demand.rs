//! `knowhub demand`: what was asked for and not found.

use clap::Args;
use protocol::hub::{self, DemandKind};

use super::{
    Failure, Outcome,
    outcome::printable,
    paging::{self, PagingArgs},
};
use crate::tools::Context;

const EXAMPLES: &str = "\
What stands here is worth finding out and reporting. A query is gone from the list once it finds
something, an id once something is stored under it.

Examples:
  knowhub demand
  knowhub demand --kind content --page-size 50 --json";

/// List what was asked for and not found, most wanted first
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Demand {
    /// Only this kind: `experience_search`, `knowledge_search`, `resource_search`, `content` or `resource`
    #[arg(long)]
    kind: Option<DemandKind>,

    #[command(flatten)]
    paging: PagingArgs,
}

impl Demand {
    pub(super) async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let page = context.hub.list_demand(self.kind, self.paging.into()).await?;
        let mut outcome = Outcome::done(text(&page.results), &page);
        outcome.note = paging::rest(&page);
        Ok(outcome)
    }
}

fn text(demand: &[hub::Demand]) -> String {
    if demand.is_empty() {
        return "Nothing was asked for in vain.".to_owned();
    }
    let line = |hub::Demand { kind, wanted, count, last_at, .. }: &hub::Demand| {
        let wanted = printable(wanted).replace(['\n', '\t'], " ");
        format!("{:6} {:17}  {wanted}  (last {last_at})", format!("{count}×"), kind.as_str())
    };
    demand.iter().map(line).collect::<Vec<_>>().join("\n")
}
