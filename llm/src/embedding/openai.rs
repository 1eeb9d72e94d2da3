//! The embedding model behind an OpenAI-compatible endpoint.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use reqwest::StatusCode;
use tokio::time::Instant;

use super::{Embedder, Embedding, EmbeddingError, Instruction, TextRole, text::Text};
use crate::Error;
use crate::config::SettingsError;
use crate::endpoint::{Client, Endpoint, MAX_ATTEMPTS};

mod wire;

/// The largest reply that is read; a larger one fails the call.
///
/// 32 vectors of 4,096 numbers, each written out in full, take 3 MiB.
const MAX_REPLY_BYTES: usize = 8 * 1024 * 1024;

/// The most texts in one request; more are sent in several.
const MAX_BATCH_TEXTS: usize = 32;

/// The most characters in one request; more are sent in several, a single long text by itself.
///
/// A small server computes these in half a minute; a larger request would hold up a query longer.
const MAX_BATCH_CHARS: usize = 16_000;

/// Attempts at texts of which some may be what the endpoint fails at; in vain they would take long.
const ATTEMPTS_AT_SUSPECTS: u32 = 2;

/// What every embedding model takes, so that a refusal of it is not about the text.
const HARMLESS: &str = "hello";

/// A model behind `POST {base_url}/embeddings`.
#[derive(Debug)]
pub(super) struct OpenAi {
    client: Client,
    query: Instruction,
    passage: Instruction,
    space: String,
    /// The dimension of the last vector; 0 before the first.
    dimension: AtomicUsize,
}

impl OpenAi {
    /// Prepares the client; nothing is sent before the first call.
    pub(super) fn new(
        endpoint: Endpoint,
        query: Instruction,
        passage: Instruction,
    ) -> Result<Self, SettingsError> {
        let client = Client::new(endpoint, "embeddings", MAX_REPLY_BYTES)?;
        let space = super::space(&query, &passage);
        Ok(Self { client, query, passage, space, dimension: AtomicUsize::new(0) })
    }

    fn instruction(&self, role: TextRole) -> &Instruction {
        match role {
            TextRole::Query => &self.query,
            TextRole::Passage => &self.passage,
        }
    }

    /// Asks once for the vectors of a batch; a text whose vector is none gets the complaint.
    async fn ask(
        &self,
        texts: &[Text<'_>],
        role: TextRole,
        deadline: Instant,
        max_attempts: u32,
    ) -> Result<Vec<Result<Embedding, String>>, EmbeddingError> {
        let Instruction { model, prefix } = self.instruction(role);
        let inputs: Vec<_> = texts.iter().map(|text| format!("{prefix}{}", text.text)).collect();
        let body = wire::Request::new(model, &inputs);
        let read = |reply: &[u8]| wire::parse_reply(reply, texts.len());
        let vectors = self.client.call(&body, deadline, max_attempts, read).await?;
        for vector in vectors.iter().flatten() {
            // The next call may have the new one: whoever holds vectors of the old one has been told.
            let expected = self.dimension.swap(vector.len(), Ordering::Relaxed);
            if expected != 0 && vector.len() != expected {
                let (at, found) = (self.client.at(), vector.len());
                return Err(EmbeddingError::Dimension { at, expected, found });
            }
        }
        let unit = |(vector, text): (Result<Vec<f32>, String>, &Text<'_>)| {
            let none = || "a vector has no direction".to_owned();
            vector.and_then(|vector| Embedding::unit(vector, text.is_cut).ok_or_else(none))
        };
        Ok(vectors.into_iter().zip(texts).map(unit).collect())
    }

    /// Fails when the endpoint does not even take a harmless text, so that no text is at fault.
    async fn probe(&self, role: TextRole, deadline: Instant) -> Result<(), EmbeddingError> {
        let harmless = [Text::new(HARMLESS)];
        let answer = self.ask(&harmless, role, deadline, ATTEMPTS_AT_SUSPECTS).await?;
        for vector in answer {
            vector.map_err(|complaint| Error::Malformed { at: self.client.at(), complaint })?;
        }
        Ok(())
    }
}

#[async_trait]
impl Embedder for OpenAi {
    /// A batch that the endpoint fails at is halved until the text is found that is too long or
    /// otherwise not to its liking; that one is cut shorter until it is taken, or given up.
    async fn embed(
        &self,
        texts: &[String],
        role: TextRole,
        deadline: Instant,
    ) -> Result<Vec<Embedding>, EmbeddingError> {
        let mut texts: Vec<_> = texts.iter().map(|text| Text::new(text)).collect();
        let mut embeddings: Vec<_> = texts.iter().map(|_| Embedding::Refused).collect();
        let mut batches = batches(&texts);
        let mut has_suspects = false;
        while let Some(batch) = batches.pop_front() {
            let attempts = if has_suspects { ATTEMPTS_AT_SUSPECTS } else { MAX_ATTEMPTS };
            let suspects = match self.ask(&texts[batch.clone()], role, deadline, attempts).await {
                Ok(answers) => {
                    let mut suspects = Vec::new();
                    for (index, answer) in batch.zip(answers) {
                        match answer {
                            Ok(embedding) => embeddings[index] = embedding,
                            Err(_) => suspects.push(index..index + 1),
                        }
                    }
                    suspects
                }
                Err(EmbeddingError::Call(err)) if may_be_about_texts(&err) => vec![batch],
                Err(err) => return Err(err),
            };
            if !suspects.is_empty() && !has_suspects {
                self.probe(role, deadline).await?;
                has_suspects = true;
            }
            for suspect in suspects.into_iter().rev() {
                let middle = suspect.start + suspect.len() / 2;
                if suspect.len() > 1 {
                    batches.push_front(middle..suspect.end);
                    batches.push_front(suspect.start..middle);
                } else if texts[suspect.start].halve() {
                    batches.push_front(suspect);
                } else {
                    // By now the endpoint may refuse everything, which is no fault of the text.
                    self.probe(role, deadline).await?;
                    tracing::debug!("the {} refuses one text and takes others", self.client.at());
                }
            }
        }
        Ok(embeddings)
    }

    fn space(&self) -> &str {
        &self.space
    }
}

/// Tells whether other texts may fare better: some servers answer 500 where they mean 400.
fn may_be_about_texts(err: &Error) -> bool {
    let Error::Refused { status, .. } = err else { return false };
    matches!(
        *status,
        StatusCode::BAD_REQUEST
            | StatusCode::PAYLOAD_TOO_LARGE
            | StatusCode::UNPROCESSABLE_ENTITY
            | StatusCode::INTERNAL_SERVER_ERROR
    )
}

/// Splits texts into runs that fit into one request each.
fn batches(texts: &[Text<'_>]) -> VecDeque<Range<usize>> {
    let mut batches = VecDeque::new();
    let (mut start, mut chars) = (0, 0);
    for (index, text) in texts.iter().enumerate() {
        let more = text.text.chars().count();
        if index > start && (index - start == MAX_BATCH_TEXTS || chars + more > MAX_BATCH_CHARS) {
            batches.push_back(start..index);
            (start, chars) = (index, 0);
        }
        chars += more;
    }
    if start < texts.len() {
        batches.push_back(start..texts.len());
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_bounded_by_texts_and_characters() {
        let (short, long) = ("a".to_owned(), "限".repeat(8_000));
        for (texts, expected) in [
            (vec![], vec![]),
            (vec![&short; 32], vec![32]),
            (vec![&short; 65], vec![32, 32, 1]),
            (vec![&long; 5], vec![2, 2, 1]),
        ] {
            let texts: Vec<_> = texts.into_iter().map(|text| Text::new(text)).collect();
            let batches = batches(&texts);
            assert_eq!(batches.iter().map(ExactSizeIterator::len).collect::<Vec<_>>(), expected);
            assert!(batches.into_iter().flatten().eq(0..texts.len()));
        }
    }
}
