//! What must hold for a record of an export before it is stored: what holds for the writes that make such records.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    Evaluation, Experience, Feedback, KnowledgeRecord, MAX_LINE_BYTES, RecordKind, Resource,
    Tombstone, Version,
    bodies::{look_through_knowledge, written_knowledge},
    unknown::unknown_field,
};
use crate::{
    complaint::shortened,
    digest::hex,
    hub::{
        self, Body, Demand, EvalStatus, FieldFault, Knowledge, MAX_FEEDBACK_CHARS, MAX_LIST_ITEMS,
        MAX_SECRET_BYTES, MAX_TEXT_CHARS, PlainTexts, SEALED_PREFIX, WriteBody, as_field_fault,
        check_bound, check_chars, check_present,
    },
    ids::{KnowledgeId, ResourceId},
};

/// The highest number of an experience or a version, the largest that every JSON reader knows exactly.
pub(super) const MAX_NUMBER: i64 = (1 << 53) - 1;

/// The longest sealed secret: base64 of a secret of [`MAX_SECRET_BYTES`], its nonce and its tag.
const MAX_SEALED_BYTES: usize = SEALED_PREFIX.len() + (12 + MAX_SECRET_BYTES + 16).div_ceil(3) * 4;

/// The shortest: base64 of a nonce and a tag.
const MIN_SEALED_CHARS: usize = (12 + 16_usize).div_ceil(3) * 4;

/// The longest verdicts of a record, in bytes of JSON, so that the line of its earlier version can be read.
const MAX_EVAL_BYTES: usize = MAX_LINE_BYTES / 2;

impl Experience {
    pub(super) fn check(&self) -> Result<(), FieldFault> {
        check_number("id", self.id.0)?;
        check_stamp(&self.authenticated_as, &self.on_behalf_of)?;
        self.report().check()
    }
}

impl Resource {
    pub(super) fn check(&self) -> Result<(), FieldFault> {
        check_sealed(&self.secure_body).map_err(|reason| FieldFault::new("secure_body", reason))?;
        check_number("version", self.version)?;
        check_stamp(&self.authenticated_as, &self.on_behalf_of)?;
        self.written().check()
    }
}

/// Checks that a secret is sealed, as far as can be told without its key; plain text must not pass for a cell.
fn check_sealed(cell: &str) -> Result<(), String> {
    if cell.len() > MAX_SEALED_BYTES {
        return Err(format!("longer than {MAX_SEALED_BYTES} bytes"));
    }
    let is_sealed = |text: &str| text.len() >= MIN_SEALED_CHARS && is_base64(text);
    if cell.is_empty() || cell.strip_prefix(SEALED_PREFIX).is_some_and(is_sealed) {
        return Ok(());
    }
    Err("must be sealed, or empty".to_owned())
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - digits.len() <= 2
        && digits.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte))
}

impl KnowledgeRecord {
    pub(super) fn check(&self) -> Result<(), FieldFault> {
        check_number("version", self.version)?;
        check_knowledge(&self.record).map_err(|fault| fault.within("record"))
    }
}

fn check_knowledge(record: &Knowledge) -> Result<(), FieldFault> {
    written_knowledge(record).check()?;
    check_bound("verified_by", &record.verified_by)?;
    check_stamp(&record.source.authenticated_as, &record.source.on_behalf_of)
        .map_err(|fault| fault.within("source"))?;
    if record.relationships.len() > MAX_LIST_ITEMS {
        let reason = format!("more than {MAX_LIST_ITEMS} entries");
        return Err(FieldFault::new("relationships", reason));
    }
    for (index, relation) in record.relationships.iter().enumerate() {
        check_bound(&format!("relationships[{index}].type"), &relation.kind)?;
    }
    record.eval.check().map_err(|fault| fault.within("eval"))?;
    let eval = serde_json::to_vec(&record.eval).expect("verdicts are plain JSON");
    if eval.len() > MAX_EVAL_BYTES {
        return Err(FieldFault::new("eval", format!("longer than {MAX_EVAL_BYTES} bytes of JSON")));
    }
    Ok(())
}

impl Tombstone {
    pub(super) fn check(&self) -> Result<(), FieldFault> {
        check_subject(self.kind, &self.id, self.version)?;
        check_bound("deleted_by", &self.deleted_by)?;
        // It may tell of an erasure as well.
        check_chars("reason", &self.reason, MAX_TEXT_CHARS)?;
        if !(0..=self.version).contains(&self.erased_to) {
            return Err(FieldFault::new("erased_to", "must be 0 to the version"));
        }
        let hash = self.fingerprint.as_str();
        if !matches!(hash.len(), 0 | 64) || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(FieldFault::new("fingerprint", "must be 64 hex digits, or empty"));
        }
        if self.kind != RecordKind::Experience && !hash.is_empty() {
            return Err(FieldFault::new("fingerprint", "only an experience has one"));
        }
        Ok(())
    }
}

impl Version {
    pub(super) fn check(&self) -> Result<(), FieldFault> {
        check_subject(self.kind, &self.id, self.version)?;
        check_bound("replaced_by", &self.replaced_by)?;
        self.check_record().map_err(|fault| fault.within("record"))
    }

    fn check_record(&self) -> Result<(), FieldFault> {
        match self.kind {
            RecordKind::Experience => {
                let one: hub::Experience = self.read_known()?;
                self.check_id(&one.id.to_string())?;
                Experience::from(one).check()
            }
            RecordKind::Resource => {
                let one: hub::Resource = self.read_known()?;
                self.check_id(one.id.as_str())?;
                if one.version != self.version {
                    return Err(FieldFault::new("version", "must be that of the version"));
                }
                if one.content_hash != hex(Sha256::new_with_prefix(&one.body)) {
                    return Err(FieldFault::new("content_hash", "must be that of the body"));
                }
                Resource::from(one).check()
            }
            RecordKind::Knowledge => {
                let one: Knowledge = self.read_known()?;
                self.check_id(one.id.as_str())?;
                check_knowledge(&one)
            }
        }
    }

    /// Reads the record, which is stored as it came: what nobody knows would be stored unseen.
    fn read_known<T: DeserializeOwned + Serialize>(&self) -> Result<T, FieldFault> {
        let record: T = read(&self.record)?;
        check_known(&self.record, &record)?;
        Ok(record)
    }

    fn check_id(&self, id: &str) -> Result<(), FieldFault> {
        if id == self.id {
            return Ok(());
        }
        Err(FieldFault::new("id", "must be that of the version"))
    }

    fn experience(&self) -> Result<Experience, FieldFault> {
        read::<hub::Experience>(&self.record).map(Experience::from)
    }

    fn resource(&self) -> Result<Resource, FieldFault> {
        read::<hub::Resource>(&self.record).map(Resource::from)
    }

    /// Hands `look` the texts of the record; what is none has none.
    pub(super) fn look_through<T>(&self, look: impl FnOnce(&PlainTexts<'_>) -> T) -> T {
        let nothing = PlainTexts::default;
        match self.kind {
            RecordKind::Experience => match self.experience() {
                Ok(one) => look(&nothing().within("record", one.report().plain_texts())),
                Err(_) => look(&nothing()),
            },
            RecordKind::Resource => match self.resource() {
                Ok(one) => look(&nothing().within("record", one.written().plain_texts())),
                Err(_) => look(&nothing()),
            },
            RecordKind::Knowledge => match read(&self.record) {
                Ok(one) => look_through_knowledge(&one, look),
                Err(_) => look(&nothing()),
            },
        }
    }
}

impl Evaluation {
    pub(super) fn check(&self) -> Result<(), FieldFault> {
        check_bound("principal", &self.principal)?;
        check_bound("trace_id", &self.trace_id)?;
        if self.knowledge_id.parse::<KnowledgeId>().is_err() {
            return Err(FieldFault::new("knowledge_id", "not a valid knowledge id"));
        }
        if u32::try_from(self.injected_at_sequence).is_err() {
            let reason = format!("must be 0 to {}", u32::MAX);
            return Err(FieldFault::new("injected_at_sequence", reason));
        }
        self.eval_status.parse::<EvalStatus>()?;
        self.written().check()
    }
}

impl Feedback {
    pub(super) fn check(&self) -> Result<(), FieldFault> {
        check_bound("principal", &self.principal)?;
        check_present("text", &self.text)?;
        check_chars("text", &self.text, MAX_FEEDBACK_CHARS)
    }
}

/// Checks an entry of the demand.
pub(super) fn check_demand(demand: &Demand) -> Result<(), FieldFault> {
    check_bound("wanted", &demand.wanted)?;
    check_number("count", i64::try_from(demand.count).unwrap_or(i64::MAX))
}

/// Checks what a version or a tombstone speaks of.
fn check_subject(kind: RecordKind, id: &str, version: i64) -> Result<(), FieldFault> {
    let is_id = match kind {
        RecordKind::Experience => id.parse().is_ok_and(|number: i64| {
            (1..=MAX_NUMBER).contains(&number) && number.to_string() == id
        }),
        RecordKind::Resource => id.parse::<ResourceId>().is_ok(),
        RecordKind::Knowledge => id.parse::<KnowledgeId>().is_ok(),
    };
    if !is_id {
        return Err(FieldFault::new("id", format!("not a valid {} id", kind.as_str())));
    }
    check_number("version", version)
}

/// Checks what the hub noted about the author.
fn check_stamp(authenticated_as: &str, on_behalf_of: &str) -> Result<(), FieldFault> {
    check_bound("authenticated_as", authenticated_as)?;
    check_bound("on_behalf_of", on_behalf_of)
}

fn check_number(field: &str, number: i64) -> Result<(), FieldFault> {
    if (1..=MAX_NUMBER).contains(&number) {
        return Ok(());
    }
    Err(FieldFault::new(field, format!("must be 1 to {MAX_NUMBER}")))
}

/// Checks that what was read has every field that was given, so that none is lost.
pub(super) fn check_known(given: &Value, read: &impl Serialize) -> Result<(), FieldFault> {
    match unknown_field(given, read) {
        Some(field) => Err(FieldFault::new(shortened(&field), "unknown field")),
        None => Ok(()),
    }
}

fn read<T: DeserializeOwned>(record: &Value) -> Result<T, FieldFault> {
    serde_path_to_error::deserialize(record).map_err(|err| as_field_fault(&err))
}
