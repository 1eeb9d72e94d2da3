//! What is asked of an embedding model and what it answers, independent of where the model is.

use async_trait::async_trait;
use tokio::time::Instant;

use crate::error::{Address, Error};

pub mod config;
#[cfg(feature = "local-embeddings")]
mod local;
mod openai;
mod text;

pub use config::Settings;

/// The most characters of a text that are embedded; of a longer one the rest is cut, and its
/// [`Embedding`] says so.
pub const MAX_TEXT_CHARS: usize = 8_000;

/// A model that turns texts into vectors, near each other where the texts mean the same.
///
/// Callers hold an `Arc<dyn Embedder>`, so that tests can put [`crate::scripted::Embeddings`] in
/// the place of a model.
#[async_trait]
pub trait Embedder: std::fmt::Debug + Send + Sync {
    /// Embeds texts, each to a vector of unit length, in their order, all of one dimension.
    ///
    /// It splits them into batches, and tries again what may pass, or fails no later than
    /// `deadline`; then nothing of the call is kept.
    async fn embed(
        &self,
        texts: &[String],
        role: TextRole,
        deadline: Instant,
    ) -> Result<Vec<Embedding>, EmbeddingError>;

    /// Names what decides which vector a text gets, apart from its dimension: model and prefixes.
    ///
    /// Vectors of other spaces cannot be compared.
    fn space(&self) -> &str;
}

/// What a text is to its search; some models want to be told by a prefix or by another name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRole {
    /// It asks.
    Query,
    /// It may answer.
    Passage,
}

/// What became of one text.
#[derive(Clone, Debug, PartialEq)]
pub enum Embedding {
    /// The text has a vector.
    Vector {
        /// The vector, of unit length.
        vector: Vec<f32>,
        /// The text was longer than the model takes, and only its beginning was embedded.
        is_cut: bool,
    },
    /// The endpoint refuses this very text however short it is cut, while it takes others.
    Refused,
}

impl Embedding {
    /// Scales a vector to unit length; `None` when it has none, or holds what is no number.
    pub fn unit(mut vector: Vec<f32>, is_cut: bool) -> Option<Self> {
        let square: f64 = vector.iter().map(|value| f64::from(*value).powi(2)).sum();
        let length = square.sqrt();
        if !length.is_finite() || length == 0.0 {
            return None;
        }
        for value in &mut vector {
            *value = (f64::from(*value) / length) as f32;
        }
        Some(Self::Vector { vector, is_cut })
    }
}

/// How the texts of one role are put to a model.
#[derive(Clone, Debug)]
struct Instruction {
    /// The model's name.
    model: String,
    /// What stands before each text; may be empty.
    prefix: String,
}

/// Names the space of a model that is put to work like this.
///
/// What is said of queries belongs to it: what a cosine means depends on both sides.
fn space(query: &Instruction, passage: &Instruction) -> String {
    let mut space = vec![passage.model.clone()];
    if query.model != passage.model {
        space.push(format!("queries by {}", query.model));
    }
    for (role, Instruction { prefix, .. }) in [("queries", query), ("passages", passage)] {
        if !prefix.is_empty() {
            space.push(format!("{role} after {prefix:?}"));
        }
    }
    space.join(", ")
}

/// Why there are no vectors; like [`enum@Error`] it says nothing of key and texts.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddingError {
    /// The model was not reached, refused, was too slow, or sent no vectors.
    #[error(transparent)]
    Call(#[from] Error),
    /// The vectors have another dimension than those that came before.
    #[error(
        "the {at} sends vectors of {found} numbers, and sent {expected} before; \
         the model was changed"
    )]
    Dimension {
        /// The model asked.
        at: Address,
        /// The dimension of every vector until now.
        expected: usize,
        /// The dimension of this one.
        found: usize,
    },
    /// A local model failed at its computation.
    #[error("the {at} cannot embed")]
    Computation {
        /// The model asked.
        at: Address,
        /// What the library says.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_is_named_after_all_that_decides_a_vector() {
        let put = |model: &str, prefix: &str| Instruction {
            model: model.to_owned(),
            prefix: prefix.to_owned(),
        };
        assert_eq!(space(&put("m", ""), &put("m", "")), "m");
        assert_eq!(space(&put("q", ""), &put("p", "")), "p, queries by q");
        let expected = r#"m, queries after "query: ", passages after "passage: ""#;
        assert_eq!(space(&put("m", "query: "), &put("m", "passage: ")), expected);
    }

    #[test]
    fn vectors_get_unit_length_or_none() {
        let unit = Embedding::unit(vec![3.0, -4.0], true);
        assert_eq!(unit, Some(Embedding::Vector { vector: vec![0.6, -0.8], is_cut: true }));
        let large = Embedding::unit(vec![f32::MAX, 0.0], false);
        assert_eq!(large, Some(Embedding::Vector { vector: vec![1.0, 0.0], is_cut: false }));
        for none in [vec![], vec![0.0, 0.0], vec![1.0, f32::NAN], vec![f32::INFINITY]] {
            assert_eq!(Embedding::unit(none.clone(), false), None, "{none:?}");
        }
    }
}
