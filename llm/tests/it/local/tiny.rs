//! Models of a few numbers in a scratch folder, of each network that the local embedder knows.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use candle_core::{Device, Tensor, safetensors};
use serde_json::json;

/// How many numbers a vector has.
pub(crate) const DIMENSION: usize = 8;

/// The most tokens that it takes.
pub(crate) const MAX_TOKENS: usize = 16;

const INNER: usize = 16;
const MARKS: [&str; 4] = ["<unk>", "<pad>", "<s>", "</s>"];
const WORDS: [&str; 6] = ["tables", "read", "from", "a", "file", "ferry"];

/// The number of the token that fills up; in the roberta family positions begin behind it.
const PAD_ID: usize = 1;

/// Writes a model; those of different types compute the same.
pub(crate) fn write(folder: &Path, model_type: &str) {
    let first_position = if model_type == "bert" { 0 } else { PAD_ID + 1 };
    let config = json!({
        "model_type": model_type,
        "vocab_size": MARKS.len() + WORDS.len(),
        "hidden_size": DIMENSION,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": INNER,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "max_position_embeddings": first_position + MAX_TOKENS,
        "type_vocab_size": 1,
        "initializer_range": 0.02,
        "layer_norm_eps": 1e-5,
        "pad_token_id": PAD_ID,
        "position_embedding_type": "absolute",
    });
    fs::write(folder.join("config.json"), config.to_string()).expect("a scratch folder");
    fs::write(folder.join("tokenizer.json"), tokenizer()).expect("a scratch folder");
    let weights = weights(first_position);
    safetensors::save(&weights, folder.join("model.safetensors")).expect("a scratch folder");
}

/// A tokenizer of the kind that multilingual models have, with these words alone.
fn tokenizer() -> String {
    let mut vocab = MARKS.map(|mark| json!([mark, 0.0])).to_vec();
    vocab.extend(WORDS.map(|word| json!([format!("▁{word}"), -1.0])));
    let metaspace =
        json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true});
    let tokenizer = json!({
        "version": "1.0",
        // Files come with such bounds of their own, which the embedder does not keep to.
        "truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 12}, "direction": "Right", "pad_to_multiple_of": null,
            "pad_id": 0, "pad_type_id": 0, "pad_token": "<unk>"},
        "added_tokens": [],
        "normalizer": null,
        "pre_tokenizer": metaspace,
        "post_processor": {"type": "BertProcessing", "cls": [MARKS[2], 2], "sep": [MARKS[3], 3]},
        "decoder": null,
        "model": {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": false},
    });
    tokenizer.to_string()
}

fn weights(first_position: usize) -> HashMap<String, Tensor> {
    let mut weights = HashMap::new();
    let mut add = |name: &str, rows: Option<usize>, columns: usize, skip: usize| {
        // Any numbers do, as long as they are the same each time and differ from name to name.
        let seed = name.bytes().map(f32::from).sum::<f32>();
        let count = rows.unwrap_or(1) * columns;
        let numbers = (0..count).map(|index| (seed + 1.7 * index as f32).sin() / 2.0);
        let numbers: Vec<f32> = std::iter::repeat_n(9.0, skip * columns).chain(numbers).collect();
        let shape = match rows {
            Some(rows) => vec![skip + rows, columns],
            None => vec![columns],
        };
        let tensor = Tensor::from_vec(numbers, shape, &Device::Cpu)
            .expect("as many numbers as the shape says");
        weights.insert(name.to_owned(), tensor);
    };
    add("embeddings.word_embeddings.weight", Some(MARKS.len() + WORDS.len()), DIMENSION, 0);
    add("embeddings.position_embeddings.weight", Some(MAX_TOKENS), DIMENSION, first_position);
    add("embeddings.token_type_embeddings.weight", Some(1), DIMENSION, 0);
    let layer = "encoder.layer.0";
    let attention = format!("{layer}.attention");
    for (name, rows, columns) in [
        (format!("{attention}.self.query"), DIMENSION, DIMENSION),
        (format!("{attention}.self.key"), DIMENSION, DIMENSION),
        (format!("{attention}.self.value"), DIMENSION, DIMENSION),
        (format!("{attention}.output.dense"), DIMENSION, DIMENSION),
        (format!("{layer}.intermediate.dense"), INNER, DIMENSION),
        (format!("{layer}.output.dense"), DIMENSION, INNER),
    ] {
        add(&format!("{name}.weight"), Some(rows), columns, 0);
        add(&format!("{name}.bias"), None, rows, 0);
    }
    for name in [
        "embeddings.LayerNorm".to_owned(),
        format!("{attention}.output.LayerNorm"),
        format!("{layer}.output.LayerNorm"),
    ] {
        let values = [("weight", 1.0_f32), ("bias", 0.0)];
        for (part, value) in values {
            let tensor = Tensor::full(value, DIMENSION, &Device::Cpu)
                .expect("as many numbers as the shape says");
            weights.insert(format!("{name}.{part}"), tensor);
        }
    }
    weights
}
