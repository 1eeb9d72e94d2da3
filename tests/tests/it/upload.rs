//! Uploads over the relay: merged, stored, and told what is wrong.

use serde_json::json;
use tests::{
    system::System,
    wait::{self, PATIENCE},
};

use super::fixtures::{connect, source_ids, to_librarian};

fn item(task: &str) -> serde_json::Value {
    json!({"task": task, "content": format!("{task}: read the manual first")})
}

#[tokio::test]
async fn finalized_items_are_found_and_receipted() {
    let system = System::start().await.unwrap();
    let (agent, _inbox) = connect(&system, "agent/uploads");
    let part = format!("[UPLOAD] {}", json!({"knowledge": [item("calibrate the spectrometer")]}));
    agent.send(to_librarian(part), PATIENCE).await.unwrap();
    let last = json!({"knowledge": [item("校准质谱仪"), {"task": "no content"}], "tools": [{}]});
    let finalize = to_librarian(format!("[UPLOAD:FINALIZE] {last}"));
    let reply = agent.request(finalize, PATIENCE).await.unwrap();

    let meta = reply.meta.unwrap();
    let receipt = &meta["receipt"];
    assert_eq!(receipt["accepted"].as_array().unwrap().len(), 2, "{receipt}");
    let rejected = receipt["rejected"].as_array().unwrap();
    assert!(rejected.iter().any(|item| item["field"] == "content"), "{receipt}");
    assert!(rejected.iter().any(|item| item["kind"] == "tool"), "{receipt}");
    for question in ["calibrate the spectrometer", "校准质谱仪"] {
        let answer = system.knowhub_json(&["ask", question]).await.unwrap();
        assert_eq!(source_ids(&answer).len(), 1, "{answer}");
    }
    agent.close().await;
    system.stop().await.unwrap();
}

#[tokio::test]
async fn a_lone_upload_is_stored_after_its_window() {
    let system = System::start().await.unwrap();
    let file = system.folder().join("items.json");
    std::fs::write(&file, json!({"knowledge": [item("calibrate the spectrometer")]}).to_string())
        .unwrap();
    let output = system.knowhub(&["upload", file.to_str().unwrap()]).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    wait::until("the upload in the hub", async || {
        let answer = system.knowhub_json(&["search", "spectrometer"]).await?;
        anyhow::ensure!(answer["count"] == 1, "{answer}");
        Ok(())
    })
    .await
    .unwrap();
    system.stop().await.unwrap();
}

#[tokio::test]
async fn a_librarian_that_may_not_store_is_unready_and_still_answers() {
    let settings = [
        ("KNOWHUB_TOKENS", "agents:writer:writer-token-0001".to_owned()),
        ("KNOWHUB_TOKEN", "writer-token-0001".to_owned()),
    ];
    let mut system = System::stopped(settings.to_vec()).unwrap();
    system.start_relay().await.unwrap();
    system.start_hub().await.unwrap();
    system.start_librarian_unready().await.unwrap();
    let (agent, _inbox) = connect(&system, "agent/uploads");
    // It says so before anybody uploads.
    wait::until("the librarian's word on the role that it lacks", async || {
        let unready = system.librarian_readiness().await.err();
        let why = unready.map(|err| err.to_string()).unwrap_or_default();
        anyhow::ensure!(why.contains("needs the role delegate"), "{why:?}");
        Ok(())
    })
    .await
    .unwrap();
    let ask = to_librarian("[ASK] How do I calibrate the spectrometer?");
    let reply = agent.request(ask, PATIENCE).await.unwrap();
    assert_eq!(reply.meta.unwrap()["mode"], "extractive");
    agent.close().await;
    system.stop().await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_read_is_told() {
    let system = System::start().await.unwrap();
    let (agent, _inbox) = connect(&system, "agent/malformed");
    for (content, reason) in [
        ("[UPLOAD] {\"knowledge\": [", "not JSON"),
        ("[UPLOAD] {\"knowledge\": {}}", "knowledge: must be a list"),
        ("[UPLOAD:FINALIZE] 7", "expected an object"),
        ("[ASK]", "no question"),
        ("hello", "[ASK]"),
    ] {
        let reply = agent.request(to_librarian(content), PATIENCE).await;
        let reply = reply.unwrap();
        assert!(reply.content.contains(reason), "{content}: {}", reply.content);
        assert_eq!(reply.meta.unwrap()["error"]["code"], "malformed", "{content}");
    }
    agent.close().await;
    system.stop().await.unwrap();
}
