//! What a write makes of a stored resource, and how a resource is shown; pure values.

use protocol::{
    ResourceId, Timestamp,
    digest::hex,
    hub::{self, ContentType, FieldFault, Metadata, SEALED_PLACEHOLDER, SecretText},
};
use sha2::{Digest, Sha256};

use crate::{access::Stamp, store::Resource, vault};

/// How much of a body a list shows, in characters.
const EXCERPT_CHARS: usize = 200;

/// What a write says; what is absent stays as it is, or becomes empty in a new resource.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) title: Option<String>,
    pub(crate) body: Option<String>,
    pub(crate) secret: SecretEdit,
    pub(crate) content_type: Option<ContentType>,
    pub(crate) metadata: MetadataEdit,
    pub(crate) sort_order: Option<i64>,
    pub(crate) submitted_by: Option<String>,
    /// Who writes.
    pub(crate) stamp: Stamp,
    /// When.
    pub(crate) at: Timestamp,
    /// What a sealed resource demands of the writer.
    pub(crate) key: KeyDemand,
    /// Whether a resource that does not exist is made.
    pub(crate) may_create: bool,
}

/// What a write does to the secret.
#[derive(Debug)]
pub(crate) enum SecretEdit {
    /// Nothing is said of it.
    Keep,
    /// It is said to stay, so there must be one.
    KeepSealed,
    /// It goes.
    Remove,
    /// This cell, sealed for this id, takes its place.
    Replace(String),
}

/// What a write does to the metadata.
#[derive(Debug)]
pub(crate) enum MetadataEdit {
    Keep,
    Merge(Metadata),
    Replace(Metadata),
}

/// Whether a writer must show the org's key when the resource is sealed.
#[derive(Clone, Debug)]
pub(crate) enum KeyDemand {
    /// Nothing that the key protects is touched.
    None,
    /// The key must have been shown; this tells whether it was.
    Shown(Result<(), vault::Refusal>),
}

/// Why a write is not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// There is nothing to change.
    #[error("there is no resource {id}")]
    NoneStored {
        /// The id.
        id: ResourceId,
    },
    /// The org's key was not shown.
    #[error(transparent)]
    Key(#[from] vault::Refusal),
    /// A field is wrong beside what is stored.
    #[error("{0}")]
    Field(FieldFault),
}

impl KeyDemand {
    /// Checks the demand for what is about to be changed or removed, which may be sealed.
    pub(crate) fn check(&self, is_sealed: bool) -> Result<(), Refusal> {
        match self {
            Self::Shown(Err(refusal)) if is_sealed => Err(refusal.clone().into()),
            _ => Ok(()),
        }
    }
}

impl Edit {
    /// Returns what `current` becomes, `None` when that is what it is already.
    ///
    /// `version` is the one that the result gets; its row and place in the change sequence are not known yet.
    pub(crate) fn apply(
        self,
        id: &ResourceId,
        current: Option<&Resource>,
        version: i64,
    ) -> Result<Option<Resource>, Refusal> {
        if current.is_none() && !self.may_create {
            return Err(Refusal::NoneStored { id: id.clone() });
        }
        let before = current.cloned().unwrap_or_else(|| blank(id.clone(), self.at));
        self.key.check(before.is_sealed())?;
        let body = self.body.unwrap_or_else(|| before.body.clone());
        let after = Resource {
            title: self.title.unwrap_or_else(|| before.title.clone()),
            content_hash: content_hash(&body),
            body,
            secure_body: self.secret.apply(&before.secure_body)?,
            content_type: self.content_type.unwrap_or(before.content_type),
            metadata: self.metadata.apply(&before.metadata)?,
            sort_order: self.sort_order.unwrap_or(before.sort_order),
            submitted_by: self.submitted_by.unwrap_or_else(|| before.submitted_by.clone()),
            ..before.clone()
        };
        if current.is_some() && after == before {
            return Ok(None);
        }
        Ok(Some(Resource {
            authenticated_as: self.stamp.authenticated_as,
            on_behalf_of: self.stamp.on_behalf_of,
            version,
            updated_at: self.at,
            ..after
        }))
    }
}

impl SecretEdit {
    fn apply(self, before: &str) -> Result<String, Refusal> {
        match self {
            Self::KeepSealed if before.is_empty() => Err(Refusal::Field(FieldFault::new(
                "secure_body",
                format!("{SEALED_PLACEHOLDER} means unchanged, and there is no sealed secret"),
            ))),
            Self::Keep | Self::KeepSealed => Ok(before.to_owned()),
            Self::Remove => Ok(String::new()),
            Self::Replace(cell) => Ok(cell),
        }
    }
}

impl MetadataEdit {
    fn apply(self, before: &Metadata) -> Result<Metadata, Refusal> {
        match self {
            Self::Keep => Ok(before.clone()),
            Self::Replace(metadata) => Ok(metadata),
            Self::Merge(changes) => {
                let mut metadata = before.clone();
                metadata.merge(changes);
                metadata.check().map_err(Refusal::Field)?;
                Ok(metadata)
            }
        }
    }
}

fn blank(id: ResourceId, now: Timestamp) -> Resource {
    Resource {
        row: 0,
        seq: 0,
        id,
        title: String::new(),
        body: String::new(),
        secure_body: String::new(),
        content_type: ContentType::default(),
        metadata: Metadata::default(),
        sort_order: 0,
        submitted_by: String::new(),
        authenticated_as: String::new(),
        on_behalf_of: String::new(),
        content_hash: String::new(),
        version: 0,
        created_at: now,
        updated_at: now,
    }
}

/// Returns the sha256 of a body's UTF-8 bytes, in hex.
pub(crate) fn content_hash(body: &str) -> String {
    hex(Sha256::new_with_prefix(body))
}

impl Resource {
    /// Returns the record as versions and exports keep it: a secret as it is sealed, nothing that depends on now.
    pub(crate) fn record(self) -> hub::Resource {
        hub::Resource {
            id: self.id,
            title: self.title,
            body: self.body,
            secure_body: SecretText::from(self.secure_body),
            content_type: self.content_type,
            metadata: self.metadata,
            expired: false,
            sort_order: self.sort_order,
            submitted_by: self.submitted_by,
            authenticated_as: self.authenticated_as,
            on_behalf_of: self.on_behalf_of,
            content_hash: self.content_hash,
            version: self.version,
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }

    /// Returns the record as a list shows it.
    pub(crate) fn entry(self, now: Timestamp) -> hub::ResourceEntry {
        hub::ResourceEntry {
            excerpt: self.body.chars().take(EXCERPT_CHARS).collect(),
            secure_body: placeholder(&self.secure_body).to_owned(),
            expired: self.metadata.is_expired(now),
            id: self.id,
            title: self.title,
            content_type: self.content_type,
            metadata: self.metadata,
            sort_order: self.sort_order,
            submitted_by: self.submitted_by,
            authenticated_as: self.authenticated_as,
            on_behalf_of: self.on_behalf_of,
            content_hash: self.content_hash,
            version: self.version,
            created_at: self.created_at,
            updated_at: self.updated_at,
        }
    }
}

/// Returns what is shown in place of a cell.
pub(crate) fn placeholder(cell: &str) -> &'static str {
    if cell.is_empty() { "" } else { SEALED_PLACEHOLDER }
}

/// Returns a stored record as a reader sees it: `opened` in place of its cell, or the placeholder.
pub(crate) fn shown(
    record: hub::Resource,
    opened: Option<SecretText>,
    now: Timestamp,
) -> hub::Resource {
    let secure_body = opened
        .unwrap_or_else(|| SecretText::from(placeholder(record.secure_body.expose()).to_owned()));
    hub::Resource { expired: record.metadata.is_expired(now), secure_body, ..record }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_millis(1_000)
    }

    fn edit() -> Edit {
        Edit {
            title: None,
            body: None,
            secret: SecretEdit::Keep,
            content_type: None,
            metadata: MetadataEdit::Keep,
            sort_order: None,
            submitted_by: None,
            stamp: Stamp { authenticated_as: "ann".into(), ..Stamp::default() },
            at: now(),
            key: KeyDemand::None,
            may_create: true,
        }
    }

    fn id() -> ResourceId {
        "acme/login".parse().unwrap()
    }

    fn sealed() -> Resource {
        let mut resource = blank(id(), Timestamp::from_millis(0));
        resource.secure_body = "encrypted:x".into();
        resource.content_hash = content_hash("");
        resource.metadata = serde_json::from_value(json!({ "language": "zh" })).unwrap();
        resource.version = 4;
        resource
    }

    fn refused() -> KeyDemand {
        KeyDemand::Shown(Err(vault::Refusal::NoKey { id: id() }))
    }

    #[test]
    fn a_new_resource_starts_blank() {
        let made = Edit { body: Some("表格".into()), ..edit() }.apply(&id(), None, 1).unwrap();
        let made = made.unwrap();
        assert_eq!((made.version, made.title.as_str(), made.created_at), (1, "", now()));
        assert_eq!(made.authenticated_as, "ann");
        assert_eq!(
            made.content_hash,
            "22d9e7c54b88cacdc223175acba5c30086d60437fa47c854f74d9153770e413d"
        );
        let patch = Edit { may_create: false, ..edit() };
        assert_eq!(patch.apply(&id(), None, 1), Err(Refusal::NoneStored { id: id() }));
    }

    #[test]
    fn a_sealed_resource_changes_only_under_its_key() {
        let retitled =
            |key| Edit { title: Some("t".into()), key, ..edit() }.apply(&id(), Some(&sealed()), 5);
        assert!(matches!(retitled(refused()), Err(Refusal::Key(_))));
        for key in [KeyDemand::None, KeyDemand::Shown(Ok(()))] {
            let after = retitled(key).unwrap().unwrap();
            assert_eq!((after.secure_body.as_str(), after.version), ("encrypted:x", 5));
            assert_eq!(after.created_at, Timestamp::from_millis(0));
        }
        let plain = Resource { secure_body: String::new(), ..sealed() };
        let after = Edit { title: Some("t".into()), key: refused(), ..edit() };
        assert!(after.apply(&id(), Some(&plain), 5).is_ok(), "there is nothing to protect");
    }

    #[test]
    fn the_placeholder_needs_something_to_stand_for() {
        let keep = |current: Option<&Resource>| {
            Edit { secret: SecretEdit::KeepSealed, title: Some("t".into()), ..edit() }.apply(
                &id(),
                current,
                5,
            )
        };
        assert_eq!(keep(Some(&sealed())).unwrap().unwrap().secure_body, "encrypted:x");
        for current in [None, Some(&Resource { secure_body: String::new(), ..sealed() })] {
            let Err(Refusal::Field(fault)) = keep(current) else { panic!("accepted") };
            assert_eq!(fault.field, "secure_body");
        }
    }

    #[test]
    fn what_changes_nothing_is_no_change() {
        let same = Edit { title: Some(String::new()), sort_order: Some(0), ..edit() };
        assert_eq!(same.apply(&id(), Some(&sealed()), 5), Ok(None));
        let removed = Edit { secret: SecretEdit::Remove, ..edit() };
        assert_eq!(removed.apply(&id(), Some(&sealed()), 5).unwrap().unwrap().secure_body, "");
    }

    #[test]
    fn merged_metadata_stays_within_bounds() {
        let merge = |value| {
            let changes = serde_json::from_value(value).unwrap();
            Edit { metadata: MetadataEdit::Merge(changes), ..edit() }.apply(
                &id(),
                Some(&sealed()),
                5,
            )
        };
        let after = merge(json!({ "language": null, "a": 1 })).unwrap().unwrap();
        assert_eq!(serde_json::to_value(after.metadata).unwrap(), json!({ "a": 1 }));
        let many: serde_json::Map<_, _> = (0..100).map(|n| (n.to_string(), json!(n))).collect();
        assert!(matches!(merge(many.into()), Err(Refusal::Field(_))));
    }
}
