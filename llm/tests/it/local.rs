//! Models that are computed from the files of a folder: a real one, and tiny ones of each kind.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use llm::Error;
use llm::embedding::{Embedder, Embedding, EmbeddingError, Settings, TextRole};
use tokio::time::Instant;

mod tiny;

/// A real model takes a while where others compute.
const PATIENCE: Duration = Duration::from_mins(5);

fn settings(folder: &Path) -> Settings {
    Settings { embedding_model_dir: Some(folder.to_owned()), ..Settings::default() }
}

fn load(folder: &Path) -> Arc<dyn Embedder> {
    settings(folder).embedder().expect("a good folder").expect("a folder is set")
}

/// Returns the folder of the real model that `tests/peers/setup.sh` fetched, or skips test `name`.
fn real_model(name: &str) -> Option<PathBuf> {
    let peer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.peers/local-model");
    if peer.join("ready").exists() {
        return Some(peer.join("model"));
    }
    #[expect(clippy::disallowed_methods, reason = "the test runner's own setting")]
    let is_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    let reason = "tests/peers/setup.sh fetched no local embedding model";
    assert!(!is_ci, "local::{name} cannot be skipped here: {reason}");
    // The printing macros would be captured.
    let line = format!("test local::{name} ... skipped: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).expect("standard error is open");
    None
}

/// Returns the vectors of texts, each with whether its text was cut.
async fn embed(embedder: &dyn Embedder, texts: &[&str], role: TextRole) -> Vec<(Vec<f32>, bool)> {
    let texts: Vec<_> = texts.iter().map(|&text| text.to_owned()).collect();
    let embeddings = embedder.embed(&texts, role, Instant::now() + PATIENCE).await;
    let embeddings = embeddings.expect("patience is enough");
    let vectors = embeddings.into_iter().map(|embedding| match embedding {
        Embedding::Vector { vector, is_cut } => (vector, is_cut),
        Embedding::Refused => panic!("a text is refused"),
    });
    vectors.collect()
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[track_caller]
fn assert_near(found: &[f32], expected: &[f32], tolerance: f32) {
    let is_near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < tolerance);
    assert!(is_near, "{found:?} should be {expected:?}");
}

#[tokio::test]
async fn a_real_model_computes_what_its_makers_compute() {
    let name = "a_real_model_computes_what_its_makers_compute";
    let Some(folder) = real_model(name) else { return };
    let embedder = load(&folder);
    let texts = [
        "This is an example sentence",
        "Use pdfplumber to extract tables from a PDF.",
        "pdfplumber gets tables out of PDF files.",
        "The ferry to the island leaves at nine.",
    ];
    let vectors = embed(&*embedder, &texts, TextRole::Passage).await;
    for (vector, is_cut) in &vectors {
        assert_eq!((vector.len(), is_cut), (384, &false));
        assert!((dot(vector, vector) - 1.0).abs() < 1e-5);
    }
    // The beginnings of two vectors, computed apart from this project.
    let expected = [
        [0.067_66, 0.063_5, 0.048_71, 0.079_3, 0.037_45, 0.002_65],
        [0.035_87, -0.044_54, -0.098_55, 0.006_31, 0.029_76, 0.040_94],
    ];
    assert_near(&vectors[0].0[..6], &expected[0], 1e-4);
    assert_near(&vectors[1].0[..6], &expected[1], 1e-4);
    let near = |a: usize, b: usize| dot(&vectors[a].0, &vectors[b].0);
    assert!(near(1, 2) > 0.8 && near(1, 3) < 0.3, "{} {}", near(1, 2), near(1, 3));
}

#[tokio::test]
async fn a_text_has_one_vector_alone_and_among_others_and_is_cut_where_it_is_too_long() {
    let name = "a_text_has_one_vector_alone_and_among_others_and_is_cut_where_it_is_too_long";
    let Some(folder) = real_model(name) else { return };
    let embedder = load(&folder);
    let long = "tables and more tables ".repeat(200);
    let mut texts: Vec<_> = (0..17).map(|number| "note ".repeat(number + 1)).collect();
    texts[3] = long.clone();
    let texts: Vec<_> = texts.iter().map(String::as_str).collect();
    let together = embed(&*embedder, &texts, TextRole::Passage).await;
    for (index, text) in texts.iter().enumerate() {
        let alone = embed(&*embedder, &[text], TextRole::Query).await;
        assert_near(&together[index].0, &alone[0].0, 1e-3);
        assert_eq!(together[index].1, index == 3, "{index}");
    }
    // What is beyond the model's 512 tokens does not count.
    let beyond = format!("{long} ferry");
    assert_near(&embed(&*embedder, &[&beyond], TextRole::Passage).await[0].0, &together[3].0, 1e-3);
}

#[tokio::test]
async fn each_family_counts_its_positions_and_fills_up_its_own_way() {
    let mut all = Vec::new();
    for model_type in ["bert", "roberta", "xlm-roberta"] {
        let folder = tempfile::tempdir().unwrap();
        tiny::write(folder.path(), model_type);
        let embedder = load(folder.path());
        let long = "file ".repeat(tiny::MAX_TOKENS + 1);
        let texts = ["read tables from a file", "ferry", "file tables", &long];
        let vectors = embed(&*embedder, &texts, TextRole::Passage).await;
        assert_eq!(
            vectors.iter().map(|(_, cut)| *cut).collect::<Vec<_>>(),
            [false, false, false, true]
        );
        for (text, (vector, _)) in texts.iter().zip(&vectors) {
            assert_eq!(vector.len(), tiny::DIMENSION);
            assert_near(&embed(&*embedder, &[text], TextRole::Query).await[0].0, vector, 1e-5);
        }
        assert!(dot(&vectors[0].0, &vectors[1].0) < 0.999);
        all.push(vectors);
    }
    // They have the same weights, the tables of positions shifted.
    for (index, (vector, _)) in all[0].iter().enumerate() {
        assert_near(&all[1][index].0, vector, 1e-5);
        assert_near(&all[2][index].0, vector, 1e-5);
    }
}

#[tokio::test]
async fn pooling_follows_its_file_and_belongs_to_the_space() {
    let folder = tempfile::tempdir().unwrap();
    tiny::write(folder.path(), "bert");
    let mean = load(folder.path());
    fs::create_dir(folder.path().join("1_Pooling")).unwrap();
    let pooling = folder.path().join("1_Pooling/config.json");
    fs::write(&pooling, r#"{"pooling_mode_mean_tokens": true}"#).unwrap();
    assert_eq!(load(folder.path()).space(), mean.space());
    fs::write(&pooling, r#"{"pooling_mode_cls_token": true}"#).unwrap();
    let first = load(folder.path());
    assert_ne!(first.space(), mean.space());
    let texts = ["read tables"];
    let role = TextRole::Passage;
    let vectors = (embed(&*mean, &texts, role).await, embed(&*first, &texts, role).await);
    assert!(dot(&vectors.0[0].0, &vectors.1[0].0) < 0.999);

    let prefixed =
        Settings { embedding_query_prefix: Some("read ".to_owned()), ..settings(folder.path()) };
    let prefixed = prefixed.embedder().unwrap().unwrap();
    assert!(prefixed.space().starts_with(first.space()), "{}", prefixed.space());
    let query = embed(&*prefixed, &["tables"], TextRole::Query).await;
    assert_near(&query[0].0, &vectors.1[0].0, 1e-5);
}

#[test]
fn a_missing_or_broken_file_is_named() {
    let module = r#"[{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}]"#;
    for (file, text, expected) in [
        ("config.json", None, "No such file"),
        ("config.json", Some("{"), "EOF"),
        ("config.json", Some(r#"{"model_type": "gpt2"}"#), "model_type is \"gpt2\""),
        ("config.json", Some(r#"{"model_type": "bert"}"#), "missing field"),
        ("tokenizer.json", None, "No such file"),
        ("tokenizer.json", Some("[]"), ""),
        ("model.safetensors", None, "No such file"),
        ("model.safetensors", Some("version https://git-lfs.github.com/spec/v1"), "header"),
        ("modules.json", Some(module), "models.Dense"),
        ("1_Pooling/config.json", Some(r#"{"pooling_mode_lasttoken": true}"#), "mean_tokens"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        tiny::write(folder.path(), "bert");
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match text {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let err = settings(folder.path()).embedder().expect_err(file);
        let message = format!("EMBEDDING_MODEL_DIR: cannot use {}", path.display());
        assert_eq!(err.to_string(), message);
        let cause = std::error::Error::source(&err).unwrap().to_string();
        assert!(cause.contains(expected), "{file}: {cause:?} should say {expected:?}");
    }
}

#[tokio::test]
async fn weights_that_do_not_fit_are_named() {
    let folder = tempfile::tempdir().unwrap();
    tiny::write(folder.path(), "bert");
    let config = folder.path().join("config.json");
    let wider =
        fs::read_to_string(&config).unwrap().replace("\"hidden_size\":8", "\"hidden_size\":16");
    fs::write(&config, wider).unwrap();
    let message = settings(folder.path()).embedder().expect_err("too wide").to_string();
    assert!(message.ends_with("model.safetensors"), "{message}");
}

#[tokio::test]
async fn a_deadline_that_has_passed_is_told() {
    let folder = tempfile::tempdir().unwrap();
    tiny::write(folder.path(), "bert");
    let texts = vec!["tables".to_owned(); 1_000];
    let err = load(folder.path()).embed(&texts, TextRole::Query, Instant::now()).await.unwrap_err();
    assert!(matches!(err, EmbeddingError::Call(Error::Deadline { .. })), "{err}");
    assert!(err.to_string().contains(folder.path().to_str().unwrap()), "{err}");
}
