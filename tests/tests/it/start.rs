//! Starting and stopping the three processes.

use std::time::Duration;

use tests::{process::Process, system::System, wait};

#[tokio::test]
async fn the_three_start_in_any_order_and_end_when_asked() {
    let mut system = System::stopped(vec![]).unwrap();
    // Addresses must be known before a librarian can look for them.
    system.start_relay().await.unwrap();
    system.start_hub().await.unwrap();
    system.relay.take().unwrap().terminate(Duration::from_secs(12)).await.unwrap();
    system.hub.take().unwrap().terminate(Duration::from_secs(12)).await.unwrap();

    system.start_librarian_unready().await.unwrap();
    system.start_hub().await.unwrap();
    system.start_relay().await.unwrap();
    let output = wait::until("an answer of the librarian that came first", async || {
        let answer = system.knowhub_json(&["ask", "anything"]).await?;
        anyhow::ensure!(answer["mode"] == "extractive", "{answer}");
        Ok(answer)
    });
    output.await.unwrap();
    system.stop().await.unwrap();
}

#[tokio::test]
async fn a_bad_setting_stops_the_start_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (name, setting, value) in [
        ("im-server", "IM_ADDR", "nowhere"),
        ("im-server", "IM_ADDR", "0.0.0.0:0"),
        ("im-server", "IM_MAX_IN_FLIGHT", "-1"),
        ("knowhub-server", "KNOWHUB_ADDR", "0.0.0.0:0"),
        ("knowhub-server", "SEARCH_RECALL_FACTOR", "many"),
        ("librarian", "LIBRARIAN_ADDR", "0.0.0.0:0"),
        ("librarian", "KNOWHUB_API", "not a url"),
        ("librarian", "UPLOAD_MERGE_WINDOW_MS", "soon"),
        ("librarian", "LIBRARIAN_CONTACT_ID", "a b"),
        ("knowhub-server", "LOG_FORMAT", "xml"),
    ] {
        let settings = [(setting, value.to_owned())];
        let Err(err) = Process::start(name, folder.path(), &settings).await else {
            panic!("{name} started with {setting}={value}");
        };
        let told = err.to_string();
        assert!(told.contains(setting), "{name} with {setting}={value}: {told}");
        let is_addr = setting.ends_with("_ADDR");
        assert!(!is_addr || told.contains("127.0.0.1:"), "says what would be right: {told}");
    }
}

#[tokio::test]
async fn a_second_process_on_the_same_file_is_refused() {
    let mut system = System::stopped(vec![]).unwrap();
    system.start_relay().await.unwrap();
    system.start_hub().await.unwrap();
    let file = |name: &str| system.folder().join(name).display().to_string();
    for (name, addr, setting, file) in [
        ("im-server", "IM_ADDR", "IM_DB", file("im.db")),
        ("knowhub-server", "KNOWHUB_ADDR", "KNOWHUB_DB", file("knowhub.db")),
    ] {
        let settings = [(addr, "127.0.0.1:0".to_owned()), (setting, file.clone())];
        let folder = tempfile::tempdir().unwrap();
        let Err(err) = Process::start(name, folder.path(), &settings).await else {
            panic!("a second {name} started on {file}");
        };
        assert!(err.to_string().contains(&file), "{err:#}");
    }
    system.stop().await.unwrap();
}
