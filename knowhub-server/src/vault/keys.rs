//! The orgs' keys: how `ORG_KEYS` is read, and how a key is compared.

use std::{collections::HashMap, fmt};

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use secrecy::{ExposeSecret, SecretString};
use subtle::{Choice, ConstantTimeEq};
use zeroize::Zeroizing;

/// How long a key is, in bytes.
const KEY_BYTES: usize = 32;

/// Standard base64, with or without its padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Which entry of `ORG_KEYS` is wrong; the entry itself is never told, since it holds a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ORG_KEYS: entry {entry} {reason}; it must look like `org1:base64,org2:base64`")]
pub struct OrgKeysFault {
    entry: usize,
    reason: &'static str,
}

/// One key of an org; wiped from memory when dropped.
pub(super) struct OrgKey(Zeroizing<[u8; KEY_BYTES]>);

impl OrgKey {
    /// Reads the base64 of 32 bytes.
    pub(super) fn read(text: &str) -> Option<Self> {
        let bytes = Zeroizing::new(BASE64.decode(text.trim()).ok()?);
        let bytes: &[u8; KEY_BYTES] = bytes.as_slice().try_into().ok()?;
        Some(Self(Zeroizing::new(*bytes)))
    }

    pub(super) fn bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// Compares in a time that does not depend on what the keys are.
    pub(super) fn equals(&self, other: &Self) -> Choice {
        self.0.ct_eq(other.0.as_slice())
    }
}

impl fmt::Debug for OrgKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

/// The keys of each org, its first one first.
#[derive(Debug, Default)]
pub(super) struct OrgKeys(HashMap<String, Vec<OrgKey>>);

impl OrgKeys {
    /// Reads `org1:base64,org2:base64`; an org that stands there again has further, older keys.
    pub(super) fn read(setting: &SecretString) -> Result<Self, OrgKeysFault> {
        let mut keys = Self::default();
        if setting.expose_secret().trim().is_empty() {
            return Ok(keys);
        }
        for (index, entry) in setting.expose_secret().split(',').enumerate() {
            let fault = |reason| OrgKeysFault { entry: index + 1, reason };
            let (org, key) = entry.trim().rsplit_once(':').ok_or(fault("has no `:`"))?;
            if org.is_empty() || org.contains('/') || org.parse::<protocol::ResourceId>().is_err() {
                return Err(fault("names no org: the first segment of a resource id"));
            }
            let key = OrgKey::read(key).ok_or(fault("has no key: the base64 of 32 bytes"))?;
            let older = keys.0.entry(org.to_owned()).or_default();
            if older.iter().any(|other| other.equals(&key).into()) {
                return Err(fault("repeats a key of its org"));
            }
            older.push(key);
        }
        Ok(keys)
    }

    /// Returns the org's keys; none when it is not configured.
    pub(super) fn of(&self, org: &str) -> &[OrgKey] {
        self.0.get(org).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    const OTHER: &str = "//////////////////////////////////////////8=";

    fn read(setting: &str) -> Result<OrgKeys, OrgKeysFault> {
        OrgKeys::read(&SecretString::from(setting))
    }

    #[test]
    fn an_org_may_have_several_keys() {
        let setting = format!("acme:{KEY}, 团队:{},acme:{OTHER}", OTHER.trim_end_matches('='));
        let keys = read(&setting).unwrap();
        assert_eq!([keys.of("acme").len(), keys.of("团队").len(), keys.of("ac").len()], [2, 1, 0]);
        assert_eq!(keys.of("acme")[0].bytes()[31], 31);
        assert!(read(" ").unwrap().of("").is_empty());
    }

    #[test]
    fn a_wrong_entry_is_named_without_its_key() {
        for (second, reason) in [
            ("", "entry 2 has no `:`"),
            ("b", "entry 2 has no `:`"),
            (&format!(":{KEY}"), "entry 2 names no org"),
            (&format!("a/b:{KEY}"), "entry 2 names no org"),
            (&format!("a b:{KEY}"), "entry 2 names no org"),
            ("b:", "entry 2 has no key"),
            ("b:c2hvcnQ=", "entry 2 has no key"),
            (&format!("b:{KEY}{KEY}"), "entry 2 has no key"),
            ("b:not base64!", "entry 2 has no key"),
            (&format!("a:{KEY}"), "entry 2 repeats a key"),
        ] {
            let fault = read(&format!("a:{KEY},{second}")).unwrap_err().to_string();
            assert!(fault.starts_with("ORG_KEYS: ") && fault.contains(reason), "{fault}");
            assert!(!fault.contains("AAEC") && !fault.contains("c2hv"), "{fault}");
        }
    }

    #[test]
    fn debug_shows_no_key() {
        let keys = read(&format!("acme:{KEY}")).unwrap();
        assert_eq!(format!("{keys:?}"), r#"OrgKeys({"acme": [[key]]})"#);
    }
}
