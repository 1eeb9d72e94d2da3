//! The project against real peers, which it does not control.

use std::io::Write;

use protocol::SourceId;
use tests::{peer::ChatPeer, system::System};

use super::fixtures::{DEADLOCK_EN, TABLES_ZH, source_ids, store_notes};

/// Returns every well-formed citation in a text, whoever made it.
fn citations(text: &str) -> Vec<SourceId> {
    let ends = text.match_indices('[').map(|(at, _)| &text[at + 1..]);
    ends.filter_map(|rest| rest.split_once(']')?.0.parse().ok()).collect()
}

/// Says that a test did not run; past the test runner's capture, since nobody sees it otherwise.
fn skipped(name: &str, reason: &str) {
    // The printing macros would be captured.
    let line = format!("test peers::{name} ... skipped: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

#[tokio::test]
async fn a_real_model_answers_and_cites_nothing_that_was_not_retrieved() {
    #[expect(clippy::disallowed_methods, reason = "the test runner's own setting")]
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    let Some(peer) = ChatPeer::start(is_ci).await.unwrap() else {
        let name = "a_real_model_answers_and_cites_nothing_that_was_not_retrieved";
        return skipped(name, "tests/peers/setup.sh could not fetch the chat server");
    };
    let settings =
        vec![("LLM_BASE_URL", peer.base_url().to_owned()), ("LLM_MODEL", "smollm2".to_owned())];
    let system = System::start_with(settings).await.unwrap();
    store_notes(&system).await;
    for question in [TABLES_ZH, DEADLOCK_EN] {
        let answer = system.knowhub_json(&["ask", question, "--timeout", "60s"]).await.unwrap();
        let mode = answer["mode"].as_str().unwrap();
        assert!(["integrated", "extractive"].contains(&mode), "{answer}");
        let response = answer["response"].as_str().unwrap();
        assert!(!response.trim().is_empty(), "{answer}");
        let sources = answer["sources"].as_array().unwrap();
        for id in citations(response) {
            let id = id.to_string();
            assert!(sources.iter().any(|source| source["id"] == id), "{id} in {answer}");
            assert!(source_ids(&answer).contains(&id.as_str()), "{id} in {answer}");
        }
        assert!(!source_ids(&answer).is_empty(), "{answer}");
    }
    system.stop().await.unwrap();
}
