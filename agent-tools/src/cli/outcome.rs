//! What a command gives back: text for people, JSON for programs, an exit code.

use std::io::{self, Write};

use clap::builder::styling::{AnsiColor, Style};
use serde::Serialize;

/// What a command gives back.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What a person reads, styled; goes to stdout.
    pub text: String,
    /// What a program reads, its fields in the order of their type; goes to stdout instead of the text.
    pub json: String,
    /// What a person should know besides; goes to stderr.
    pub note: Option<String>,
    /// 0 unless something is missing.
    pub exit_code: u8,
}

impl Outcome {
    /// Returns the outcome of something done.
    pub(super) fn done(text: String, data: &impl Serialize) -> Self {
        let json = serde_json::to_string_pretty(data).expect("what is printed has string keys");
        Self { text, json, note: None, exit_code: 0 }
    }

    /// Returns the outcome of a command that has written its data itself.
    pub(super) fn nothing() -> Self {
        Self { text: String::new(), json: String::new(), note: None, exit_code: 0 }
    }

    /// Writes the data to `stdout` and the talk to `stderr`.
    ///
    /// A reader that has seen enough (a closed pipe) is no error.
    pub fn print(
        &self,
        json: bool,
        stdout: &mut impl Write,
        stderr: &mut impl Write,
    ) -> io::Result<()> {
        let text = if json { &self.json } else { &self.text };
        let end = if text.is_empty() { "" } else { "\n" };
        let written = write!(stdout, "{text}{end}").and_then(|()| stdout.flush());
        if let Err(err) = written
            && err.kind() != io::ErrorKind::BrokenPipe
        {
            return Err(err);
        }
        match &self.note {
            Some(note) if !json => writeln!(stderr, "note: {}", printable(note)),
            _ => Ok(()),
        }
    }
}

/// The style of what stands out.
pub(super) const STRONG: Style = Style::new().bold();

/// The style of what is well.
pub(super) const GOOD: Style = AnsiColor::Green.on_default().bold();

/// The style of what is wrong.
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();

/// Returns the text without what would command a terminal: control characters, except line ends and tabs.
pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn data_and_talk_go_different_ways() {
        let outcome =
            Outcome { note: Some("slow".into()), ..Outcome::done("a\nb".into(), &json!({"n": 1})) };
        let print = |json| {
            let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
            outcome.print(json, &mut stdout, &mut stderr).unwrap();
            (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
        };
        assert_eq!(print(false), ("a\nb\n".to_owned(), "note: slow\n".to_owned()));
        assert_eq!(print(true), ("{\n  \"n\": 1\n}\n".to_owned(), String::new()));
    }

    #[test]
    fn a_record_cannot_command_the_terminal() {
        assert_eq!(printable("\u{1b}[2Ja\r\nb\tc\u{9b}"), "[2Ja\nb\tc");
    }

    #[test]
    fn a_reader_that_left_is_no_error() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert!(Outcome::done(String::new(), &1).print(false, &mut Gone, &mut Vec::new()).is_ok());
    }
}
