//! An embedding model whose vectors and faults a test decides.

use std::fmt;
use std::future::pending;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::time::{Instant, timeout_at};

use super::PLACE;
use crate::embedding::{Embedder, Embedding, EmbeddingError, TextRole};
use crate::error::{Address, Error, Service};

/// What every call meets while it is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Fails at once, as an endpoint would that sends no embeddings.
    Fail,
    /// Never answers, so that the deadline passes.
    Hang,
    /// Fails as when the endpoint's model was changed for one of another dimension.
    Dimension,
}

/// An [`Embedder`] that gives each text what a function says, and remembers what it was asked.
pub struct Embeddings {
    space: String,
    embed: Box<Embed>,
    fault: Mutex<Option<Fault>>,
    calls: Mutex<Vec<Call>>,
}

type Embed = dyn Fn(&str, TextRole) -> Embedding + Send + Sync;

/// One call of [`Embeddings`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What was to be embedded.
    pub texts: Vec<String>,
    /// What the texts were said to be.
    pub role: TextRole,
}

impl Embeddings {
    /// A model whose embedding of a text follows from the text and its role.
    pub fn new(
        space: impl Into<String>,
        embed: impl Fn(&str, TextRole) -> Embedding + Send + Sync + 'static,
    ) -> Self {
        Self {
            space: space.into(),
            embed: Box::new(embed),
            fault: Mutex::default(),
            calls: Mutex::default(),
        }
    }

    /// A model for which texts are the nearer the more words they share, in whatever role.
    ///
    /// A word is what stands between spaces, and a character beyond ASCII is one by itself.
    pub fn of_words(space: impl Into<String>, dimension: usize) -> Self {
        Self::new(space, move |text, _| {
            let mut vector = vec![0.0; dimension];
            // Even a text without words has a vector.
            vector[0] = 0.01;
            for word in words(text) {
                vector[hash(&word) as usize % dimension] += 1.0;
            }
            Embedding::unit(vector, false).expect("the first number is not zero")
        })
    }

    /// Lets every call from now on meet a fault, or none any more.
    pub fn set_fault(&self, fault: Option<Fault>) {
        *lock(&self.fault) = fault;
    }

    /// Returns what the model was asked so far, oldest first, faults included.
    pub fn calls(&self) -> Vec<Call> {
        lock(&self.calls).clone()
    }
}

impl fmt::Debug for Embeddings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embeddings").field("space", &self.space).finish_non_exhaustive()
    }
}

#[async_trait]
impl Embedder for Embeddings {
    async fn embed(
        &self,
        texts: &[String],
        role: TextRole,
        deadline: Instant,
    ) -> Result<Vec<Embedding>, EmbeddingError> {
        let started = Instant::now();
        lock(&self.calls).push(Call { texts: texts.to_vec(), role });
        let at = Address { service: Service::Embeddings, place: PLACE.to_owned() };
        let fault = *lock(&self.fault);
        match fault {
            None => Ok(texts.iter().map(|text| (self.embed)(text, role)).collect()),
            Some(Fault::Fail) => {
                Err(Error::Malformed { at, complaint: "the script says so".to_owned() }.into())
            }
            Some(Fault::Hang) => {
                let _ = timeout_at(deadline, pending::<()>()).await;
                Err(Error::Deadline { at, waited: started.elapsed() }.into())
            }
            Some(Fault::Dimension) => {
                Err(EmbeddingError::Dimension { at, expected: 384, found: 768 })
            }
        }
    }

    fn space(&self) -> &str {
        &self.space
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split_whitespace().flat_map(|run| {
        let ascii: String = run.chars().filter(char::is_ascii_alphanumeric).collect();
        let others = run.chars().filter(|c| !c.is_ascii()).map(String::from);
        let ascii = Some(ascii.to_lowercase()).filter(|word| !word.is_empty());
        ascii.into_iter().chain(others.collect::<Vec<_>>())
    })
}

/// FNV-1a, which is the same in every run and on every machine.
fn hash(word: &str) -> u64 {
    word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn cosine(a: &Embedding, b: &Embedding) -> f32 {
        let (Embedding::Vector { vector: a, .. }, Embedding::Vector { vector: b, .. }) = (a, b)
        else {
            panic!("{a:?} and {b:?} should be vectors")
        };
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[tokio::test]
    async fn shared_words_make_texts_near() {
        let model = Embeddings::of_words("words", 256);
        let texts = ["read tables from PDF", "tables in a PDF, read", "从表格读取", "读取表格", ""];
        let texts = texts.map(str::to_owned);
        let deadline = Instant::now() + Duration::from_secs(5);
        let vectors = model.embed(&texts, TextRole::Passage, deadline).await.expect("vectors");
        assert!(cosine(&vectors[0], &vectors[1]) > 0.5);
        assert!(cosine(&vectors[2], &vectors[3]) > 0.5);
        assert!(cosine(&vectors[0], &vectors[3]) < 0.2);
        assert_eq!(model.calls(), [Call { texts: texts.to_vec(), role: TextRole::Passage }]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_fault_lasts_until_it_is_taken_back() {
        let model = Embeddings::new("none", |_, _| Embedding::Refused);
        let texts = ["a".to_owned()];
        let ask = || model.embed(&texts, TextRole::Query, Instant::now() + Duration::from_secs(5));
        model.set_fault(Some(Fault::Hang));
        let err = ask().await.expect_err("hangs");
        let waited = Duration::from_secs(5);
        assert!(
            matches!(&err, EmbeddingError::Call(Error::Deadline { waited: w, .. }) if *w == waited),
            "{err}"
        );
        model.set_fault(Some(Fault::Dimension));
        ask().await.expect_err("of another dimension");
        model.set_fault(None);
        assert_eq!(ask().await.expect("no fault"), [Embedding::Refused]);
        assert_eq!(model.calls().len(), 3);
    }
}
