//! What an import looks at in each record before that is stored, beside its bounds.

use protocol::{
    export::Line,
    hub::{FieldFault, KnowledgeStatus},
};

use crate::secrets;

/// Finds what looks like a secret in a text that everybody could read; the field is named within its record.
pub(super) fn likely_secret(record: &Line) -> Option<FieldFault> {
    let found = record.look_through(secrets::find_in)?;
    let reason = format!(
        "looks like a secret ({}); move it into the secure_body of a resource, or import again with \
         X-Allow-Likely-Secret: true (knowhub import --allow-likely-secrets) if it is none",
        found.kind
    );
    Some(FieldFault::new(found.field, reason))
}

/// Takes a likely secret out of the reason of a deletion, and tells so: keeping away what was deleted matters more.
pub(super) fn redact_reason(record: &mut Line) -> Option<FieldFault> {
    let Line::Tombstone(tombstone) = record else { return None };
    let found = secrets::find(&tombstone.reason)?;
    tombstone.reason = secrets::redact(&tombstone.reason).into_owned();
    let told = format!("looks like a secret ({}); stored without it", found.kind);
    Some(FieldFault::new("reason", told))
}

/// Takes a record out of a stage in which it waits for what this hub does not do, and tells so.
pub(super) fn settle(record: &mut Line) -> Option<FieldFault> {
    use KnowledgeStatus::{
        Analyzing, Approved, Checked, DedupPassed, Pending, Processing, Rejected,
    };
    let Line::Knowledge(knowledge) = record else { return None };
    let status = &mut knowledge.record.status;
    match *status {
        Approved | Checked | Rejected => None,
        waiting @ (Pending | Processing | DedupPassed | Analyzing) => {
            *status = Approved;
            let reason =
                format!("{}, which nothing would end; stored as approved", waiting.as_str());
            Some(FieldFault::new("record.status", reason))
        }
    }
}
