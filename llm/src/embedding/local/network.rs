//! The networks of the BERT family, as candle computes them.

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::{bert, xlm_roberta};
use serde_json::Value;

use super::folder::{CONFIG, Folder, WEIGHTS};
use crate::embedding::config::SettingsError;

/// The least number of tokens that a network must take; fewer hardly hold a word.
const MIN_TOKENS: usize = 8;

/// A network with its weights.
pub(super) struct Network {
    family: Family,
    /// The number of the token that fills up shorter texts.
    pub(super) pad_id: u32,
    /// The most tokens of a text.
    pub(super) max_tokens: usize,
}

enum Family {
    Bert(bert::BertModel),
    Roberta(xlm_roberta::XLMRobertaModel),
}

impl Network {
    /// Builds the network that `config.json` describes, of the bytes of `model.safetensors`.
    pub(super) fn load(
        folder: &Folder<'_>,
        weights: &[u8],
    ) -> std::result::Result<Self, SettingsError> {
        let config: Value = folder.read_json(CONFIG)?;
        let wrong_config = |err| folder.wrong(CONFIG, err);
        let wrong_weights = |err| folder.wrong(WEIGHTS, err);
        let weights = VarBuilder::from_slice_safetensors(weights, DType::F32, &Device::Cpu);
        let weights = weights.map_err(wrong_weights)?;
        let model_type = config.get("model_type").and_then(Value::as_str).unwrap_or_default();
        let (family, pad_id, max_tokens) = match model_type {
            "bert" => {
                let config: bert::Config =
                    serde_json::from_value(config).map_err(|err| folder.wrong(CONFIG, err))?;
                let network = bert::BertModel::load(weights, &config).map_err(wrong_weights)?;
                (Family::Bert(network), config.pad_token_id as u32, config.max_position_embeddings)
            }
            "roberta" | "xlm-roberta" => {
                let config: xlm_roberta::Config =
                    serde_json::from_value(config).map_err(|err| folder.wrong(CONFIG, err))?;
                let is_nested =
                    weights.contains_tensor("roberta.embeddings.word_embeddings.weight");
                let weights = if is_nested { weights.pp("roberta") } else { weights };
                let network =
                    xlm_roberta::XLMRobertaModel::new(&config, weights).map_err(wrong_weights)?;
                // Its positions are counted from behind the number of the padding token.
                let first_position = config.pad_token_id as usize + 1;
                let max_tokens = config.max_position_embeddings.saturating_sub(first_position);
                (Family::Roberta(network), config.pad_token_id, max_tokens)
            }
            other => {
                let known = "known are bert, roberta and xlm-roberta";
                return Err(wrong_config(format!("its model_type is {other:?}, and {known}")));
            }
        };
        if max_tokens < MIN_TOKENS {
            return Err(wrong_config(format!(
                "it takes {max_tokens} tokens, less than {MIN_TOKENS}"
            )));
        }
        Ok(Self { family, pad_id, max_tokens })
    }

    /// Returns a vector for each token: `[texts, tokens, dimension]` of two of `[texts, tokens]`.
    pub(super) fn forward(&self, ids: &Tensor, mask: &Tensor) -> Result<Tensor> {
        let types = ids.zeros_like()?;
        match &self.family {
            Family::Bert(network) => network.forward(ids, &types, Some(mask)),
            Family::Roberta(network) => network.forward(ids, mask, &types, None, None, None),
        }
    }
}
