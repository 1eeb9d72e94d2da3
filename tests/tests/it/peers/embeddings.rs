//! The embedding client against a real server with a multilingual model.

use std::{path::Path, sync::Arc, time::Duration};

use llm::embedding::{Embedder, Embedding, Settings, TextRole};
use serde_json::{Value, json};
use tests::{binary, peer::EmbeddingPeer};
use tokio::{process::Command, time::Instant};

use crate::fixtures::skip;

/// The server takes a while for long texts, and longer where others compute.
const PATIENCE: Duration = Duration::from_mins(5);

/// How many numbers a vector of the server's model has.
const DIMENSION: usize = 384;

/// Starts the server and a client for it, or skips test `name`.
async fn embedder(name: &str) -> Option<(EmbeddingPeer, Arc<dyn Embedder>)> {
    let Some(peer) = EmbeddingPeer::start().await.unwrap() else {
        let name = format!("peers::embeddings::{name}");
        skip(&name, "tests/peers/setup.sh fetched no embedding server");
        return None;
    };
    let settings = Settings {
        embedding_base_url: Some(peer.base_url()),
        embedding_model: Some(EmbeddingPeer::PASSAGE_MODEL.to_owned()),
        embedding_query_model: Some(EmbeddingPeer::QUERY_MODEL.to_owned()),
        ..Settings::default()
    };
    let embedder = settings.embedder().unwrap().unwrap();
    Some((peer, embedder))
}

/// Returns the vectors of texts, each with whether its text was cut.
async fn embed(embedder: &dyn Embedder, texts: &[&str], role: TextRole) -> Vec<(Vec<f32>, bool)> {
    let texts: Vec<_> = texts.iter().map(|&text| text.to_owned()).collect();
    let embeddings = embedder.embed(&texts, role, Instant::now() + PATIENCE).await.unwrap();
    let vectors = embeddings.into_iter().map(|embedding| match embedding {
        Embedding::Vector { vector, is_cut } => (vector, is_cut),
        Embedding::Refused => panic!("a text is refused"),
    });
    vectors.collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[tokio::test]
async fn what_means_the_same_is_near_in_two_languages() {
    let name = "what_means_the_same_is_near_in_two_languages";
    let Some((_peer, embedder)) = embedder(name).await else { return };
    let passages = [
        "Use pdfplumber to extract tables from a PDF.",
        "用 pdfplumber 从 PDF 里提取表格。",
        "The ferry to the island leaves at nine.",
        "The bakery closes early on Mondays.",
    ];
    let passages = embed(&*embedder, &passages, TextRole::Passage).await;
    for (vector, is_cut) in &passages {
        assert_eq!((vector.len(), is_cut), (DIMENSION, &false));
        assert!((dot(vector, vector) - 1.0).abs() < 1e-5, "{}", dot(vector, vector));
    }
    for question in ["How do I get the tables out of a PDF?", "怎么从 PDF 里提取表格？"] {
        let question = embed(&*embedder, &[question], TextRole::Query).await;
        let near: Vec<_> =
            passages.iter().map(|(passage, _)| dot(passage, &question[0].0)).collect();
        assert!(
            near[..2].iter().all(|tables| near[2..].iter().all(|other| tables > other)),
            "{near:?}"
        );
    }
}

#[tokio::test]
async fn batches_come_back_in_order_and_a_long_text_is_cut() {
    let name = "batches_come_back_in_order_and_a_long_text_is_cut";
    let Some((_peer, embedder)) = embedder(name).await else { return };
    let mut texts: Vec<_> = (0..40).map(|number| format!("Note {number} of the list.")).collect();
    // What stands beyond the bound is never sent; most of this counts as few tokens.
    texts[7] = format!("{}end", " ".repeat(llm::embedding::MAX_TEXT_CHARS));
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    let together = embed(&*embedder, &texts, TextRole::Passage).await;
    for index in [0, 31, 32, 39] {
        let alone = embed(&*embedder, &texts[index..=index], TextRole::Passage).await;
        let near = dot(&together[index].0, &alone[0].0);
        assert!(near > 0.999, "{index}: {near}");
    }
    let cut: Vec<_> = together.iter().map(|(_, is_cut)| *is_cut).collect();
    assert!(cut.iter().enumerate().all(|(index, cut)| *cut == (index == 7)), "{cut:?}");
}

#[tokio::test]
async fn questions_find_passages_in_the_other_language() {
    let Some(peer) = EmbeddingPeer::start().await.unwrap() else {
        let name = "peers::embeddings::questions_find_passages_in_the_other_language";
        return skip(name, "tests/peers/setup.sh fetched no embedding server");
    };
    // Built as new as its sources, or the test tells nothing.
    binary::find("knowhub-server").unwrap();
    let questions = Path::new(env!("CARGO_MANIFEST_DIR")).join("questions");
    for (asked, stored) in [("notes.zh.json", "notes.en.json"), ("notes.en.json", "notes.zh.json")]
    {
        let output = Command::new(binary::find("knowhub").unwrap())
            .args(["eval", "--json", "--at-least", "r10=0.95,mrr=0.75"])
            .arg("--questions")
            .arg(questions.join(asked))
            .arg("--passages")
            .arg(questions.join(stored))
            .envs(peer.settings())
            .kill_on_drop(true)
            .output()
            .await
            .unwrap();
        let report = String::from_utf8_lossy(&output.stdout);
        let talk = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{asked} over {stored}: {report}{talk}");
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!((&report["questions"], &report["by_words"]), (&json!(60), &json!(0)));
    }
}
