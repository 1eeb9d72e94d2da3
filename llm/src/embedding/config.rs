//! The settings of the embedding model.

use std::path::PathBuf;

use clap::Args;
use secrecy::SecretString;

/// The endpoint used when only a key is set.
pub const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

/// The model used at an endpoint when none is named.
pub const DEFAULT_MODEL: &str = "text-embedding-3-small";

/// Which embedding model to use; with neither a URL, a key nor a folder there is none.
///
/// An empty value counts as unset, and an endpoint goes before a folder.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Embedding model (optional)")]
pub struct Settings {
    /// An OpenAI-compatible endpoint, up to and without `/embeddings` [default: OpenAI once a key
    /// is set]
    #[arg(long, env = "EMBEDDING_BASE_URL", value_name = "EMBEDDING_BASE_URL")]
    pub embedding_base_url: Option<String>,

    /// The endpoint's key; a local server usually needs none
    #[arg(
        long,
        env = "EMBEDDING_API_KEY",
        value_name = "EMBEDDING_API_KEY",
        hide_env_values = true
    )]
    pub embedding_api_key: Option<SecretString>,

    /// The model's name at that endpoint [default: text-embedding-3-small]
    #[arg(long, env = "EMBEDDING_MODEL", value_name = "EMBEDDING_MODEL")]
    pub embedding_model: Option<String>,

    /// The model's name for queries, where a server tells them from passages by the name [default:
    /// `EMBEDDING_MODEL`]
    #[arg(long, env = "EMBEDDING_QUERY_MODEL", value_name = "EMBEDDING_QUERY_MODEL")]
    pub embedding_query_model: Option<String>,

    /// What the model wants before each query, such as `query: ` with its space
    #[arg(long, env = "EMBEDDING_QUERY_PREFIX", value_name = "EMBEDDING_QUERY_PREFIX")]
    pub embedding_query_prefix: Option<String>,

    /// What the model wants before each passage, such as `passage: ` with its space
    #[arg(long, env = "EMBEDDING_PASSAGE_PREFIX", value_name = "EMBEDDING_PASSAGE_PREFIX")]
    pub embedding_passage_prefix: Option<String>,

    /// A folder with a model of the BERT family, used where no endpoint is set; needs a hub that
    /// was built with the feature `local-embeddings`
    #[arg(long, env = "EMBEDDING_MODEL_DIR", value_name = "EMBEDDING_MODEL_DIR")]
    pub embedding_model_dir: Option<PathBuf>,
}
