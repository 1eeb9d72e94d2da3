//! The tokens of one setting: whom each names, and what it allows.

use protocol::hub::Role;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use super::Principal;

/// The shortest token, in bytes; a shorter one could be guessed and stops the start.
const MIN_TOKEN_BYTES: usize = 16;

/// The longest token, in bytes; a longer one stops the start.
const MAX_TOKEN_BYTES: usize = 256;

/// The longest name of a token, in bytes; a longer one stops the start.
const MAX_NAME_BYTES: usize = 64;

/// How many tokens there may be; more stop the start, since each request is compared with all of them.
const MAX_TOKENS: usize = 1_000;

/// Tokens, kept as their SHA-256 only.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tokens(Vec<Entry>);

#[derive(Clone, Debug)]
struct Entry {
    digest: [u8; 32],
    principal: Principal,
}

/// What is wrong with a list of tokens; never shows a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokensFault {
    /// An entry is wrong.
    #[error("{unit} {number}: {reason}")]
    Entry {
        /// What the entries are called.
        unit: &'static str,
        /// Which one, from 1.
        number: usize,
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// There is none.
    #[error("holds no token; give at least one as name:role:token, or leave the setting away")]
    Empty,
    /// There are too many.
    #[error("holds more than {MAX_TOKENS} tokens")]
    TooMany,
}

impl Tokens {
    /// Reads `name:role:token,…`.
    pub(crate) fn parse_list(text: &str) -> Result<Self, TokensFault> {
        if text.trim().is_empty() {
            return Err(TokensFault::Empty);
        }
        Self::collect("entry", text.split(',').enumerate())
    }

    /// Reads the same entries one a line, with blank lines and `#` comments between them.
    pub(crate) fn parse_lines(text: &str) -> Result<Self, TokensFault> {
        let is_entry = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
        Self::collect("line", text.lines().enumerate().filter(|(_, line)| is_entry(line)))
    }

    fn collect<'a>(
        unit: &'static str,
        entries: impl Iterator<Item = (usize, &'a str)>,
    ) -> Result<Self, TokensFault> {
        let mut tokens = Self::default();
        for (index, text) in entries {
            if tokens.0.len() == MAX_TOKENS {
                return Err(TokensFault::TooMany);
            }
            tokens.add(text.trim()).map_err(|reason| TokensFault::Entry {
                unit,
                number: index + 1,
                reason,
            })?;
        }
        if tokens.0.is_empty() { Err(TokensFault::Empty) } else { Ok(tokens) }
    }

    fn add(&mut self, text: &str) -> Result<(), String> {
        let mut parts = text.splitn(3, ':');
        let (Some(name), Some(role), Some(token)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err("expected name:role:token".to_owned());
        };
        let principal = Principal { name: parse_name(name)?, role: parse_role(role)? };
        let entry = Entry { digest: digest_of(token)?, principal };
        if self.0.iter().any(|other| other.digest == entry.digest) {
            return Err("the same token was given before".to_owned());
        }
        let same_name = |other: &&Entry| other.principal.name == entry.principal.name;
        if self.0.iter().find(same_name).is_some_and(|other| other.principal != entry.principal) {
            return Err(format!("{name} has another role before; give all its tokens the same"));
        }
        self.0.push(entry);
        Ok(())
    }

    /// Returns how many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whom a token names, in a time that does not tell how near it comes to any.
    pub(crate) fn find(&self, token: &[u8]) -> Option<&Principal> {
        let digest: [u8; 32] = Sha256::digest(token).into();
        let mut found = u32::MAX;
        for (index, entry) in (0_u32..).zip(&self.0) {
            let is_it: Choice = entry.digest.ct_eq(&digest);
            found.conditional_assign(&index, is_it);
        }
        self.0.get(found as usize).map(|entry| &entry.principal)
    }
}

fn parse_name(name: &str) -> Result<String, String> {
    let is_fit = (1..=MAX_NAME_BYTES).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._@-".contains(&b));
    match name {
        "local" => Err("the name local stands for everybody on a hub without tokens".to_owned()),
        _ if is_fit => Ok(name.to_owned()),
        _ => Err(format!("a name must be 1 to {MAX_NAME_BYTES} of A-Z a-z 0-9 . _ @ -")),
    }
}

fn parse_role(role: &str) -> Result<Role, String> {
    role.parse().map_err(|_| "a role must be reader, writer, delegate or admin".to_owned())
}

/// Whatever is wrong may be the token itself, so it is never repeated.
fn digest_of(token: &str) -> Result<[u8; 32], String> {
    let is_fit = (MIN_TOKEN_BYTES..=MAX_TOKEN_BYTES).contains(&token.len())
        && token.bytes().all(|b| b.is_ascii_graphic());
    if !is_fit {
        return Err(format!(
            "a token must be {MIN_TOKEN_BYTES} to {MAX_TOKEN_BYTES} visible ASCII characters"
        ));
    }
    Ok(Sha256::digest(token).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbb";

    #[track_caller]
    fn check(text: &str, fault: &str) {
        let err = Tokens::parse_list(text).unwrap_err().to_string();
        assert!(err.contains(fault), "{text}: {err}");
        assert!(!err.contains(A) && !err.contains("geheim"), "shows the token: {err}");
    }

    #[test]
    fn a_token_names_its_principal() {
        let text = format!("ci:writer:{A}, ops:admin:{B},ops:admin:c:c:c:c:c:c:c:c:c");
        let tokens = Tokens::parse_list(&text).unwrap();
        let name = |token: &str| tokens.find(token.as_bytes()).map(|found| found.name.as_str());
        assert_eq!(name(A), Some("ci"));
        assert_eq!(name(B), Some("ops"));
        assert_eq!(
            name("c:c:c:c:c:c:c:c:c"),
            Some("ops"),
            "two tokens of one name, to change over"
        );
        for unknown in ["", "aaaaaaaaaaaaaaab", "ci:writer:aaaaaaaaaaaaaaaa"] {
            assert_eq!(name(unknown), None);
        }
        assert_eq!(tokens.find(B.as_bytes()).unwrap().role, Role::Admin);
        assert!(!format!("{tokens:?}").contains(A));
    }

    #[test]
    fn a_wrong_entry_is_named_and_its_token_is_not() {
        check("", "holds no token");
        check(" ", "holds no token");
        check(&format!("a:writer:{A},"), "entry 2: expected name:role:token");
        check("geheim", "entry 1: expected name:role:token");
        check("a:geheim", "entry 1: expected");
        check(&format!("a:root:{A}"), "entry 1: a role must be");
        check(&format!("a b:writer:{A}"), "entry 1: a name must be");
        check(&format!(":writer:{A}"), "entry 1: a name must be");
        check(&format!("local:writer:{A}"), "entry 1: the name local");
        check("a:writer:", "entry 1: a token must be 16");
        check("a:writer:geheim", "entry 1: a token must be 16");
        check("a:writer:geheim geheim geheim", "entry 1: a token must be 16");
        check(&format!("a:writer:{A},b:reader:{A}"), "entry 2: the same token");
        check(&format!("a:writer:{A},a:admin:{B}"), "entry 2: a has another role");
        check(&format!("a:writer:{}", "a".repeat(257)), "entry 1: a token must be");
        let many: Vec<_> = (0..=MAX_TOKENS).map(|n| format!("n:reader:{n:016}")).collect();
        check(&many.join(","), "more than 1000");
    }

    #[test]
    fn a_file_has_lines_and_comments() {
        let text = format!("# who may write\r\n\r\n  ci:writer:{A}\n");
        assert!(Tokens::parse_lines(&text).unwrap().find(A.as_bytes()).is_some());
        let err = Tokens::parse_lines(&format!("{text}nonsense\n")).unwrap_err();
        assert!(err.to_string().starts_with("line 4:"), "{err}");
        assert_eq!(Tokens::parse_lines("# nobody\n").unwrap_err(), TokensFault::Empty);
    }
}
