//! Two hubs on one file: one serves, the other says why it does not.

use serde_json::json;
use tests::{process::Process, system::System};

use super::fixtures::hub_settings;

#[tokio::test]
async fn the_second_says_why_it_does_not_start_and_the_first_goes_on() {
    let mut system = System::stopped(vec![]).unwrap();
    system.start_hub().await.unwrap();
    let settings = hub_settings(&system.folder().join("knowhub.db"));
    let refused = Process::start("knowhub-server", system.folder(), &settings).await.err().unwrap();
    let said = format!("{refused:#}");
    assert!(said.contains("another hub is already using"), "{said}");
    assert!(said.contains("set KNOWHUB_DB to another file"), "{said}");

    let body = json!({ "name": "tool", "task": "calibrate the spectrometer" });
    system.post("/api/experience", &body).await.unwrap();
    system.stop().await.unwrap();
}

#[tokio::test]
async fn of_two_started_at_once_one_serves() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..5 {
        // A new file in every other round: making it must be no race either.
        let settings = hub_settings(&folder.path().join(format!("hub-{}.db", round / 2)));
        let start = || Process::start("knowhub-server", folder.path(), &settings);
        let started = <[_; 2]>::from(tokio::join!(start(), start()));
        let serving = started.iter().filter(|one| one.is_ok()).count();
        assert_eq!(serving, 1, "round {round}");
        for one in started.into_iter().flatten() {
            one.kill().await.unwrap();
        }
    }
}
