//! One sealed secret as it is stored: `encrypted:AES256-GCM:{base64(nonce‖ciphertext‖tag)}`.

use aes_gcm::{
    Aes256Gcm, KeyInit,
    aead::{Aead, Payload},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use protocol::hub::{SEALED_PREFIX, SecretText};
use zeroize::Zeroize;

use super::keys::OrgKey;

const NONCE_BYTES: usize = 12;

/// Returns what binds a cell to its resource, so that it opens nowhere else.
pub(super) fn binding(id: &str) -> Vec<u8> {
    format!("{SEALED_PREFIX}{id}").into_bytes()
}

/// Seals `text` under a fresh random nonce.
pub(super) fn seal(key: &OrgKey, bound_to: &[u8], text: &SecretText) -> String {
    let nonce: [u8; NONCE_BYTES] = rand::random();
    let payload = Payload { msg: text.expose().as_bytes(), aad: bound_to };
    let sealed = Aes256Gcm::new(key.bytes().into())
        .encrypt(&nonce.into(), payload)
        .expect("a secret is far shorter than what AES-GCM can seal");
    format!("{SEALED_PREFIX}{}", BASE64_STANDARD.encode([&nonce[..], &sealed].concat()))
}

/// Opens a cell; `None` when another key sealed it, it is bound to something else, or it was changed.
pub(super) fn open(key: &OrgKey, bound_to: &[u8], cell: &str) -> Option<SecretText> {
    let bytes = BASE64_STANDARD.decode(cell.strip_prefix(SEALED_PREFIX)?).ok()?;
    let (nonce, sealed) = bytes.split_at_checked(NONCE_BYTES)?;
    let nonce: [u8; NONCE_BYTES] = nonce.try_into().ok()?;
    let payload = Payload { msg: sealed, aad: bound_to };
    let text = Aes256Gcm::new(key.bytes().into()).decrypt(&nonce.into(), payload).ok()?;
    match String::from_utf8(text) {
        Ok(text) => Some(SecretText::from(text)),
        Err(err) => {
            err.into_bytes().zeroize();
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(byte: u8) -> OrgKey {
        OrgKey::read(&BASE64_STANDARD.encode([byte; 32])).unwrap()
    }

    fn sealed(text: &str) -> String {
        seal(&key(1), b"a/b", &SecretText::from(text.to_owned()))
    }

    #[test]
    fn opens_only_with_its_key_at_its_place() {
        let cell = sealed("密码");
        assert_eq!(open(&key(1), b"a/b", &cell).unwrap().expose(), "密码");
        assert!(open(&key(2), b"a/b", &cell).is_none(), "another key");
        assert!(open(&key(1), b"a/c", &cell).is_none(), "another place");
        assert!(open(&key(1), b"", &cell).is_none(), "no place");
        assert!(!cell.contains("密码") && cell.starts_with(SEALED_PREFIX), "{cell}");
        assert_ne!(cell, sealed("密码"), "a nonce is never used again");
    }

    #[test]
    fn the_published_form_of_a_cell_opens() {
        // Sealed with Python's `cryptography`: key 32 times 0x01, nonce 12 times 0x02, bound to `a/b`.
        let cell = "encrypted:AES256-GCM:AgICAgICAgICAgICb6OnPS8l8902Yzov/Capzqsh0QgH+1tsu9HxuYGw";
        assert_eq!(open(&key(1), &binding("a/b"), cell).unwrap().expose(), "hunter2 密码");
    }

    #[test]
    fn every_changed_bit_is_noticed() {
        let cell = sealed("x");
        let bytes = BASE64_STANDARD.decode(cell.strip_prefix(SEALED_PREFIX).unwrap()).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let changed = format!("{SEALED_PREFIX}{}", BASE64_STANDARD.encode(changed));
            assert!(open(&key(1), b"a/b", &changed).is_none(), "bit {bit}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_sealed_opens(text: String) {
            let opened = open(&key(1), b"a/b", &sealed(&text)).unwrap();
            prop_assert_eq!(opened.expose(), &text);
        }

        #[test]
        fn no_cell_makes_it_panic(rest: String, bytes: Vec<u8>) {
            let _ = open(&key(1), b"", &format!("{SEALED_PREFIX}{rest}"));
            let _ = open(&key(1), b"", &format!("{SEALED_PREFIX}{}", BASE64_STANDARD.encode(bytes)));
        }
    }
}
