//! The file that tokens are read from, again whenever it changes.

use std::{
    fs::File,
    io::{self, Read},
    path::PathBuf,
};

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::{AccessError, Tokens};

/// The largest tokens' file, in bytes; a larger one is refused.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// A tokens' file, and what was last seen of it.
pub(super) struct TokensFile {
    path: PathBuf,
    /// The SHA-256 of what was read last; `None` before the first look and while it cannot be read.
    ///
    /// Times and sizes of files can lie, what stands in them cannot.
    seen: Option<[u8; 32]>,
    /// That it cannot be read was told.
    is_missed: bool,
}

impl TokensFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, seen: None, is_missed: false }
    }

    /// Reads the tokens.
    pub(super) fn read(&self) -> Result<Tokens, AccessError> {
        self.parse(&self.text()?)
    }

    /// Returns the tokens if the file says something new; what is wrong with it is logged once.
    pub(super) fn look(&mut self) -> Option<Tokens> {
        let changed = self.text().map(|text| {
            let digest = Sha256::digest(text.as_bytes()).into();
            (self.seen.replace(digest) != Some(digest)).then_some(text)
        });
        let tokens = match changed {
            Ok(changed) => {
                self.is_missed = false;
                self.parse(&changed?)
            }
            Err(_) if std::mem::replace(&mut self.is_missed, true) => return None,
            Err(err) => Err(err),
        };
        match tokens {
            Ok(tokens) => {
                tracing::info!(count = tokens.len(), "access tokens read");
                Some(tokens)
            }
            Err(err) => {
                let error = service::logging::chain(&err);
                tracing::error!(error, "the earlier access tokens stay in force");
                None
            }
        }
    }

    fn text(&self) -> Result<Zeroizing<String>, AccessError> {
        let mut text = Zeroizing::new(String::new());
        let read = File::open(&self.path)
            .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text))
            .and_then(|bytes| match bytes as u64 {
                0..=MAX_FILE_BYTES => Ok(()),
                _ => Err(io::Error::other(format!("larger than {MAX_FILE_BYTES} bytes"))),
            });
        read.map_err(|source| AccessError::Unreadable { path: self.path.clone(), source })?;
        Ok(text)
    }

    fn parse(&self, text: &str) -> Result<Tokens, AccessError> {
        Tokens::parse_lines(text)
            .map_err(|source| AccessError::File { path: self.path.clone(), source })
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{remove_file, write};

    use super::*;

    #[test]
    fn a_broken_file_changes_nothing_and_a_mended_one_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens");
        let mut file = TokensFile::new(path.clone());
        assert!(matches!(file.read(), Err(AccessError::Unreadable { .. })));
        assert!(file.look().is_none());

        let has = |tokens: Option<Tokens>, token: &str| {
            tokens.is_some_and(|tokens| tokens.find(token.as_bytes()).is_some())
        };
        write(&path, "a:reader:aaaaaaaaaaaaaaaa\n").unwrap();
        assert!(has(file.look(), "aaaaaaaaaaaaaaaa"));
        assert!(file.look().is_none(), "it says nothing new");
        write(&path, "a:reader:bbbbbbbbbbbbbbbb\n").unwrap();
        assert!(has(file.look(), "bbbbbbbbbbbbbbbb"), "same length, another token");
        for broken in ["", "a:reader:short\n", "# nobody\n"] {
            write(&path, broken).unwrap();
            assert!(file.look().is_none(), "{broken}");
        }
        remove_file(&path).unwrap();
        assert!(file.look().is_none());
        write(&path, "c:reader:cccccccccccccccc\n").unwrap();
        assert!(has(file.look(), "cccccccccccccccc"));
    }
}
