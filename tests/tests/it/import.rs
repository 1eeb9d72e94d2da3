//! A hub that dies while it stores an import: doing it again brings the rest, and repairs what was half told.

use std::fs;

use anyhow::ensure;
use protocol::{
    ExperienceId, Timestamp,
    export::{Experience, FORMAT, Header, Line, Writer},
};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tests::{system::System, wait};

/// How many experiences there are, so that storing takes many transactions, and long beside a look at the first.
const EXPERIENCES: i64 = 20_000;

fn experience(id: i64) -> Line {
    Line::Experience(Experience {
        id: ExperienceId(id),
        name: "spectrometer".into(),
        url: String::new(),
        category: String::new(),
        task: "calibrate".into(),
        score: None,
        outcome: String::new(),
        tips: String::new(),
        content_id: String::new(),
        submitted_by: String::new(),
        authenticated_as: "local".into(),
        on_behalf_of: String::new(),
        created_at: Timestamp::from_millis(id),
    })
}

/// Returns the id of a record that tells of one that is nowhere, and an export of it and of many experiences.
async fn lopsided() -> (String, String) {
    let mut system = System::stopped(vec![]).unwrap();
    system.start_hub().await.unwrap();
    let mut ids = Vec::new();
    for content in ["argon", "neon"] {
        let body = json!({ "task": "calibrate", "content": content });
        let made = system.post("/api/knowledge", &body).await.unwrap();
        ids.push(made["id"].as_str().unwrap().to_owned());
    }
    let relation = json!({ "type": "conflict", "target": ids[1] });
    system.post(&format!("/api/knowledge/{}/relationships", ids[0]), &relation).await.unwrap();
    let whole = system.knowhub(&["export", "-"]).await.unwrap().stdout;
    system.stop().await.unwrap();

    let header = Header {
        knowhub_export: FORMAT,
        store_id: "elsewhere".into(),
        last_seq: 0,
        last_experience: ExperienceId(EXPERIENCES),
        created_at: Timestamp::from_millis(0),
    };
    let mut out = Vec::new();
    let mut writer = Writer::start(&header, &mut out);
    for line in whole.split(|byte| *byte == b'\n').filter_map(|line| Line::parse(line).ok()) {
        if matches!(&line, Line::Knowledge(one) if one.record.id.as_str() == ids[0]) {
            writer.write(&line, &mut out);
        }
    }
    (1..=EXPERIENCES).for_each(|id| writer.write(&experience(id), &mut out));
    writer.finish(&mut out);
    (ids.swap_remove(0), String::from_utf8(out).unwrap())
}

async fn relations(client: &Client, system: &System, id: &str) -> anyhow::Result<Value> {
    let url = format!("{}/api/knowledge/{id}", system.api());
    let answer = client.get(url).send().await?;
    let (status, body) = (answer.status(), answer.json::<Value>().await?);
    ensure!(status == StatusCode::OK, "{body}");
    Ok(body["relationships"].clone())
}

#[tokio::test]
async fn one_that_a_crash_cut_off_is_done_again() {
    let (id, whole) = lopsided().await;
    let mut system = System::stopped(vec![]).unwrap();
    system.start_hub().await.unwrap();
    let file = system.folder().join("all.ndjson");
    fs::write(&file, &whole).unwrap();

    let client = Client::builder().timeout(wait::PATIENCE).build().unwrap();
    let request = client.post(format!("{}/api/import", system.api()));
    let request = request.header("content-type", "application/x-ndjson").body(whole);
    let importing = tokio::spawn(request.send());
    wait::until("the first record", async || relations(&client, &system, &id).await).await.unwrap();
    system.hub.take().unwrap().kill().await.unwrap();
    importing.await.unwrap().unwrap_err();

    system.start_hub().await.unwrap();
    assert_ne!(
        relations(&client, &system, &id).await.unwrap(),
        json!([]),
        "it did not come to its end"
    );
    let args = ["import", file.to_str().unwrap()];
    let report = system.knowhub_json(&args).await.unwrap();
    let count = |list: &str| report[list]["experience"].as_i64().unwrap_or(0);
    assert!(count("imported") > 0, "{report}");
    assert_eq!(count("imported") + count("skipped"), EXPERIENCES, "{report}");
    assert_eq!(report["adjusted"][0]["field"], "relationships", "{report}");
    assert_eq!(relations(&client, &system, &id).await.unwrap(), json!([]));
    let again = system.knowhub_json(&args).await;
    assert!(again.is_err(), "the record is another one now, and told as a conflict: {again:?}");
    system.stop().await.unwrap();
}
