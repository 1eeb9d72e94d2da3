//! What an edit makes of a record.

use protocol::hub::{Knowledge, KnowledgePatch};

use super::scopes_or_default;

/// Puts in what the patch names; a list or a map is replaced as a whole.
pub(crate) fn patch(record: &mut Knowledge, patch: KnowledgePatch) {
    set(&mut record.task, patch.task);
    set(&mut record.content, patch.content);
    set(&mut record.types, patch.types);
    set(&mut record.tags, patch.tags);
    set(&mut record.scopes, patch.scopes.map(scopes_or_default));
    set(&mut record.owner, patch.owner);
    set(&mut record.resource_ids, patch.resource_ids);
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

#[cfg(test)]
mod tests {
    use protocol::{
        KnowledgeId, Timestamp,
        hub::{KnowledgeStatus, NewKnowledge},
    };

    use super::*;
    use crate::{access::Stamp, knowledge::new_record};

    #[test]
    fn only_what_is_named_changes() {
        let report = NewKnowledge {
            task: "t".into(),
            content: "c".into(),
            types: vec!["tool".into()],
            owner: "ann".into(),
            scopes: vec!["user:ann".into()],
            ..NewKnowledge::default()
        };
        let now = Timestamp::from_millis(0);
        let before = new_record(
            report,
            Stamp::default(),
            KnowledgeId::new(now, 0),
            KnowledgeStatus::Approved,
            now,
        );
        let mut record = before.clone();
        patch(&mut record, KnowledgePatch::default());
        assert_eq!(record, before);

        let change = KnowledgePatch {
            content: Some("d".into()),
            types: Some(Vec::new()),
            scopes: Some(Vec::new()),
            owner: Some(String::new()),
            ..KnowledgePatch::default()
        };
        patch(&mut record, change);
        assert_eq!((record.task.as_str(), record.content.as_str()), ("t", "d"));
        assert_eq!(record.types, [""; 0]);
        assert_eq!(record.scopes, ["org:cybertogether"]);
        assert_eq!(record.owner, "");
    }
}
