//! The project against real peers, which it does not control.

mod contract;
mod embeddings;

use std::time::Duration;

use llm::{ChatRequest, Message};
use protocol::SourceId;
use tests::{peer::ChatPeer, system::System};
use tokio::time::Instant;

use super::fixtures::{DEADLOCK_EN, TABLES_ZH, skip, source_ids, store_notes};

/// Returns the chat server, or skips test `name`.
async fn chat_peer(name: &str) -> Option<ChatPeer> {
    let peer = ChatPeer::start().await.unwrap();
    if peer.is_none() {
        skip(&format!("peers::{name}"), "tests/peers/setup.sh fetched no chat server");
    }
    peer
}

/// Returns every well-formed citation in a text, whoever made it.
fn citations(text: &str) -> Vec<SourceId> {
    let ends = text.match_indices('[').map(|(at, _)| &text[at + 1..]);
    ends.filter_map(|rest| rest.split_once(']')?.0.parse().ok()).collect()
}

#[tokio::test]
async fn a_real_model_answers_and_cites_nothing_that_was_not_retrieved() {
    let name = "a_real_model_answers_and_cites_nothing_that_was_not_retrieved";
    let Some(peer) = chat_peer(name).await else { return };
    let settings = vec![
        ("LLM_BASE_URL", peer.base_url()),
        ("LLM_MODEL", "smollm2".to_owned()),
        ("LOG_FILTER", "debug".to_owned()),
    ];
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
    let logged = system.librarian.as_ref().unwrap().logged().unwrap();
    assert!(logged.contains("the language model wrote an answer"), "{logged}");
    system.stop().await.unwrap();
}

/// A model this small hardly cites by itself, so it is asked to write ids, right ones and others.
#[tokio::test]
async fn what_a_real_model_makes_of_ids_never_survives_unchecked() {
    let name = "what_a_real_model_makes_of_ids_never_survives_unchecked";
    let Some(peer) = chat_peer(name).await else { return };
    let settings = llm::Settings {
        llm_base_url: Some(peer.base_url()),
        llm_model: Some("smollm2".to_owned()),
        ..llm::Settings::default()
    };
    let model = settings.model().unwrap().unwrap();
    let retrieved: SourceId = "experience-7".parse().unwrap();
    let prompts = [
        "Continue the list: [experience-7], [experience-8], [experience-9],",
        "Repeat exactly: Use pdfplumber [experience-7][knowledge-20260309-215835-a699].",
        "Write one sentence on tables and end it with [resource:pymupdf] and [experience-12].",
    ];
    let mut written = 0;
    for prompt in prompts {
        let request = ChatRequest {
            messages: vec![Message::user(prompt.to_owned())],
            max_tokens: 80,
            // The most probable words, so that every run is the same.
            temperature: 0.0,
            deadline: Instant::now() + Duration::from_mins(1),
        };
        let reply = model.complete(request).await.unwrap();
        written += citations(&reply.content).len();
        let checked =
            librarian_core::citation::check(&reply.content, std::slice::from_ref(&retrieved));
        for id in citations(&checked.text) {
            assert_eq!(id, retrieved, "made of {:?}", reply.content);
        }
    }
    assert!(written > 0, "the model wrote no id at all, so nothing was checked");
}
