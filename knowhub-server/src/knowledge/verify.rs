//! What a person's decision makes of a record's status.

use protocol::hub::{Knowledge, KnowledgeStatus, VerifyAction};

use super::Refusal;

/// Decides on a record; `by` is who does.
///
/// Approving turns `approved` and `checked` into each other and lets a rejected record back in as `approved`.
/// Rejecting what is rejected changes nothing.
pub(crate) fn verify(
    record: &mut Knowledge,
    action: VerifyAction,
    by: &str,
) -> Result<(), Refusal> {
    use KnowledgeStatus::{
        Analyzing, Approved, Checked, DedupPassed, Pending, Processing, Rejected,
    };
    let status = match (action, record.status) {
        (VerifyAction::Approve, Approved) => Checked,
        (VerifyAction::Approve, Checked | Rejected) => Approved,
        (VerifyAction::Reject, Rejected) => return Ok(()),
        (VerifyAction::Reject, Approved | Checked | Pending | DedupPassed) => Rejected,
        (_, Pending | Processing | DedupPassed | Analyzing) => {
            return Err(Refusal::State(format!(
                "the record is being processed ({}); decide on it once it is approved or rejected",
                record.status.as_str()
            )));
        }
    };
    record.status = status;
    by.clone_into(&mut record.verified_by);
    Ok(())
}

#[cfg(test)]
mod tests {
    use KnowledgeStatus::{
        Analyzing, Approved, Checked, DedupPassed, Pending, Processing, Rejected,
    };
    use VerifyAction::{Approve, Reject};
    use protocol::{KnowledgeId, Timestamp, hub::NewKnowledge};

    use super::*;
    use crate::{access::Stamp, knowledge::new_record};

    #[test]
    fn decisions() {
        for (action, from, to) in [
            (Approve, Approved, Some(Checked)),
            (Approve, Checked, Some(Approved)),
            (Approve, Rejected, Some(Approved)),
            (Approve, Pending, None),
            (Approve, Processing, None),
            (Approve, DedupPassed, None),
            (Approve, Analyzing, None),
            (Reject, Approved, Some(Rejected)),
            (Reject, Checked, Some(Rejected)),
            (Reject, Rejected, Some(Rejected)),
            (Reject, Pending, Some(Rejected)),
            (Reject, Processing, None),
            (Reject, DedupPassed, Some(Rejected)),
            (Reject, Analyzing, None),
        ] {
            let now = Timestamp::from_millis(0);
            let id = KnowledgeId::new(now, 0);
            let mut record = new_record(NewKnowledge::default(), Stamp::default(), id, from, now);
            let decided = verify(&mut record, action, "ann");
            assert_eq!(decided.is_ok(), to.is_some(), "{action:?} {from:?}");
            assert_eq!(record.status, to.unwrap_or(from), "{action:?} {from:?}");
            let changed = record.status != from;
            assert_eq!(record.verified_by == "ann", changed, "{action:?} {from:?}");
        }
    }
}
