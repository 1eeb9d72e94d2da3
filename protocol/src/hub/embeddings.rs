//! How far the hub's knowledge is embedded.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::words::words;

/// What goes on with embeddings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EmbeddingStage {
    /// No embedding model is configured; searches go by words alone.
    Off,
    /// The index of vectors is opened or built; searches go by words alone.
    Opening,
    /// Not every record has had a vector yet; searches go by words alone.
    Building,
    /// Searches go by vectors too; only fresh records may lack theirs.
    Current,
}

words! {
    EmbeddingStage in "stage":
    Off = "off",
    Opening = "opening",
    Building = "building",
    Current = "current",
}

/// How far the embedding is, as far as it costs nothing to tell; `GET /readyz` has it as `embedding`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EmbeddingProgress {
    /// The embedding space: the model, and what else decides which vector a text gets; empty when there is none.
    pub space: String,
    /// How many numbers a vector has; 0 before the first one.
    pub dimension: u32,
    /// What goes on.
    pub stage: EmbeddingStage,
    /// How many changed records are still to be looked at.
    pub remaining: u32,
    /// Why it does not go on at the moment; empty when it does.
    pub problem: String,
}

/// Answer to `GET /api/embeddings`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Embeddings {
    /// How far it is.
    #[serde(flatten)]
    pub progress: EmbeddingProgress,
    /// How many records there are.
    pub records: u32,
    /// Those that have a vector in this space.
    pub embedded: u32,
    /// Of these, those of which only the beginning was embedded, since the model takes no longer texts.
    pub cut: u32,
    /// Those whose text the model refuses; they are found by words.
    pub refused: u32,
}
