//! `knowhub knowledge`: one record, as an answer cites it, and merging those that say the same.

use std::fmt::Write as _;

use anyhow::anyhow;
use clap::{Args, Subcommand};
use protocol::{KnowledgeId, hub};

use super::{
    Failure, Outcome, cited,
    outcome::{STRONG, printable},
};
use crate::tools::Context;

/// Show a knowledge record, or merge those that say the same; `knowhub search` finds them
#[derive(Debug, Subcommand)]
pub(super) enum Knowledge {
    Show(Show),
    Slim(Slim),
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

const SLIM_EXAMPLES: &str = "\
Examples:
  knowhub knowledge slim
  knowhub knowledge slim --scope org:acme --json | jq '.merges[]'
  knowhub knowledge slim --apply
  knowhub knowledge slim --limit 200
  knowhub knowledge slim --limit 200 --after 1834

Whatever is merged can be taken back: POST /api/knowledge/ID/undo_merge.";

/// Merge records into older ones that say as much; tells which would be unless --apply is given
#[derive(Args, Debug)]
#[command(after_help = SLIM_EXAMPLES)]
pub(super) struct Slim {
    /// Merge them
    #[arg(long)]
    apply: bool,
    /// Only records that hold for this scope; may be given several times
    #[arg(long = "scope", value_name = "KIND:NAME")]
    scopes: Vec<String>,
    /// How often the hub may ask its language model in all [default: once for each record]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Go on where an earlier pass ended, which tells the number
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: i64,
}

impl Knowledge {
    pub(super) async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        match self {
            Self::Show(Show { id }) => {
                let record = context.hub.find_knowledge(&id).await?;
                let record =
                    record.ok_or_else(|| Failure::input(anyhow!("there is no record {id}")))?;
                // A hub of an earlier version tells nothing of it.
                let state = context.hub.find_processing(&id).await.ok().flatten();
                Ok(Outcome::done(text(&record, state.as_ref()), &record))
            }
            Self::Slim(slim) => slim.run(context).await,
        }
    }
}

impl Slim {
    async fn run(self, context: &Context) -> Result<Outcome, Failure> {
        let mut order = hub::Slim {
            dry_run: !self.apply,
            scopes: self.scopes,
            after: self.after,
            ..hub::Slim::default()
        };
        let mut all = hub::Slimmed { dry_run: order.dry_run, ..hub::Slimmed::default() };
        loop {
            let left = self.limit.map_or(hub::MAX_SLIM_CALLS, |limit| limit - all.asked.min(limit));
            if left == 0 {
                all.next = Some(order.after);
                break;
            }
            order.limit = left.min(hub::MAX_SLIM_CALLS);
            let part = context.hub.slim(&order).await?;
            all.judged = part.judged;
            all.examined += part.examined;
            all.asked += part.asked;
            all.failed += part.failed;
            all.merges.extend(part.merges);
            match part.next {
                Some(next) if next > order.after => order.after = next,
                _ => break,
            }
        }
        Ok(Outcome::done(slimmed(&all), &all))
    }
}

fn slimmed(all: &hub::Slimmed) -> String {
    let count = if all.dry_run {
        all.merges.len()
    } else {
        all.merges.iter().filter(|merge| merge.applied).count()
    };
    let done = if all.dry_run { "would be merged" } else { "merged" };
    let mut text = format!("{} records looked at, {count} {done}", all.examined);
    if all.failed > 0 {
        let _ = write!(text, ", {} not judged: the language model failed", all.failed);
    }
    if let Some(next) = all.next {
        let _ = write!(text, "; more are left: go on with --after {next}");
    }
    for merge in &all.merges {
        let (record, kind, target) = (&merge.record, merge.kind.as_str(), &merge.target);
        let _ = write!(text, "\n{record}: {kind} of {target} ({})", printable(&merge.reason));
    }
    text
}

/// Returns in a few words what is worth knowing of a record's processing; empty when all went as it should.
fn state_text(state: &hub::Processing) -> String {
    let mut words = Vec::new();
    if let Some(target) = &state.merged_into {
        let mut standing = state.merges.iter().filter(|merge| merge.undone_at.is_none());
        let merge = standing.find(|merge| merge.target == *target);
        let reason = merge.map_or("", |merge| merge.reason.as_str());
        words.push(format!("merged into {target} ({reason})"));
    }
    if state.stage != "done" {
        words.push(format!("waits for {}, {} attempts", state.stage, state.attempts));
    }
    if !state.last_error.is_empty() {
        words.push(state.last_error.clone());
    }
    words.join("; ")
}

fn text(record: &hub::Knowledge, state: Option<&hub::Processing>) -> String {
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
        ("processing", state.map(state_text).unwrap_or_default()),
        ("flags", record.flags.join(", ")),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_merge_is_told_with_its_own_reason() {
        let merge = |target: &str, reason: &str, undone: Option<&str>| {
            json!({
                "kind": "subset", "target": target, "reason": reason, "by": "hub",
                "at": "2026-03-20T10:00:00Z", "counted_helpful": false, "undone_at": undone,
            })
        };
        let (one, other) = ("knowledge-20260305-a1b2", "knowledge-20260305-a1b3");
        let state: hub::Processing = serde_json::from_value(json!({
            "id": "knowledge-20260306-a1b4", "status": "rejected", "stage": "done", "attempts": 0,
            "judged": false, "merged_into": one,
            "merges": [
                merge(other, "another", None),
                merge(one, "taken back", Some("2026-03-21T10:00:00Z")),
                merge(one, "served", None),
            ],
        }))
        .unwrap();
        assert_eq!(state_text(&state), format!("merged into {one} (served)"));
    }
}
