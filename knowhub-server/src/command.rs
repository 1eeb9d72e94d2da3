//! What the hub's program does besides serving: each command of `knowhub-server`.

use std::{
    io::{self, IsTerminal, Write},
    path::PathBuf,
};

use crate::{BackupError, Config, store};

/// A command of the hub's program; without one it serves.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Command {
    /// Copy the store into one file, checked, while the hub may go on running
    Backup(Backup),
}

/// Copies the store.
#[derive(Clone, Debug, clap::Args)]
pub struct Backup {
    /// The file to write; it appears when it is complete
    pub file: PathBuf,

    /// Replace the file if it is there
    #[arg(long)]
    pub force: bool,
}

impl Command {
    /// Runs the command; what a person wants to know goes to standard error.
    ///
    /// # Errors
    ///
    /// Says what is wrong and what to do about it.
    pub fn run(&self, config: &Config) -> Result<(), BackupError> {
        match self {
            Self::Backup(backup) => backup.run(config),
        }
    }
}

impl Backup {
    fn run(&self, config: &Config) -> Result<(), BackupError> {
        let mut err = io::stderr().lock();
        let is_watched = err.is_terminal();
        // Whether anybody reads this changes nothing about the copy.
        let bytes = store::copy(&config.knowhub_db, &self.file, self.force, |progress| {
            if is_watched {
                let percent = progress.done * 100 / progress.total.max(1);
                let _ = write!(err, "\r\u{1b}[Kcopied {percent} %, {} bytes", progress.done);
            }
        })?;
        let line_start = if is_watched { "\r\u{1b}[K" } else { "" };
        let file = self.file.display();
        let _ = writeln!(err, "{line_start}backed up to {file}: {bytes} bytes, checked");
        Ok(())
    }
}
