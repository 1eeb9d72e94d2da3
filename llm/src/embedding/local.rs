//! An embedding model that is computed in this process, from the files of a folder.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use super::config::SettingsError;
use super::{Embedder, Embedding, EmbeddingError, Instruction, TextRole, text::Text};
use crate::Error;
use crate::error::{Address, Service};
use model::Model;

mod folder;
mod model;
mod network;
mod pooling;

/// The most texts that are computed together; what else waits, a query for instance, gets its turn
/// after them.
const MAX_BATCH_TEXTS: usize = 8;

/// The most characters that are computed together, a single long text by itself.
const MAX_BATCH_CHARS: usize = 8_000;

/// A model of the BERT family, computed on the processor, one batch at a time.
pub(super) struct Local {
    model: Arc<Model>,
    /// Whoever computes holds its one permit, even after the caller has given up.
    turn: Arc<Semaphore>,
    at: Address,
    query: Instruction,
    passage: Instruction,
    space: String,
}

impl Local {
    /// Reads the files of a folder; `instructions` says how texts are put to the model of a name.
    pub(super) fn load(
        folder: &Path,
        instructions: impl FnOnce(&str) -> (Instruction, Instruction),
    ) -> Result<Self, SettingsError> {
        let model = Model::load(folder)?;
        let (query, passage) = instructions(model.name());
        let space = super::space(&query, &passage);
        let at = Address { service: Service::Embeddings, place: folder.display().to_string() };
        let turn = Arc::new(Semaphore::new(1));
        Ok(Self { model: Arc::new(model), turn, at, query, passage, space })
    }

    async fn compute(&self, texts: Vec<(String, bool)>) -> Result<Vec<Embedding>, EmbeddingError> {
        let turn = Arc::clone(&self.turn).acquire_owned().await;
        let turn = turn.expect("nobody closes the semaphore");
        let model = Arc::clone(&self.model);
        let computed = spawn_blocking(move || {
            let embeddings = model.embed(texts);
            drop(turn);
            embeddings
        });
        let failed = |source| EmbeddingError::Computation { at: self.at.clone(), source };
        computed.await.map_err(|err| failed(err.into()))?.map_err(failed)
    }
}

#[async_trait]
impl Embedder for Local {
    async fn embed(
        &self,
        texts: &[String],
        role: TextRole,
        deadline: Instant,
    ) -> Result<Vec<Embedding>, EmbeddingError> {
        let started = Instant::now();
        let Instruction { prefix, .. } = match role {
            TextRole::Query => &self.query,
            TextRole::Passage => &self.passage,
        };
        let texts: Vec<_> = texts.iter().map(|text| Text::new(text)).collect();
        let mut embeddings: Vec<_> = texts.iter().map(|_| Embedding::Refused).collect();
        for batch in batches(&texts) {
            let texts = batch.iter().map(|&index| texts[index]);
            let texts = texts.map(|text| (format!("{prefix}{}", text.text), text.is_cut)).collect();
            // The computation itself cannot be interrupted, and its result is thrown away.
            let computed = timeout_at(deadline, self.compute(texts)).await.map_err(|_| {
                Error::Deadline { at: self.at.clone(), waited: started.elapsed() }
            })??;
            for (index, embedding) in batch.into_iter().zip(computed) {
                embeddings[index] = embedding;
            }
        }
        Ok(embeddings)
    }

    fn space(&self) -> &str {
        &self.space
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local")
            .field("at", &self.at)
            .field("space", &self.space)
            .finish_non_exhaustive()
    }
}

/// Groups texts of like length, since the shorter ones of a batch are computed as if they were as
/// long as the longest.
fn batches(texts: &[Text<'_>]) -> Vec<Vec<usize>> {
    let chars: Vec<_> = texts.iter().map(|text| text.text.chars().count()).collect();
    let mut order: Vec<_> = (0..texts.len()).collect();
    order.sort_by_key(|&index| chars[index]);
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for index in order {
        match batches.last_mut() {
            Some(batch)
                if batch.len() < MAX_BATCH_TEXTS
                    && (batch.len() + 1) * chars[index] <= MAX_BATCH_CHARS =>
            {
                batch.push(index);
            }
            _ => batches.push(vec![index]),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_texts_of_like_length() {
        let texts: Vec<_> = [4_000, 1, 8_000, 3_000, 2].map(|chars| "a".repeat(chars)).into();
        let texts: Vec<_> = texts.iter().map(|text| Text::new(text)).collect();
        assert_eq!(batches(&texts), [vec![1, 4], vec![3, 0], vec![2]]);
        assert_eq!(batches(&[texts[1]; 9]).len(), 2);
        assert!(batches(&[]).is_empty());
    }
}
