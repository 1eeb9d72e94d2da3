//! Turning a record down for the sake of another that says as much, and taking that back; pure values.

use protocol::{
    KnowledgeId,
    hub::{Case, EvalStatus, Knowledge, KnowledgeStatus, MergeKind, Origin},
};
use serde_json::Value;

use super::{
    relations::{part, relate},
    verdicts::{Author, take_back_helpful, take_verdict},
};

/// Whose writes are vouched for by nobody: everybody's, on a hub without tokens.
const ANYBODY: &str = "local";

/// What a case is called that a merge counted.
const MERGED: &str = "merged";

/// How, why and by whom one record is merged into another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Merging {
    /// What it is to the other.
    pub(crate) kind: MergeKind,
    /// In a few words.
    pub(crate) reason: String,
    /// Who decides: `hub`, `pipeline:{model}` or `slim:{principal}`.
    pub(crate) actor: String,
}

/// Returns under which name a record's confirmation counts.
///
/// A name that is only claimed counts where no token vouches for anybody.
pub(crate) fn submitter(source: &Origin) -> String {
    let Origin { authenticated_as: principal, on_behalf_of: contact, .. } = source;
    let claimed =
        [&source.submitted_by, &source.agent_id].into_iter().find(|name| !name.trim().is_empty());
    match claimed {
        _ if !contact.is_empty() => format!("{principal} for {contact}"),
        Some(name) if principal == ANYBODY => format!("{principal} as {}", name.trim()),
        _ => principal.clone(),
    }
}

/// Returns whom a record is shown to come from.
pub(crate) fn author(source: &Origin) -> &str {
    let Origin { on_behalf_of: contact, authenticated_as: principal, .. } = source;
    let names = [contact, principal, &source.submitted_by];
    names.into_iter().find(|name| !name.is_empty()).map_or("", String::as_str)
}

/// Tells whether a record holds for everybody for whom another does.
pub(crate) fn covers(target: &Knowledge, record: &Knowledge) -> bool {
    record.scopes.iter().all(|scope| target.scopes.contains(scope))
}

/// Tells whether two say the same to the letter.
pub(crate) fn says_the_same(one: &Knowledge, other: &Knowledge) -> bool {
    (&one.task, &one.content) == (&other.task, &other.content)
}

/// Turns `record` down, relates both, and counts it as a helpful case of `target` if it `counts`.
///
/// Where either has no room for one more relation, neither tells of it; the merge itself is kept anyway.
pub(crate) fn merge(
    record: &mut Knowledge,
    target: &mut Knowledge,
    kind: MergeKind,
    counts: bool,
    author: &Author,
) {
    let (mut related, mut other) = (record.clone(), target.clone());
    if relate(&mut related, &mut other, kind.as_str()).is_ok() {
        (*record, *target) = (related, other);
    }
    record.status = KnowledgeStatus::Rejected;
    if counts {
        let case = Case::Fields([(MERGED.to_owned(), Value::from(record.id.as_str()))].into());
        take_verdict(&mut target.eval, EvalStatus::Helpful, &case, author);
    }
}

/// Ends what a merge said of both; the record itself is [let in](let_in) besides.
pub(crate) fn unmerge(
    record: &mut Knowledge,
    target: &mut Knowledge,
    kind: MergeKind,
    counted: bool,
) {
    // Somebody may have ended the relation before.
    let _ = part(record, target, kind.as_str());
    if counted {
        take_back_helpful(&mut target.eval, |case| is_of(case, &record.id));
    }
}

/// Makes a rejected record approved; what a person decided about it meanwhile stands.
pub(crate) fn let_in(record: &mut Knowledge) {
    if record.status == KnowledgeStatus::Rejected {
        record.status = KnowledgeStatus::Approved;
    }
}

fn is_of(case: &Value, id: &KnowledgeId) -> bool {
    case[MERGED].as_str() == Some(id.as_str())
}

#[cfg(test)]
mod tests {
    use protocol::{Timestamp, hub::NewKnowledge};

    use super::*;
    use crate::{access::Stamp, knowledge::new_record};

    fn record(number: u16) -> Knowledge {
        let now = Timestamp::from_millis(0);
        let id = KnowledgeId::new(now, number);
        new_record(NewKnowledge::default(), Stamp::default(), id, KnowledgeStatus::Approved, now)
    }

    fn author() -> Author {
        Author { name: "hub".into(), now: Timestamp::from_millis(0) }
    }

    #[test]
    fn a_merge_is_undone_to_the_last_bit() {
        for (kind, counts) in [(MergeKind::Duplicate, true), (MergeKind::Subset, false)] {
            let (mut a, mut b) = (record(1), record(2));
            take_verdict(&mut b.eval, EvalStatus::Helpful, &Case::Text("x".into()), &author());
            let before = (a.clone(), b.clone());
            merge(&mut a, &mut b, kind, counts, &author());
            assert_eq!(a.status, KnowledgeStatus::Rejected);
            assert_eq!((a.relationships.len(), b.relationships.len()), (1, 1));
            assert_eq!(b.eval.helpful, 1 + u64::from(counts));
            unmerge(&mut a, &mut b, kind, counts);
            let_in(&mut a);
            assert_eq!((a, b), before);
        }
    }

    #[test]
    fn a_record_with_many_relations_is_merged_into_all_the_same() {
        let (mut a, mut b) = (record(1), record(2));
        for number in 0..100 {
            relate(&mut b, &mut record(100 + number), "conflict").unwrap();
        }
        merge(&mut a, &mut b, MergeKind::Duplicate, true, &author());
        assert_eq!((a.status, a.relationships.len()), (KnowledgeStatus::Rejected, 0));
        assert_eq!(b.eval.helpful, 1);
    }

    #[test]
    fn a_claimed_name_counts_where_nobody_is_known() {
        let name = |principal: &str, contact: &str, claimed: &str, agent: &str| {
            submitter(&Origin {
                authenticated_as: principal.into(),
                on_behalf_of: contact.into(),
                submitted_by: claimed.into(),
                agent_id: agent.into(),
                ..Origin::default()
            })
        };
        assert_eq!(name("ci", "", "ann", ""), "ci");
        assert_eq!(name("local", "", "ann", "bot"), "local as ann");
        assert_eq!(name("local", "", " ", "bot"), "local as bot");
        assert_eq!(name("local", "", "", ""), "local");
        assert_eq!(name("librarian", "im:agent/1", "ann", ""), "librarian for im:agent/1");
    }
}
