//! The vault: seals secrets with the key of their org, and opens them for whoever shows it.
//!
//! An org is the first segment of a resource id.
//! Its first key in `ORG_KEYS` seals and authorizes; further ones only open what they sealed, until that is sealed anew.

mod cell;
mod keys;

use protocol::{ResourceId, hub::SecretText};
use secrecy::SecretString;
use sha2::{Digest, Sha256};
use subtle::Choice;

pub use keys::OrgKeysFault;

use keys::{OrgKey, OrgKeys};

/// Why a secret is not shown, changed or deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// No key was sent.
    #[error("{id} has a sealed secret: send the key of the org `{}` as `X-Org-Key`", org(.id))]
    NoKey {
        /// The resource.
        id: ResourceId,
    },
    /// Another key was sent, or what is none.
    #[error("the `X-Org-Key` is not the key of the org `{}`, the base64 of 32 bytes", org(.id))]
    WrongKey {
        /// The resource.
        id: ResourceId,
    },
    /// An older key was sent.
    #[error("the `X-Org-Key` is an older key of the org `{}`; send its newest one", org(.id))]
    OlderKey {
        /// The resource.
        id: ResourceId,
    },
    /// The hub has no key of the org.
    #[error("the hub has no key of the org `{}`, so no key opens this; add one to ORG_KEYS", org(.id))]
    UnknownOrg {
        /// The resource.
        id: ResourceId,
    },
}

/// There is no key to seal with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the hub has no key of the org `{}`, the first segment of the id, so it cannot seal a secret; \
     nothing was stored. Add `{0}:…` to ORG_KEYS, or choose an id below an org that has one",
    .org
)]
pub(crate) struct NoSealingKey {
    org: String,
}

/// No key of the org opens what is stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the stored secret of {id} opens with no key of the org `{}` that the hub has: either the key that \
     sealed it is missing in ORG_KEYS, where it goes behind the org's first one, or it was changed in the store",
    org(.id)
)]
pub(crate) struct Damaged {
    /// The resource.
    pub(crate) id: ResourceId,
}

/// Why a secret is not shown to who wants to see it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ShowError {
    /// The key does not fit.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The key fits, and the secret does not open all the same.
    #[error(transparent)]
    Damaged(#[from] Damaged),
}

/// A key that a caller shows, fit or not.
pub(crate) struct ShownKey(Option<OrgKey>);

impl ShownKey {
    /// Reads what came as `X-Org-Key`.
    pub(crate) fn read(text: &str) -> Self {
        Self(OrgKey::read(text))
    }
}

/// The keys of all orgs, and what can be done with them.
#[derive(Debug, Default)]
pub(crate) struct Vault {
    keys: OrgKeys,
}

impl Vault {
    /// Reads the setting `ORG_KEYS`; without it no secret can be sealed.
    pub(crate) fn new(org_keys: Option<&SecretString>) -> Result<Self, OrgKeysFault> {
        let keys = org_keys.map_or_else(|| Ok(OrgKeys::default()), OrgKeys::read)?;
        Ok(Self { keys })
    }

    /// Tells whether an org has a key.
    pub(crate) fn knows(&self, org: &str) -> bool {
        !self.keys.of(org).is_empty()
    }

    /// Tells whether `shown` allows to see, change and delete the secret of `id`.
    pub(crate) fn authorize(
        &self,
        id: &ResourceId,
        shown: Option<&ShownKey>,
    ) -> Result<(), Refusal> {
        let id = id.clone();
        let Some(shown) = shown else { return Err(Refusal::NoKey { id }) };
        let Some((first, older)) = self.keys.of(org(&id)).split_first() else {
            return Err(Refusal::UnknownOrg { id });
        };
        let Some(shown) = &shown.0 else { return Err(Refusal::WrongKey { id }) };
        let is_older = older.iter().fold(Choice::from(0), |is, key| is | key.equals(shown));
        match (bool::from(first.equals(shown)), bool::from(is_older)) {
            (true, _) => Ok(()),
            (false, true) => Err(Refusal::OlderKey { id }),
            (false, false) => Err(Refusal::WrongKey { id }),
        }
    }

    /// Seals a secret for `id` with its org's first key.
    pub(crate) fn seal(&self, id: &ResourceId, text: &SecretText) -> Result<String, NoSealingKey> {
        let key = self.sealing_key(id)?;
        Ok(cell::seal(key, &cell::binding(id.as_str()), text))
    }

    /// Opens what was sealed for `id` with any key of its org; whoever asks must be authorized.
    pub(crate) fn open(&self, id: &ResourceId, cell: &str) -> Result<SecretText, Damaged> {
        self.open_bound(id, &cell::binding(id.as_str()), cell)
    }

    /// Opens a secret for who shows the org's key; `None` where there is no secret, or no key was shown.
    pub(crate) fn show(
        &self,
        id: &ResourceId,
        cell: &str,
        shown: Option<&ShownKey>,
    ) -> Result<Option<SecretText>, ShowError> {
        if cell.is_empty() || shown.is_none() {
            return Ok(None);
        }
        self.authorize(id, shown)?;
        Ok(Some(self.open(id, cell)?))
    }

    /// Opens what another system sealed for `id` without binding it.
    pub(crate) fn open_unbound(&self, id: &ResourceId, cell: &str) -> Result<SecretText, Damaged> {
        self.open_bound(id, &[], cell)
    }

    /// Seals anew what an older key sealed; `None` when the first one did.
    pub(crate) fn reseal(&self, id: &ResourceId, cell: &str) -> Result<Option<String>, Damaged> {
        let binding = cell::binding(id.as_str());
        let damaged = || Damaged { id: id.clone() };
        let first = self.keys.of(org(id)).first().ok_or_else(damaged)?;
        if cell::open(first, &binding, cell).is_some() {
            return Ok(None);
        }
        let text = self.open(id, cell)?;
        Ok(Some(cell::seal(first, &binding, &text)))
    }

    /// Returns a hash of `hash` that nobody can compute who does not have the org's key.
    ///
    /// A plain hash of a body with a weak secret would let a reader of the store guess the secret.
    /// Key and hash have a fixed length, so that nothing can be appended.
    pub(crate) fn keyed_hash(
        &self,
        id: &ResourceId,
        hash: &[u8; 32],
    ) -> Result<[u8; 32], NoSealingKey> {
        let key = self.sealing_key(id)?;
        let hasher = Sha256::new().chain_update(b"knowhub body hash").chain_update(key.bytes());
        Ok(hasher.chain_update(hash).finalize().into())
    }

    fn sealing_key(&self, id: &ResourceId) -> Result<&OrgKey, NoSealingKey> {
        let org = org(id);
        self.keys.of(org).first().ok_or_else(|| NoSealingKey { org: org.to_owned() })
    }

    fn open_bound(
        &self,
        id: &ResourceId,
        binding: &[u8],
        cell: &str,
    ) -> Result<SecretText, Damaged> {
        let mut keys = self.keys.of(org(id)).iter();
        keys.find_map(|key| cell::open(key, binding, cell))
            .ok_or_else(|| Damaged { id: id.clone() })
    }
}

/// Returns the org that an id belongs to: its first segment.
pub(crate) fn org(id: &ResourceId) -> &str {
    id.as_str().split('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    const OLDER: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
    const OTHER: &str = "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=";

    fn vault(setting: &str) -> Vault {
        Vault::new(Some(&SecretString::from(setting))).unwrap()
    }

    fn id(text: &str) -> ResourceId {
        text.parse().unwrap()
    }

    #[track_caller]
    fn check(vault: &Vault, place: &str, shown: Option<&str>, expected: Result<(), &str>) {
        let shown = shown.map(ShownKey::read);
        let answer = vault.authorize(&id(place), shown.as_ref()).map_err(|err| err.to_string());
        match (answer, expected) {
            (Ok(()), Ok(())) => {}
            (Err(text), Err(part)) => assert!(text.contains(part), "{text}"),
            (answer, _) => panic!("{place}: {answer:?}"),
        }
    }

    #[test]
    fn only_the_first_key_authorizes() {
        let vault = vault(&format!("acme:{FIRST},other:{OTHER},acme:{OLDER}"));
        check(&vault, "acme/login", Some(FIRST), Ok(()));
        check(&vault, "acme", Some(FIRST.trim_end_matches('=')), Ok(()));
        check(&vault, "acme/login", None, Err("send the key of the org `acme`"));
        check(&vault, "acme/login", Some(OTHER), Err("is not the key of the org `acme`"));
        check(&vault, "acme/login", Some("a b"), Err("is not the key of the org `acme`"));
        check(&vault, "acme/login", Some(OLDER), Err("an older key of the org `acme`"));
        check(&vault, "other/acme", Some(FIRST), Err("is not the key of the org `other`"));
        check(&vault, "acme-2/login", Some(FIRST), Err("no key of the org `acme-2`"));
    }

    #[test]
    fn what_an_older_key_sealed_opens_and_is_sealed_anew() {
        let place = id("acme/login");
        let secret = SecretText::from("hunter2".to_owned());
        let old = vault(&format!("acme:{OLDER}")).seal(&place, &secret).unwrap();
        let both = vault(&format!("acme:{FIRST},acme:{OLDER}"));
        assert_eq!(both.open(&place, &old), Ok(secret.clone()));
        let new = both.reseal(&place, &old).unwrap().expect("it was sealed with the older key");
        assert_eq!(both.reseal(&place, &new), Ok(None));

        let only_first = vault(&format!("acme:{FIRST}"));
        assert_eq!(only_first.open(&place, &new), Ok(secret));
        assert_eq!(only_first.open(&place, &old), Err(Damaged { id: place.clone() }));
        assert_eq!(only_first.reseal(&place, &old), Err(Damaged { id: place.clone() }));
        assert!(only_first.open(&id("acme/elsewhere"), &new).is_err(), "bound to its id");
        assert!(Vault::default().seal(&place, &SecretText::default()).is_err());
    }

    #[test]
    fn a_keyed_hash_depends_on_key_and_hash() {
        let (a, b) = (vault(&format!("acme:{FIRST}")), vault(&format!("acme:{OLDER}")));
        let of = |vault: &Vault, hash| vault.keyed_hash(&id("acme/x"), &[hash; 32]).unwrap();
        assert_eq!(of(&a, 1), of(&a, 1));
        assert_ne!(of(&a, 1), of(&a, 2));
        assert_ne!(of(&a, 1), of(&b, 1));
        assert!(a.keyed_hash(&id("other"), &[1; 32]).is_err());
    }
}
