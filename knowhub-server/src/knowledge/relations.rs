//! How two records relate, told on both of them.

use protocol::{
    KnowledgeId,
    hub::{FieldFault, Knowledge, MAX_LIST_ITEMS, Relationship},
};

use super::Refusal;

/// Marks the other direction of a relation that has no name of its own for it.
const INVERSE_SUFFIX: &str = "_of";

/// Returns what the relation is called as seen from the other record.
///
/// `superset` and `subset` are each other's inverse; `conflict`, `complement` and `duplicate` are their own;
/// any other name gets `_of` at its end, or loses it.
pub(crate) fn inverse(kind: &str) -> String {
    match kind {
        "superset" => "subset".to_owned(),
        "subset" => "superset".to_owned(),
        "conflict" | "complement" | "duplicate" => kind.to_owned(),
        _ => {
            let base = kind.trim_end_matches(INVERSE_SUFFIX);
            let suffixes = (kind.len() - base.len()) / INVERSE_SUFFIX.len();
            // Those five have an inverse already, so that `superset_of` pairs with `superset_of_of`.
            let is_taken = matches!(
                base,
                "" | "superset" | "subset" | "conflict" | "complement" | "duplicate"
            );
            if suffixes.is_multiple_of(2) == is_taken {
                kind[..kind.len() - INVERSE_SUFFIX.len()].to_owned()
            } else {
                format!("{kind}{INVERSE_SUFFIX}")
            }
        }
    }
}

/// Relates both records, each as it sees the other; what is related so already stays as it is.
pub(crate) fn relate(
    record: &mut Knowledge,
    target: &mut Knowledge,
    kind: &str,
) -> Result<(), Refusal> {
    if kind == "none" {
        let reason = "`none` is no relation; to end one, delete it";
        return Err(Refusal::Invalid(FieldFault::new("type", reason)));
    }
    check_other(&record.id, &target.id)?;
    add(record, kind.to_owned(), target.id.clone())?;
    add(target, inverse(kind), record.id.clone())
}

/// Ends a relation on both records.
pub(crate) fn part(
    record: &mut Knowledge,
    target: &mut Knowledge,
    kind: &str,
) -> Result<(), Refusal> {
    let there = remove(record, kind, &target.id);
    let back = remove(target, &inverse(kind), &record.id);
    if there || back { Ok(()) } else { Err(Refusal::NoRelation) }
}

/// Ends all relations of a record with the one that is called `target`.
pub(crate) fn forget(record: &mut Knowledge, target: &KnowledgeId) {
    record.relationships.retain(|one| one.target != *target);
}

/// Tells whether the other record of a relation of `id` tells of it too.
pub(crate) fn is_mutual(id: &KnowledgeId, relation: &Relationship, target: &Knowledge) -> bool {
    let back = Relationship { kind: inverse(&relation.kind), target: id.clone() };
    target.relationships.contains(&back)
}

fn check_other(id: &KnowledgeId, target: &KnowledgeId) -> Result<(), Refusal> {
    if id != target {
        return Ok(());
    }
    Err(Refusal::Invalid(FieldFault::new("target", "must be another record")))
}

fn add(record: &mut Knowledge, kind: String, target: KnowledgeId) -> Result<(), Refusal> {
    let relationship = Relationship { kind, target };
    if record.relationships.contains(&relationship) {
        return Ok(());
    }
    if record.relationships.len() >= MAX_LIST_ITEMS {
        let id = &record.id;
        return Err(Refusal::State(format!("{id} has {MAX_LIST_ITEMS} relations; end one first")));
    }
    record.relationships.push(relationship);
    Ok(())
}

fn remove(record: &mut Knowledge, kind: &str, target: &KnowledgeId) -> bool {
    let before = record.relationships.len();
    record.relationships.retain(|one| !(one.kind == kind && one.target == *target));
    record.relationships.len() < before
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use protocol::{
        Timestamp,
        hub::{KnowledgeStatus, NewKnowledge},
    };

    use super::*;
    use crate::{access::Stamp, knowledge::new_record};

    fn record(number: u16) -> Knowledge {
        let now = Timestamp::from_millis(0);
        let id = KnowledgeId::new(now, number);
        new_record(NewKnowledge::default(), Stamp::default(), id, KnowledgeStatus::Approved, now)
    }

    #[test]
    fn both_records_know_of_it() {
        for (kind, back) in [
            ("superset", "subset"),
            ("subset", "superset"),
            ("conflict", "conflict"),
            ("complement", "complement"),
            ("duplicate", "duplicate"),
            ("prerequisite", "prerequisite_of"),
            ("prerequisite_of", "prerequisite"),
            ("_of", "_of_of"),
            ("superset_of", "superset_of_of"),
            ("a_of_of", "a_of_of_of"),
            ("依赖", "依赖_of"),
        ] {
            let (mut a, mut b) = (record(1), record(2));
            for _ in 0..2 {
                relate(&mut a, &mut b, kind).unwrap();
            }
            let seen_from_a = Relationship { kind: kind.into(), target: b.id.clone() };
            let seen_from_b = Relationship { kind: back.into(), target: a.id.clone() };
            assert_eq!(
                (&a.relationships[..], &b.relationships[..]),
                (&[seen_from_a][..], &[seen_from_b][..])
            );

            assert_eq!(part(&mut a, &mut b, "another"), Err(Refusal::NoRelation));
            part(&mut b, &mut a, back).unwrap();
            assert!(a.relationships.is_empty() && b.relationships.is_empty());
        }
    }

    #[test]
    fn what_is_no_relation_is_refused() {
        let (mut a, mut b) = (record(1), record(2));
        assert!(matches!(relate(&mut a, &mut b, "none"), Err(Refusal::Invalid(_))));
        let mut same = a.clone();
        assert!(matches!(relate(&mut a, &mut same, "conflict"), Err(Refusal::Invalid(_))));
        for number in 0..100 {
            relate(&mut a, &mut record(100 + number), "conflict").unwrap();
        }
        assert!(matches!(relate(&mut a, &mut b, "conflict"), Err(Refusal::State(_))));
    }

    proptest! {
        #[test]
        fn the_inverse_of_the_inverse_is_the_relation(
            kind in "([a-z_]{1,4}|superset|subset|conflict)(_of){0,3}"
        ) {
            prop_assert_eq!(inverse(&inverse(&kind)), kind);
        }
    }
}
