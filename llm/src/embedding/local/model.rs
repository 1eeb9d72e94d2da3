//! From text to vector: tokens, network, pooling.

use std::error::Error;
use std::path::Path;

use candle_core::{Device, Tensor};
use sha2::{Digest, Sha256};
use tokenizers::{PaddingParams, Tokenizer, TruncationParams};

use super::folder::{Folder, TOKENIZER, WEIGHTS};
use super::network::Network;
use super::pooling::Pooling;
use crate::embedding::Embedding;
use crate::embedding::config::SettingsError;

/// A model with all that it needs.
pub(super) struct Model {
    tokenizer: Tokenizer,
    network: Network,
    pooling: Pooling,
    name: String,
}

impl Model {
    /// Reads the files of a folder.
    pub(super) fn load(path: &Path) -> Result<Self, SettingsError> {
        let folder = Folder(path);
        let pooling = folder.pooling()?;
        let tokenizer_file = folder.read(TOKENIZER)?;
        let weights = folder.read(WEIGHTS)?;
        let network = Network::load(&folder, &weights)?;
        let tokenizer = tokenizer(&tokenizer_file, &network);
        let tokenizer = tokenizer.map_err(|err| folder.wrong(TOKENIZER, err))?;
        let name = name(&tokenizer_file, &weights, pooling);
        Ok(Self { tokenizer, network, pooling, name })
    }

    /// Returns a name that changes with the files, wherever they are.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Embeds texts together; of each it is known whether it was cut before.
    pub(super) fn embed(
        &self,
        texts: Vec<(String, bool)>,
    ) -> Result<Vec<Embedding>, Box<dyn Error + Send + Sync>> {
        let (texts, cut): (Vec<_>, Vec<_>) = texts.into_iter().unzip();
        let encodings = self.tokenizer.encode_batch(texts, true)?;
        let (mut ids, mut masks) = (Vec::new(), Vec::new());
        for encoding in &encodings {
            ids.push(encoding.get_ids());
            masks.push(encoding.get_attention_mask());
        }
        let mask = Tensor::new(masks, &Device::Cpu)?;
        let tokens = self.network.forward(&Tensor::new(ids, &Device::Cpu)?, &mask)?;
        let vectors = self.pooling.pool(&tokens, &mask)?.to_vec2()?;
        let embeddings =
            vectors.into_iter().zip(encodings).zip(cut).map(|((vector, encoding), cut)| {
                let is_cut = cut || !encoding.get_overflowing().is_empty();
                Embedding::unit(vector, is_cut).unwrap_or(Embedding::Refused)
            });
        Ok(embeddings.collect())
    }
}

/// Reads a tokenizer, and makes it cut and fill up as the network wants, whatever its file says.
fn tokenizer(file: &[u8], network: &Network) -> Result<Tokenizer, Box<dyn Error + Send + Sync>> {
    let mut tokenizer = Tokenizer::from_bytes(file)?;
    let truncation = TruncationParams { max_length: network.max_tokens, ..Default::default() };
    tokenizer.with_truncation(Some(truncation))?;
    tokenizer.with_padding(Some(PaddingParams { pad_id: network.pad_id, ..Default::default() }));
    Ok(tokenizer)
}

/// Names a model after its weights, its tokens and its pooling.
fn name(tokenizer: &[u8], weights: &[u8], pooling: Pooling) -> String {
    let mut digest = Sha256::new();
    digest.update(Sha256::digest(tokenizer));
    digest.update(Sha256::digest(weights));
    digest.update(format!("{pooling:?}"));
    let digest: [u8; 32] = digest.finalize().into();
    let (first, _) = digest.split_first_chunk().expect("32 bytes begin with 8");
    format!("local-{:016x}", u64::from_be_bytes(*first))
}
