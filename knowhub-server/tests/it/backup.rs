//! Copies of a running hub's store, and damage that is noticed before anything is written.

use std::{
    fs,
    path::{Path, PathBuf},
};

use knowhub_server::{
    BackupError, Config, Error, Hub, OpenError,
    command::{Backup, Command},
};
use serde_json::json;
use tempfile::TempDir;

use crate::harness::{TestHub, config};

fn back_up(config: &Config, file: &Path, force: bool) -> Result<(), BackupError> {
    Command::Backup(Backup { file: file.to_owned(), force }).run(config)
}

/// Returns a new folder and a name in it.
fn elsewhere() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hub.db");
    (folder, file)
}

#[tokio::test]
async fn a_backup_of_a_running_hub_is_a_store_of_its_own() {
    let hub = TestHub::start().await;
    hub.add_experience(json!({ "name": "之前" })).await;
    let (folder, file) = elsewhere();
    back_up(&hub.config(), &file, false).unwrap();
    hub.add_experience(json!({ "name": "之后" })).await;
    assert_eq!(hub.names("之后").await, ["之后"], "the hub goes on");
    hub.stop().await;
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing but the copy");

    let copy = TestHub::start_in(folder).await;
    assert_eq!(copy.names("之前").await, ["之前"]);
    assert_eq!(copy.names("之后").await, [""; 0]);
    copy.add_experience(json!({ "name": "之后" })).await;
    copy.stop().await;
}

#[tokio::test]
async fn what_comes_back_from_elsewhere_is_indexed_anew() {
    let hub = TestHub::start().await;
    hub.add_experience(json!({ "name": "之前" })).await;
    let (elsewhere, file) = elsewhere();
    back_up(&hub.config(), &file, false).unwrap();
    hub.add_experience(json!({ "name": "只在这里" })).await;
    let here = hub.stop().await;

    let copy = TestHub::start_in(elsewhere).await;
    for name in ["那里", "也在那里"] {
        copy.add_experience(json!({ "name": name })).await;
    }
    let elsewhere = copy.stop().await;
    fs::copy(config(&elsewhere).knowhub_db, config(&here).knowhub_db).unwrap();

    let hub = TestHub::start_in(here).await;
    for (name, expected) in
        [("之前", &["之前"][..]), ("那里", &["也在那里", "那里"]), ("只在这里", &[])]
    {
        let mut names = hub.names(name).await;
        names.sort();
        assert_eq!(names, expected, "{name}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn a_backup_replaces_no_file_unasked() {
    let hub = TestHub::start().await;
    let (_folder, file) = elsewhere();
    fs::write(&file, "a letter").unwrap();
    let refused = back_up(&hub.config(), &file, false).unwrap_err();
    assert!(refused.to_string().contains("--force"), "{refused}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "a letter");
    back_up(&hub.config(), &file, true).unwrap();
    back_up(&hub.config(), &file, true).unwrap();
    hub.stop().await;
}

#[tokio::test]
async fn backups_at_once_to_one_name_leave_one_whole_copy() {
    let hub = TestHub::start().await;
    hub.add_experience(json!({ "name": "之前" })).await;
    let config = hub.config();
    for force in [false, true] {
        let (folder, file) = elsewhere();
        let done = std::thread::scope(|scope| {
            let backups: Vec<_> =
                (0..4).map(|_| scope.spawn(|| back_up(&config, &file, force))).collect();
            backups.into_iter().map(|backup| backup.join().unwrap()).collect::<Vec<_>>()
        });
        let is_refused = |done: &Result<(), _>| matches!(done, Err(BackupError::Exists { .. }));
        let (made, refused) =
            (done.iter().filter(|done| done.is_ok()), done.iter().filter(|it| is_refused(it)));
        assert_eq!(
            (made.count(), refused.count()),
            if force { (4, 0) } else { (1, 3) },
            "{done:?}"
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing but the copy");
        let copy = TestHub::start_in(folder).await;
        assert_eq!(copy.names("之前").await, ["之前"]);
        copy.stop().await;
    }
    hub.stop().await;
}

#[tokio::test]
async fn a_backup_never_takes_the_place_of_a_store_in_use() {
    let hub = TestHub::start().await;
    hub.add_experience(json!({ "name": "之前" })).await;
    let store = hub.config().knowhub_db;
    let link = store.with_file_name("link.db");
    std::os::unix::fs::symlink(&store, &link).unwrap();
    let beside = |suffix: &str| PathBuf::from(format!("{}{suffix}", store.display()));
    let own = [store.clone(), link, beside("-wal"), beside("-journal"), beside(".lock")];
    for target in &own {
        let refused = back_up(&hub.config(), target, true).unwrap_err();
        assert!(matches!(refused, BackupError::Itself { .. }), "{refused}");
    }
    let link = store.with_file_name("elsewhere.db");
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    let socket = store.with_file_name("socket");
    let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for target in [&link, &socket] {
        let refused = back_up(&hub.config(), target, true).unwrap_err();
        assert!(matches!(refused, BackupError::NoFile { .. }), "{refused}");
    }
    let other = TestHub::start().await;
    let refused = back_up(&hub.config(), &other.config().knowhub_db, true).unwrap_err();
    assert!(matches!(refused, BackupError::InUse { .. }), "{refused}");
    other.add_experience(json!({ "name": "另一个" })).await;
    let folder = other.stop().await;
    let log = folder.path().join("hub.db-wal");
    fs::write(&log, "what a crash left").unwrap();
    back_up(&hub.config(), &config(&folder).knowhub_db, true).unwrap();
    assert!(!log.exists(), "it would be applied to the copy");

    hub.add_experience(json!({ "name": "之后" })).await;
    let hub = TestHub::start_in(hub.stop().await).await;
    assert_eq!(hub.names("之后").await, ["之后"], "what came after the refusals is on disk");
    let copy = TestHub::start_in(folder).await;
    assert_eq!(
        (copy.names("之前").await, copy.names("另一个").await),
        (vec!["之前".into()], vec![])
    );
    copy.stop().await;
    hub.stop().await;
}

#[tokio::test]
async fn a_backup_says_what_it_cannot_do() {
    let (folder, file) = elsewhere();
    let missing = back_up(&config(&folder), &folder.path().join("copy.db"), false).unwrap_err();
    assert!(matches!(missing, BackupError::Store(OpenError::Missing { .. })), "{missing}");
    assert!(!file.exists(), "asking for a copy makes no store");

    let stopped = TestHub::start().await.stop().await;
    // Stands for a read-only folder: the engine can make no file of this name.
    std::os::unix::fs::symlink("/nowhere/file", stopped.path().join("hub.db-shm")).unwrap();
    let refused = back_up(&config(&stopped), &file, false).unwrap_err().to_string();
    let store = stopped.path().join("hub.db");
    assert!(refused.contains(store.to_str().unwrap()), "{refused}");
    assert!(refused.contains("its folder writable") && refused.contains("KNOWHUB_DB"), "{refused}");
    assert!(!file.exists());

    let hub = TestHub::start().await;
    let nowhere = folder.path().join("no/such/folder/copy.db");
    let refused = back_up(&hub.config(), &nowhere, false).unwrap_err();
    assert!(refused.to_string().contains("no/such/folder"), "{refused}");
    hub.stop().await;
}

/// Stores so much that the file has pages in the middle, and stops the hub.
async fn filled_folder() -> TempDir {
    let hub = TestHub::start().await;
    for number in 0..8 {
        let text = format!("{number} {}", "长".repeat(4_000));
        hub.add_experience(json!({ "task": text })).await;
    }
    hub.stop().await
}

const PAGE_BYTES: usize = 4_096;

/// Overwrites one page of the file.
fn damage_page(path: &Path, page: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[page * PAGE_BYTES..][..PAGE_BYTES].fill(0xa5);
    fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn a_damaged_file_is_refused_and_left_alone() {
    let folder = filled_folder().await;
    let path = folder.path().join("hub.db");
    let whole = fs::read(&path).unwrap();
    let mut refusals = 0;
    for page in 1..whole.len() / PAGE_BYTES {
        fs::write(&path, &whole).unwrap();
        damage_page(&path, page);
        let damaged = fs::read(&path).unwrap();
        // An overwritten overflow page holds nothing but text, and no structure that could be checked.
        let refused = match Hub::open(&config(&folder)) {
            Ok(hub) => {
                hub.close().await;
                continue;
            }
            Err(refused) => refused,
        };
        refusals += 1;
        assert!(matches!(refused, Error::Store(OpenError::Damaged { .. })), "{page}: {refused}");
        assert!(refused.to_string().contains("hub.db is damaged"), "{refused}");
        assert_eq!(fs::read(&path).unwrap(), damaged, "page {page}");
        let (_folder, copy) = elsewhere();
        back_up(&config(&folder), &copy, false).unwrap_err();
        assert!(!copy.exists(), "a copy of damage is no backup");
    }
    assert!(refusals > 10, "{refusals} of the pages hold structure");
}
