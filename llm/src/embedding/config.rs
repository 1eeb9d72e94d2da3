//! The settings of the embedding model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use clap::builder::{OsStringValueParser, TypedValueParser};
use secrecy::SecretString;

use super::{Embedder, Instruction, openai::OpenAi};
use crate::config::{self, secret, text};
use crate::endpoint::{Endpoint, parse_base_url};
use crate::error::Service;

/// The endpoint used when only a key is set.
pub const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

/// The model used at an endpoint when none is named.
pub const DEFAULT_MODEL: &str = "text-embedding-3-small";

/// Which embedding model to use; with neither a URL, a key nor a folder there is none.
///
/// An empty value counts as unset, and an endpoint goes before a folder.
#[derive(Args, Clone, Debug, Default)]
// Two groups of one name, that of the type, stop the start where both are flattened.
#[group(skip)]
#[command(next_help_heading = "Embedding model (optional)")]
// clap names a group after its type, and the chat model's settings have the same name.
#[group(id = "embedding_settings")]
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
    #[arg(
        long,
        env = "EMBEDDING_MODEL_DIR",
        value_name = "EMBEDDING_MODEL_DIR",
        value_parser = OsStringValueParser::new().map(PathBuf::from)
    )]
    pub embedding_model_dir: Option<PathBuf>,
}

/// A setting that cannot be used; the text names the variable and what would be right.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The endpoint's settings are wrong.
    #[error(transparent)]
    Endpoint(#[from] config::SettingsError),
    /// A setting of a model is there, and none that says where the model is.
    #[error(
        "{variable} is set without EMBEDDING_BASE_URL, EMBEDDING_API_KEY or EMBEDDING_MODEL_DIR; \
         set one of them, or unset it"
    )]
    Alone {
        /// The setting that is there.
        variable: &'static str,
    },
    /// The program was built without what a local model needs.
    #[error(
        "EMBEDDING_MODEL_DIR needs a program that was built with local models: \
         cargo build --release -p knowhub-server --features local-embeddings"
    )]
    NotBuilt,
    /// A file of the model's folder is missing, broken, or of a kind that is not known.
    #[error("EMBEDDING_MODEL_DIR: cannot use {}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Settings {
    /// Returns the model that the settings name, or `None` if they name none.
    ///
    /// An endpoint is not asked for anything yet; a folder is read, which takes seconds.
    pub fn embedder(&self) -> Result<Option<Arc<dyn Embedder>>, SettingsError> {
        let base_url = text(self.embedding_base_url.as_deref());
        let key = secret("EMBEDDING_API_KEY", self.embedding_api_key.as_ref());
        if base_url.is_some() || key.is_some() {
            let base_url =
                parse_base_url(Service::Embeddings, base_url.unwrap_or(OPENAI_BASE_URL))?;
            let endpoint = Endpoint::new(Service::Embeddings, &base_url, key)?;
            let model = text(self.embedding_model.as_deref()).unwrap_or(DEFAULT_MODEL);
            let query_model = text(self.embedding_query_model.as_deref()).unwrap_or(model);
            let query = instruction(query_model, self.embedding_query_prefix.as_deref());
            let passage = instruction(model, self.embedding_passage_prefix.as_deref());
            return Ok(Some(Arc::new(OpenAi::new(endpoint, query, passage)?)));
        }
        let folder = self.embedding_model_dir.clone().filter(|dir| !dir.as_os_str().is_empty());
        match folder {
            Some(folder) => self.local(&folder).map(Some),
            None => self.none(),
        }
    }

    #[cfg(feature = "local-embeddings")]
    fn local(&self, folder: &Path) -> Result<Arc<dyn Embedder>, SettingsError> {
        let query = self.embedding_query_prefix.as_deref();
        let passage = self.embedding_passage_prefix.as_deref();
        let local = super::local::Local::load(folder, |model| {
            (instruction(model, query), instruction(model, passage))
        })?;
        Ok(Arc::new(local))
    }

    #[cfg(not(feature = "local-embeddings"))]
    #[expect(clippy::unused_self, reason = "as where local models are built in")]
    fn local(&self, _: &Path) -> Result<Arc<dyn Embedder>, SettingsError> {
        Err(SettingsError::NotBuilt)
    }

    /// Says so when settings are there that nothing would use.
    fn none(&self) -> Result<Option<Arc<dyn Embedder>>, SettingsError> {
        let others = [
            ("EMBEDDING_MODEL", &self.embedding_model),
            ("EMBEDDING_QUERY_MODEL", &self.embedding_query_model),
            ("EMBEDDING_QUERY_PREFIX", &self.embedding_query_prefix),
            ("EMBEDDING_PASSAGE_PREFIX", &self.embedding_passage_prefix),
        ];
        match others.into_iter().find(|(_, value)| text(value.as_deref()).is_some()) {
            Some((variable, _)) => Err(SettingsError::Alone { variable }),
            None => Ok(None),
        }
    }
}

/// A prefix is taken as it is, since the space at its end belongs to it.
fn instruction(model: &str, prefix: Option<&str>) -> Instruction {
    let prefix = prefix.filter(|prefix| !prefix.trim().is_empty()).unwrap_or_default();
    Instruction { model: model.to_owned(), prefix: prefix.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(base_url: &str, key: &str, folder: &str) -> Settings {
        Settings {
            embedding_base_url: Some(base_url.to_owned()),
            embedding_api_key: Some(key.to_owned().into()),
            embedding_model: Some(String::new()),
            embedding_query_model: Some(String::new()),
            embedding_query_prefix: Some(String::new()),
            embedding_passage_prefix: Some(String::new()),
            embedding_model_dir: Some(folder.into()),
        }
    }

    #[test]
    fn what_is_set_decides_where_the_model_is() {
        for (base_url, key, place) in [
            ("", "a", Some(OPENAI_BASE_URL)),
            ("http://127.0.0.1:8080/v1/", "", Some("http://127.0.0.1:8080/v1")),
            ("", "", None),
        ] {
            // An endpoint goes before a folder, so that this one is not looked for.
            let folder = if place.is_some() { "absent" } else { "" };
            let embedder = settings(base_url, key, folder).embedder().expect("valid");
            let found = embedder.as_ref().map(|embedder| format!("{embedder:?}"));
            match (place, found) {
                (Some(place), Some(found)) => assert!(found.contains(&format!("\"{place}\""))),
                (place, found) => assert_eq!(found.as_deref(), place),
            }
            if let Some(embedder) = embedder {
                assert_eq!(embedder.space(), DEFAULT_MODEL);
            }
        }
    }

    #[test]
    fn names_and_prefixes_are_told_apart_by_role() {
        let settings = Settings {
            embedding_model: Some("e5-passage".to_owned()),
            embedding_query_model: Some(" e5-query ".to_owned()),
            embedding_query_prefix: Some("query: ".to_owned()),
            ..settings("http://localhost:1/v1", "", "")
        };
        let embedder = settings.embedder().expect("valid").expect("set");
        let expected = "e5-passage, queries by e5-query, queries after \"query: \"";
        assert_eq!(embedder.space(), expected);
    }

    #[test]
    fn a_bad_value_names_its_variable() {
        let prefix_alone =
            Settings { embedding_query_prefix: Some("query: ".to_owned()), ..settings("", "", "") };
        for (settings, variable) in [
            (settings("localhost:8080", "", ""), "EMBEDDING_BASE_URL"),
            (settings("https://me:secret@host/v1", "", ""), "EMBEDDING_BASE_URL"),
            (settings("", "secret\nsecret", ""), "EMBEDDING_API_KEY"),
            (settings("", "", "absent"), "EMBEDDING_MODEL_DIR"),
            (prefix_alone, "EMBEDDING_QUERY_PREFIX"),
        ] {
            let message = settings.embedder().expect_err("invalid").to_string();
            assert!(message.starts_with(variable), "{message}");
            assert!(!message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn debug_output_hides_the_key() {
        let settings = settings("", "sk-very-secret", "");
        let embedder = settings.embedder().expect("valid");
        assert!(!format!("{settings:?} {embedder:?}").contains("very-secret"));
    }
}
