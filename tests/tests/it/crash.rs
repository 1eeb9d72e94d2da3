//! Sudden death of each process: what was accepted takes effect, once.

use serde_json::json;
use tests::{
    system::System,
    wait::{self, PATIENCE},
};

use super::fixtures::{connect, to_librarian};

/// Long enough that a process is surely killed inside it.
const LONG_WINDOW: (&str, &str) = ("UPLOAD_MERGE_WINDOW_MS", "60000");

async fn count(system: &System, words: &str) -> u64 {
    system.knowhub_json(&["search", words]).await.unwrap()["count"].as_u64().unwrap()
}

#[tokio::test]
async fn an_upload_survives_a_librarian_killed_in_the_merge_window() {
    let mut system =
        System::start_with(vec![(LONG_WINDOW.0, LONG_WINDOW.1.to_owned())]).await.unwrap();
    let (agent, _inbox) = connect(&system, "agent/crash");
    let part =
        json!({"knowledge": [{"task": "calibrate the spectrometer", "content": "use argon"}]});
    agent.send(to_librarian(format!("[UPLOAD] {part}")), PATIENCE).await.unwrap();
    system.librarian.take().unwrap().kill().await.unwrap();
    system.start_librarian().await.unwrap();

    let finalize = to_librarian("[UPLOAD:FINALIZE]");
    let reply = agent.request(finalize.clone(), PATIENCE).await.unwrap();
    assert_eq!(reply.meta.unwrap()["receipt"]["accepted"].as_array().unwrap().len(), 1);
    assert_eq!(count(&system, "spectrometer").await, 1);

    // The same message again, as a client that is unsure would send it.
    let accepted = agent.send(finalize, PATIENCE).await.unwrap();
    assert!(accepted.duplicate);
    agent.close().await;
    system.stop().await.unwrap();
}

#[tokio::test]
async fn an_upload_waits_for_a_hub_that_is_away() {
    let mut system = System::start().await.unwrap();
    system.hub.take().unwrap().kill().await.unwrap();
    let (agent, _inbox) = connect(&system, "agent/patient");
    let batch =
        json!({"knowledge": [{"task": "calibrate the spectrometer", "content": "use argon"}]});
    let finalize = to_librarian(format!("[UPLOAD:FINALIZE] {batch}"));
    let (reply, ()) = tokio::join!(agent.request(finalize, PATIENCE), async {
        system.start_hub().await.unwrap();
    },);
    let receipt = &reply.unwrap().meta.unwrap()["receipt"];
    assert_eq!(receipt["accepted"].as_array().unwrap().len(), 1, "{receipt}");
    assert_eq!(count(&system, "spectrometer").await, 1);
    agent.close().await;
    system.stop().await.unwrap();
}

#[tokio::test]
async fn what_the_hub_acknowledged_survives_its_death() {
    let mut system = System::stopped(vec![]).unwrap();
    system.start_hub().await.unwrap();
    for round in 0..5 {
        let name = format!("tool-{round}");
        let body = json!({"name": name, "task": "calibrate the spectrometer"});
        system.post("/api/experience", &body).await.unwrap();
        system.hub.take().unwrap().kill().await.unwrap();
        system.start_hub().await.unwrap();
        let args = ["experience", "search", "spectrometer"];
        let found = system.knowhub_json(&args).await.unwrap();
        assert_eq!(found["results"].as_array().unwrap().len(), round + 1, "{found}");
    }
    system.stop().await.unwrap();
}

#[tokio::test]
async fn a_question_survives_a_relay_killed_under_it() {
    let mut system = System::start().await.unwrap();
    let (agent, _inbox) = connect(&system, "agent/steadfast");
    system.librarian.as_ref().unwrap().freeze().unwrap();
    let ask = to_librarian("[ASK] anything at all?");
    let (reply, ()) = tokio::join!(agent.request(ask, PATIENCE), async {
        wait::until("the relay's word that it has the question", async || {
            anyhow::ensure!(agent.open_counts() == (0, 1));
            Ok(())
        })
        .await
        .unwrap();
        system.relay.take().unwrap().kill().await.unwrap();
        system.librarian.as_ref().unwrap().thaw().unwrap();
        system.start_relay().await.unwrap();
    });
    assert!(!reply.unwrap().content.is_empty());
    agent.close().await;
    system.stop().await.unwrap();
}
