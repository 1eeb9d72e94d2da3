//! Whether a store's file is whole: a damaged page must be noticed before anything is written.

use std::path::Path;

use rusqlite::{Connection, ErrorCode};

use super::{OpenError, file};

/// How many findings are told; what is damaged beyond that is damaged all the same.
const MAX_FINDINGS: usize = 3;

/// Checks structure and contents of every page of an open store; reads the whole file.
pub(super) fn check_pages(db: &Connection, path: &Path) -> Result<(), OpenError> {
    check(db, path, "quick_check")
}

/// Checks every page and every index of the store at `path`; takes several times as long as [`check_pages`].
pub(super) fn check_whole(path: &Path) -> Result<(), OpenError> {
    check(&file::open_existing(path)?, path, "integrity_check")
}

fn check(db: &Connection, path: &Path, pragma: &str) -> Result<(), OpenError> {
    let damaged = |finding: String| OpenError::Damaged { path: path.to_owned(), finding };
    match findings(db, pragma) {
        Ok(findings) if findings == ["ok"] => Ok(()),
        Ok(findings) => Err(damaged(findings.join("; ").replace('\n', " "))),
        Err(err) if is_damage(&err) => Err(damaged(err.to_string())),
        Err(err) => Err(OpenError::Database { path: path.to_owned(), source: err.into() }),
    }
}

pub(super) fn findings(db: &Connection, pragma: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = db.prepare(&format!("PRAGMA {pragma}({MAX_FINDINGS})"))?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Tells whether the engine met something that no write of its own left there.
pub(super) fn is_damage(err: &rusqlite::Error) -> bool {
    matches!(err.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt))
}
