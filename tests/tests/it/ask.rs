//! A question over the whole path, and what happens when a part of it is missing, hangs, or is late.

use std::time::{Duration, Instant};

use agent_tools::{im::RequestError, tools::ASK_TIMEOUT};
use tests::{
    system::System,
    wait::{self, PATIENCE},
};

use super::fixtures::{DEADLOCK_EN, TABLES_ZH, connect, source_ids, store_notes, to_librarian};

#[tokio::test]
async fn both_languages_get_cited_answers() {
    let system = System::start().await.unwrap();
    let notes = store_notes(&system).await;
    for (question, cited) in [(TABLES_ZH, &notes.tables_zh), (DEADLOCK_EN, &notes.deadlock_en)] {
        let answer = system.knowhub_json(&["ask", question]).await.unwrap();
        assert_eq!(answer["mode"], "extractive", "{answer}");
        assert!(source_ids(&answer).contains(&cited.as_str()), "{answer}");
        let response = answer["response"].as_str().unwrap();
        assert!(response.contains(&format!("[{cited}]")), "{response}");
    }
    let answer = system.knowhub_json(&["ask", TABLES_ZH]).await.unwrap();
    assert!(source_ids(&answer).contains(&notes.experience.as_str()), "{answer}");
    assert!(!source_ids(&answer).contains(&notes.deadlock_en.as_str()), "{answer}");
    system.stop().await.unwrap();
}

#[tokio::test]
async fn what_nobody_knows_is_said_and_nothing_is_cited() {
    let system = System::start().await.unwrap();
    store_notes(&system).await;
    for question in ["量子引力的弦论景观有多少真空态？", "Who won the chess championship in 1972?"]
    {
        let answer = system.knowhub_json(&["ask", question]).await.unwrap();
        assert_eq!(source_ids(&answer), [""; 0], "{answer}");
        assert!(!answer["response"].as_str().unwrap().is_empty(), "{answer}");
    }
    system.stop().await.unwrap();
}

#[tokio::test]
async fn without_a_librarian_the_same_sources_come_at_once() {
    let mut system = System::start().await.unwrap();
    store_notes(&system).await;
    let with = system.knowhub_json(&["ask", TABLES_ZH]).await.unwrap();
    system.librarian.take().unwrap().terminate(PATIENCE).await.unwrap();

    let asked = Instant::now();
    let without = system.knowhub_json(&["ask", TABLES_ZH]).await.unwrap();
    assert!(asked.elapsed() < ASK_TIMEOUT, "not at once: {:?}", asked.elapsed());
    assert_eq!(without["mode"], "search", "{without}");
    assert!(without["reason"].as_str().unwrap().contains("offline"), "{without}");
    assert_eq!(without["sources"], with["sources"]);
    assert_eq!(without["source_ids"], with["source_ids"]);
    system.stop().await.unwrap();
}

#[tokio::test]
async fn without_a_relay_search_answers_at_once() {
    let mut system = System::start().await.unwrap();
    let notes = store_notes(&system).await;
    system.relay.take().unwrap().kill().await.unwrap();
    let asked = Instant::now();
    let answer = system.knowhub_json(&["ask", TABLES_ZH]).await.unwrap();
    assert!(asked.elapsed() < ASK_TIMEOUT, "not at once: {:?}", asked.elapsed());
    assert_eq!(answer["mode"], "search", "{answer}");
    assert!(answer["reason"].as_str().unwrap().contains("relay"), "{answer}");
    assert!(source_ids(&answer).contains(&notes.tables_zh.as_str()), "{answer}");
    system.stop().await.unwrap();
}

#[tokio::test]
async fn a_hung_librarian_costs_the_deadline_and_no_more() {
    let system = System::start().await.unwrap();
    let notes = store_notes(&system).await;
    let patience = Duration::from_secs(2);
    system.librarian.as_ref().unwrap().freeze().unwrap();
    let asked = Instant::now();
    let answer = system.knowhub_json(&["ask", TABLES_ZH, "--timeout", "2s"]).await.unwrap();
    let took = asked.elapsed();
    assert!(took >= patience, "before the deadline: {took:?}");
    assert!(took < ASK_TIMEOUT, "as if nobody had named a deadline: {took:?}");
    assert_eq!(answer["mode"], "search", "{answer}");
    assert!(source_ids(&answer).contains(&notes.tables_zh.as_str()), "{answer}");
    system.librarian.as_ref().unwrap().thaw().unwrap();
    system.stop().await.unwrap();
}

#[tokio::test]
async fn an_answer_after_the_deadline_harms_nobody() {
    let system = System::start().await.unwrap();
    let notes = store_notes(&system).await;
    let (agent, _inbox) = connect(&system, "agent/late");
    let librarian = system.librarian.as_ref().unwrap();

    librarian.freeze().unwrap();
    let mut late = to_librarian(format!("[ASK] {TABLES_ZH}"));
    // The question outlives the asker's patience, so that the librarian does answer it.
    late.ttl = Some(PATIENCE);
    let patience = Duration::from_millis(300);
    let result = agent.request(late, patience).await;
    assert_eq!(result.unwrap_err(), RequestError::Deadline);
    librarian.thaw().unwrap();

    let next = to_librarian(format!("[ASK] {DEADLOCK_EN}"));
    let reply = agent.request(next, PATIENCE).await.unwrap();
    assert!(reply.content.contains(&notes.deadlock_en), "{}", reply.content);
    assert_eq!(agent.open_counts(), (0, 0));
    agent.close().await;
    system.stop().await.unwrap();
}

#[tokio::test]
async fn without_a_hub_the_error_says_what_to_do() {
    let mut system = System::start().await.unwrap();
    system.hub.take().unwrap().kill().await.unwrap();
    let output = system.knowhub(&["ask", TABLES_ZH]).await.unwrap();
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{talk}");
    assert!(output.stdout.is_empty());
    assert!(talk.contains(&system.api()) && talk.contains("knowhub-server"), "{talk}");

    let (agent, _inbox) = connect(&system, "agent/no-hub");
    let ask = to_librarian(format!("[ASK] {TABLES_ZH}"));
    let reply = agent.request(ask, PATIENCE).await.unwrap();
    assert_eq!(reply.meta.unwrap()["error"]["code"], "hub_unavailable");
    agent.close().await;
    system.stop().await.unwrap();
}

#[tokio::test]
async fn two_agents_at_once_get_the_right_answer_each() {
    let system = System::start().await.unwrap();
    let notes = store_notes(&system).await;
    let rounds = 10;
    let ask = async |contact: &str, question: &str, cited: &str| {
        let (agent, _inbox) = connect(&system, contact);
        for _ in 0..rounds {
            let ask = to_librarian(format!("[ASK] {question}"));
            let reply = agent.request(ask, PATIENCE).await.unwrap();
            assert!(reply.content.contains(cited), "{contact}: {}", reply.content);
        }
        agent.close().await;
    };
    tokio::join!(
        ask("agent/zh", TABLES_ZH, &notes.tables_zh),
        ask("agent/en", DEADLOCK_EN, &notes.deadlock_en),
    );
    system.stop().await.unwrap();
}

#[tokio::test]
async fn a_huge_question_is_refused_clearly() {
    let system = System::start().await.unwrap();
    let question = "表格".repeat(17_000);
    let output = system.knowhub(&["ask", &question]).await.unwrap();
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{talk}");
    assert!(talk.contains("34000") && talk.contains("4000"), "{talk}");

    let (agent, _inbox) = connect(&system, "agent/long");
    let ask = to_librarian(format!("[ASK] {question}"));
    let reply = agent.request(ask, PATIENCE).await.unwrap();
    assert_eq!(reply.meta.unwrap()["error"]["code"], "malformed");
    agent.close().await;
    system.stop().await.unwrap();
}

#[tokio::test]
async fn doctor_tells_what_is_missing() {
    let mut system = System::start().await.unwrap();
    let output = system.knowhub(&["doctor"]).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));

    system.librarian.take().unwrap().kill().await.unwrap();
    wait::until("doctor's word that the librarian is away", async || {
        let output = system.knowhub(&["doctor"]).await?;
        let told = String::from_utf8_lossy(&output.stdout).to_lowercase();
        anyhow::ensure!(output.status.code() == Some(3) && told.contains("librarian"), "{told}");
        Ok(())
    })
    .await
    .unwrap();
    system.stop().await.unwrap();
}
