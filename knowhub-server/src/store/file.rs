//! The store's file: its lock, its settings and its migrations.

use std::{
    fs::{File, TryLockError},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags};
use service::file_lock::FileLock;

use super::{Identity, OpenError, change, integrity, knowledge};

/// Embedded, numbered from 1, append-only: a migration that was released is never edited.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/0001_initial.sql"),
    include_str!("../../migrations/0002_whole_hub.sql"),
    include_str!("../../migrations/0003_answers_by_path.sql"),
    include_str!("../../migrations/0004_erasures.sql"),
    include_str!("../../migrations/0005_pipeline.sql"),
    include_str!("../../migrations/0006_vectors.sql"),
];

/// Marks the file as a KnowHub store; the letters `KnHb`.
const APPLICATION_ID: i32 = 0x4b6e_4862;

/// How long a statement waits for a lock, which only a foreign program can hold.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How many statements a connection keeps prepared; more than the hub has of one kind.
const STATEMENTS: usize = 128;

/// How much of the file the writer keeps in memory: the inner pages of its indexes, which every batch touches.
const WRITER_CACHE_KIB: i64 = 16 * 1024;

/// How many pages the write-ahead log gathers before they are moved into the file.
///
/// A burst writes the same pages again and again; each move writes them once, and makes writers wait.
const CHECKPOINT_PAGES: i64 = 4_000;

/// An open store file.
pub(super) struct Opened {
    /// The connection that may write.
    pub(super) db: Connection,
    /// Held as long as the store is open.
    pub(super) lock: FileLock,
    /// The file, under the one name that all hubs know.
    pub(super) path: PathBuf,
    /// Who it is.
    pub(super) identity: Identity,
}

/// Returns the path of a file or folder that belongs to the store at `path`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Locks, opens and migrates the store at `path`; creates it and its folder when they are missing.
pub(super) fn open(path: &Path) -> Result<Opened, OpenError> {
    let path = own_file(path)?;
    let lock = lock(&path)?;
    let refused = |err| refusal(&path, err);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(&path, flags).map_err(refused)?;
    check_owner(&db, &path)?;
    // A large store takes its time, in which nothing else is heard of the hub.
    let bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
    tracing::info!(path = %path.display(), size_bytes = bytes, "checking the store");
    integrity::check_pages(&db, &path)?;
    configure(&db).map_err(refused)?;
    migrate(&mut db).map_err(refused)?;
    knowledge::update_missing_hashes(&mut db).map_err(refused)?;
    let identity = change::identity(&db).map_err(refused)?;
    Ok(Opened { db, lock, path, identity })
}

/// Opens one more connection to the store, which cannot write.
pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    db.pragma_update(None, "query_only", true)?;
    rusqlite::vtab::array::load_module(&db)?;
    Ok(db)
}

/// Opens a store that is there, for reading alone and without its lock, so that a hub may be using it.
pub(super) fn open_existing(path: &Path) -> Result<Connection, OpenError> {
    if !path.is_file() {
        return Err(OpenError::Missing { path: path.to_owned() });
    }
    let db = open_reader(path).map_err(|err| refusal(path, err))?;
    check_owner(&db, path)?;
    Ok(db)
}

/// Returns why a file is refused that the engine would not open.
fn refusal(path: &Path, err: rusqlite::Error) -> OpenError {
    let path = path.to_owned();
    match err.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => OpenError::Foreign { path },
        Some(ErrorCode::CannotOpen) => OpenError::Unreadable { path, source: err.into() },
        _ if integrity::is_damage(&err) => OpenError::Damaged { path, finding: err.to_string() },
        _ => OpenError::Database { path, source: err.into() },
    }
}

/// Returns the one name under which every hub knows this file, however it is spelled or linked; makes it when missing.
fn own_file(path: &Path) -> Result<PathBuf, OpenError> {
    let unusable = |source| OpenError::Folder { path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(unusable)?;
    }
    let file = File::options().create(true).append(true).open(path).map_err(unusable)?;
    let names = file.metadata().map_err(unusable)?.nlink();
    let path = path.canonicalize().map_err(unusable)?;
    // The lock and the log stand beside a name, so under two names two hubs would write into each other's pages.
    if names > 1 {
        return Err(OpenError::HardLinked { path });
    }
    Ok(path)
}

fn lock(path: &Path) -> Result<FileLock, OpenError> {
    FileLock::take(path).map_err(|err| match err {
        TryLockError::WouldBlock => OpenError::InUse { path: path.to_owned() },
        TryLockError::Error(source) => OpenError::Folder { path: path.to_owned(), source },
    })
}

/// Refuses, before anything is written, a file that is not ours or is newer than this program.
fn check_owner(db: &Connection, path: &Path) -> Result<(), OpenError> {
    let refused = |err| refusal(path, err);
    let application_id: i32 =
        db.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(refused)?;
    let has_tables: bool = db
        .query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
        .map_err(refused)?;
    if has_tables && application_id != APPLICATION_ID {
        return Err(OpenError::Foreign { path: path.to_owned() });
    }
    let found = version(db).map_err(refused)?;
    if found > MIGRATIONS.len() {
        return Err(OpenError::Newer { path: path.to_owned(), found, known: MIGRATIONS.len() });
    }
    Ok(())
}

fn configure(db: &Connection) -> rusqlite::Result<()> {
    db.busy_timeout(BUSY_TIMEOUT)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    // What is erased must not stay readable in pages that nothing uses any more.
    db.pragma_update(None, "secure_delete", true)?;
    db.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    db.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)
}

fn migrate(db: &mut Connection) -> rusqlite::Result<()> {
    let found = version(db)?;
    if (1..MIGRATIONS.len()).contains(&found) {
        tracing::info!(from = found, to = MIGRATIONS.len(), "migrating the store");
    }
    for (done, migration) in MIGRATIONS.iter().enumerate().skip(found) {
        let tx = db.transaction()?;
        tx.execute_batch(migration)?;
        tx.pragma_update(None, "application_id", APPLICATION_ID)?;
        tx.pragma_update(None, "user_version", i64::try_from(done + 1).unwrap_or(i64::MAX))?;
        tx.commit()?;
    }
    Ok(())
}

fn version(db: &Connection) -> rusqlite::Result<usize> {
    let version: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(version as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_an_earlier_file_are_found_under_their_new_scope() {
        let mut db = Connection::open_in_memory().unwrap();
        for migration in &MIGRATIONS[..2] {
            db.execute_batch(migration).unwrap();
        }
        db.pragma_update(None, "user_version", 2).unwrap();
        let insert = "INSERT INTO idempotent_answers (scope, key, body_hash, answer, expires_at)
                      VALUES (?1, 'k', x'00', '1', 0)";
        let scopes = [
            ("me PUT /api/knowledge/a", "/api/knowledge/a PUT me"),
            ("me@b.c POST /api/knowledge/a b/verify", "/api/knowledge/a b/verify POST me@b.c"),
        ];
        for (old, _) in scopes {
            db.execute(insert, [old]).unwrap();
        }
        migrate(&mut db).unwrap();
        let mut statement =
            db.prepare("SELECT scope FROM idempotent_answers ORDER BY number").unwrap();
        let new: Vec<String> =
            statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(new, scopes.map(|(_, new)| new));
    }
}
