//! A secret on its way between client and hub.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;
use utoipa::ToSchema;
use zeroize::Zeroize;

use super::body::FieldFault;

/// What stands for a sealed secret that is not shown; in a write it means "unchanged".
pub const SEALED_PLACEHOLDER: &str = "[ENCRYPTED]";

/// What every sealed secret begins with; base64 of nonce, ciphertext and tag follows.
pub const SEALED_PREFIX: &str = "encrypted:AES256-GCM:";

/// What stands for a sealed secret of an earlier version that no key of the hub opens; no write takes it.
pub const DAMAGED_PLACEHOLDER: &str = "[DAMAGED]";

/// The longest secret, in bytes of UTF-8; a longer one is refused with 422, the sender keeps it.
pub const MAX_SECRET_BYTES: usize = 64 * 1024;

/// A secret's text: shown by no `Debug`, wiped from memory when dropped.
#[derive(Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(value_type = String, max_length = 65536)]
pub struct SecretText(String);

impl SecretText {
    /// Returns the text; whoever calls this takes care that it goes nowhere else.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns whether there is no secret at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether it is only the placeholder of a sealed secret.
    pub fn is_placeholder(&self) -> bool {
        self.0 == SEALED_PLACEHOLDER
    }

    pub(super) fn check(&self, field: &str) -> Result<(), FieldFault> {
        if self.0.len() > MAX_SECRET_BYTES {
            return Err(FieldFault::new(field, format!("longer than {MAX_SECRET_BYTES} bytes")));
        }
        if self.0 == DAMAGED_PLACEHOLDER {
            let reason = format!(
                "{DAMAGED_PLACEHOLDER} stands for a secret that does not open; send the secret itself"
            );
            return Err(FieldFault::new(field, reason));
        }
        Ok(())
    }
}

/// Wipes the secret of a body, which was read from it or is refused with it.
pub fn wipe_secret(body: &mut Value) {
    if let Some(Value::String(secret)) = body.get_mut("secure_body") {
        secret.zeroize();
    }
}

impl From<String> for SecretText {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Serde's own error would quote what it found.
        let text = String::deserialize(deserializer);
        text.map(Self).map_err(|_| de::Error::custom("must be text"))
    }
}

impl Drop for SecretText {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "\"\"" } else { "[secret]" })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn debug_never_shows_it() {
        let secret = SecretText::from("hunter2".to_owned());
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "[secret] Some([secret])");
    }

    #[test]
    fn a_body_loses_its_secret_and_nothing_else() {
        let mut body = json!({ "id": "a", "secure_body": "hunter2" });
        wipe_secret(&mut body);
        assert_eq!(body, json!({ "id": "a", "secure_body": "" }));
        for mut other in [json!({ "secure_body": 7 }), json!({ "id": "a" }), json!(["x"])] {
            let before = other.clone();
            wipe_secret(&mut other);
            assert_eq!(other, before);
        }
    }

    #[test]
    fn a_wrong_type_is_refused_without_quoting_it() {
        let err = serde_json::from_str::<SecretText>("123456").unwrap_err().to_string();
        assert!(err.starts_with("must be text"), "{err}");
    }
}
