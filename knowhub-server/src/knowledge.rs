//! What becomes of knowledge: of a report before it is stored, and of a record by each kind of change.
//!
//! All of this is pure; `store/knowledge.rs` keeps what comes out, and `editor.rs` brings a model in.

mod evolution;
mod flags;
mod merge;
mod patch;
mod refusal;
mod relations;
mod served;
mod text_hash;
mod verdicts;
mod verify;

use protocol::{
    KnowledgeId, Timestamp,
    hub::{Eval, Knowledge, KnowledgeStatus, NewKnowledge, Origin},
};

pub(crate) use evolution::{NotEvolved, prompt, usable};
pub(crate) use flags::{flags, is_flagged};
pub(crate) use merge::{Merging, author, covers, let_in, merge, says_the_same, submitter, unmerge};
pub(crate) use patch::patch;
pub(crate) use refusal::{Refusal, item_result};
pub(crate) use relations::{forget, is_mutual, part, relate};
pub(crate) use served::Suspect;
pub(crate) use text_hash::{TextHash, text_hash};
pub(crate) use verdicts::{Author, take_feedback, take_verdict};
pub(crate) use verify::verify;

use crate::access::Stamp;

/// Tells whether searches find a record.
pub(crate) fn is_searchable(record: &Knowledge) -> bool {
    matches!(record.status, KnowledgeStatus::Approved | KnowledgeStatus::Checked)
}

/// For whom knowledge holds when its report does not say.
const DEFAULT_SCOPE: &str = "org:cybertogether";

/// Returns the record of a report, at its first status.
pub(crate) fn new_record(
    report: NewKnowledge,
    stamp: Stamp,
    id: KnowledgeId,
    status: KnowledgeStatus,
    now: Timestamp,
) -> Knowledge {
    let agent = &report.source.agent_id;
    let owner = match (report.owner.is_empty(), agent.is_empty()) {
        (true, false) => format!("agent:{agent}"),
        _ => report.owner,
    };
    Knowledge {
        id,
        flags: flags(&report.task, &report.content),
        task: report.task,
        content: report.content,
        types: report.types,
        tags: report.tags,
        scopes: scopes_or_default(report.scopes),
        owner,
        resource_ids: report.resource_ids,
        source: Origin {
            authenticated_as: stamp.authenticated_as,
            on_behalf_of: stamp.on_behalf_of,
            ..report.source
        },
        eval: Eval::default(),
        status,
        verified_by: String::new(),
        relationships: Vec::new(),
        message_id: report.message_id,
        created_at: now,
        updated_at: now,
    }
}

fn scopes_or_default(scopes: Vec<String>) -> Vec<String> {
    if scopes.is_empty() { vec![DEFAULT_SCOPE.to_owned()] } else { scopes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(owner: &str, agent: &str, scopes: &[&str], expected: (&str, &[&str])) {
        let report = NewKnowledge {
            owner: owner.into(),
            scopes: scopes.iter().map(ToString::to_string).collect(),
            source: Origin { agent_id: agent.into(), ..Origin::default() },
            ..NewKnowledge::default()
        };
        let now = Timestamp::from_millis(0);
        let id = KnowledgeId::new(now, 0);
        let record = new_record(report, Stamp::default(), id, KnowledgeStatus::Approved, now);
        assert_eq!(record.owner, expected.0);
        assert_eq!(record.scopes, expected.1);
    }

    #[test]
    fn owner_and_scopes_have_defaults() {
        check("", "", &[], ("", &["org:cybertogether"]));
        check("", "research", &[], ("agent:research", &["org:cybertogether"]));
        check("me", "research", &["user:me"], ("me", &["user:me"]));
    }
}
