//! `knowhub knowledge`: one record, as an answer cites it.

use std::fmt::Write as _;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use protocol::{KnowledgeId, hub};

use super::{
    Failure, Outcome, cited,
    outcome::{STRONG, printable},
};
use crate::tools::Context;

/// Show a knowledge record; `knowhub search` finds them
#[derive(Debug, Subcommand)]
pub(super) enum Knowledge {
    Show(Show),
}

const EXAMPLES: &str = "\
Examples:
  knowhub knowledge show knowledge-20260309-215835-a699
  knowhub knowledge show \"[knowledge-20260309-215835-a699]\" --json | jq .eval";

/// Show one record with all it says
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Show {
    /// Its id, with or without the brackets of a citation
    #[arg(value_parser = cited::knowledge_id)]
    id: KnowledgeId,
}

impl Knowledge {
    pub(super) async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let Self::Show(Show { id }) = self;
        let record = context.hub.find_knowledge(&id).await?;
        let record = record.ok_or_else(|| Failure::input(anyhow!("there is no record {id}")))?;
        Ok(Outcome::done(text(&record), &record))
    }
}

fn text(record: &hub::Knowledge) -> String {
    let mut text = format!("{STRONG}{}{STRONG:#} [{}]", printable(&record.task), record.id);
    // Writing to a string cannot fail.
    let _ = write!(text, "\n\n{}\n", printable(record.content.trim_end()));
    let eval = &record.eval;
    let verdicts = format!(
        "{}, score {}, helpful {}, harmful {}",
        record.status.as_str(),
        eval.score,
        eval.helpful,
        eval.harmful
    );
    let relations = record.relationships.iter();
    let relations: Vec<_> =
        relations.map(|relation| format!("{} {}", relation.kind, relation.target)).collect();
    for (label, value) in [
        ("verdicts", verdicts),
        ("types", record.types.join(", ")),
        ("scopes", record.scopes.join(", ")),
        ("owner", record.owner.clone()),
        ("source", record.source.name.clone()),
        ("addresses", record.source.urls.join(", ")),
        ("resources", record.resource_ids.join(", ")),
        ("relations", relations.join(", ")),
        ("changed", record.updated_at.to_string()),
    ] {
        if !value.is_empty() {
            let _ = write!(text, "\n{label}: {}", printable(&value));
        }
    }
    text
}
