//! Who calls, and what they may do.

mod file;
mod gate;
mod tokens;

use std::{io, path::PathBuf};

use protocol::{ContactId, hub::Role};

pub(crate) use gate::{Gate, Refusal};
pub use tokens::TokensFault;

use tokens::Tokens;

/// Why the settings of access stop the start; never shows a token.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// There are two lists of tokens.
    #[error("KNOWHUB_TOKENS and KNOWHUB_TOKENS_FILE are both set; set only one of them")]
    Both,
    /// The list of tokens is wrong.
    #[error("KNOWHUB_TOKENS is wrong")]
    Tokens(#[source] TokensFault),
    /// The file of tokens cannot be read.
    #[error("cannot read {} (KNOWHUB_TOKENS_FILE)", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The file of tokens is wrong.
    #[error("{} (KNOWHUB_TOKENS_FILE) is wrong", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        #[source]
        source: TokensFault,
    },
}

/// Whoever calls: a token's name, or everybody where there are no tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Principal {
    /// The token's name; `local` where there are no tokens.
    pub(crate) name: String,
    /// What it may do.
    pub(crate) role: Role,
}

/// The caller may not do that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{action} needs the role {}, and the token of {name} has {}", .needed.as_str(), .role.as_str())]
pub(crate) struct Denied {
    /// What was wanted.
    pub(crate) action: &'static str,
    /// The least role for it.
    pub(crate) needed: Role,
    /// The principal.
    pub(crate) name: String,
    /// What it has.
    pub(crate) role: Role,
}

/// What the hub itself notes about the author of a write, beside what the author claims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// The principal's name.
    pub(crate) authenticated_as: String,
    /// For whom a delegate writes, as `im:{contact}`; empty when for nobody else.
    pub(crate) on_behalf_of: String,
}

impl Principal {
    /// Returns the one principal of a hub without tokens, which may do everything.
    pub(crate) fn local() -> Self {
        Self { name: "local".to_owned(), role: Role::Admin }
    }

    /// Checks that the principal has at least the role `needed`.
    pub(crate) fn require(&self, needed: Role, action: &'static str) -> Result<(), Denied> {
        if self.role >= needed {
            return Ok(());
        }
        Err(Denied { action, needed, name: self.name.clone(), role: self.role })
    }

    /// Returns the stamp of a write; only a delegate may write on behalf of a contact.
    pub(crate) fn stamp(&self, on_behalf_of: Option<&ContactId>) -> Result<Stamp, Denied> {
        if on_behalf_of.is_some() {
            self.require(Role::Delegate, "on_behalf_of")?;
        }
        let on_behalf_of = on_behalf_of.map(|contact| format!("im:{contact}")).unwrap_or_default();
        Ok(Stamp { authenticated_as: self.name.clone(), on_behalf_of })
    }

    /// Returns under which name a verdict counts; one that a delegate tells for a contact has both.
    pub(crate) fn judge(&self, on_behalf_of: Option<&ContactId>) -> Result<String, Denied> {
        let Stamp { authenticated_as: name, on_behalf_of: contact } = self.stamp(on_behalf_of)?;
        // No name of a token has a space, so this is nobody else's.
        Ok(if contact.is_empty() { name } else { format!("{name} for {contact}") })
    }
}
