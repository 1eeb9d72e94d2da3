//! A file of a question set, and what is wrong with it.

use serde::de::DeserializeOwned;

/// A file of a question set.
#[derive(Clone, Debug)]
pub(crate) struct File {
    name: String,
    pub(crate) text: String,
}

/// What is wrong with a file: where, and what would be right.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub(crate) struct Fault {
    place: String,
    what: String,
}

impl File {
    /// Takes a file's name and text; a byte order mark is no part of the text.
    pub(crate) fn new(name: impl Into<String>, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
        Self { name: name.into(), text }
    }

    /// Returns a fault of the whole file.
    pub(crate) fn fault(&self, what: impl Into<String>) -> Fault {
        Fault { place: self.name.clone(), what: what.into() }
    }

    /// Returns a fault on a line, counted from 1.
    pub(super) fn fault_at(&self, line: usize, what: impl Into<String>) -> Fault {
        Fault { place: format!("{}:{line}", self.name), what: what.into() }
    }

    /// Returns a fault at a byte of the text.
    pub(super) fn fault_at_byte(&self, byte: usize, what: impl Into<String>) -> Fault {
        self.fault_at(1 + self.text[..byte].matches('\n').count(), what)
    }

    /// Reads the whole file as one JSON value; `expected` says what it should be.
    pub(super) fn json<T: DeserializeOwned>(&self, expected: &str) -> Result<T, Fault> {
        let mut json = serde_json::Deserializer::from_str(&self.text);
        let value = serde_path_to_error::deserialize(&mut json).map_err(|err| {
            let path = err.path().to_string();
            let place = if path == "." { String::new() } else { format!("{path}: ") };
            let err = err.into_inner();
            self.fault_at(err.line(), format!("{place}{err}; expected {expected}"))
        })?;
        json.end()
            .map_err(|err| self.fault_at(err.line(), format!("{err}; expected {expected}")))?;
        Ok(value)
    }

    /// Reads one JSON value a line, each with its number from 1; blank lines are nothing.
    pub(super) fn json_lines<T: DeserializeOwned>(
        &self,
        expected: &str,
    ) -> Result<Vec<(usize, T)>, Fault> {
        let lines = self.text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines
            .map(|(index, line)| match serde_json::from_str(line) {
                Ok(value) => Ok((index + 1, value)),
                Err(err) => Err(self.fault_at(index + 1, format!("{err}; expected {expected}"))),
            })
            .collect()
    }
}
