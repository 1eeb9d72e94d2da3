//! The settings of the language model, shared by every program that can use one, and how settings are wrong.

use std::sync::Arc;

use clap::Args;
use secrecy::{ExposeSecret, SecretString};

use crate::endpoint::{Endpoint, NamedKey, parse_base_url};
use crate::error::Service;
use crate::{ChatModel, OpenAi};

/// The endpoint used when only a key is set.
pub const OPENROUTER_BASE_URL: &str = "https://openrouter.ai/api/v1";

/// The model used when none is named.
pub const DEFAULT_MODEL: &str = "google/gemini-2.5-flash-lite";

/// Which language model to use; with neither a URL nor a key there is none.
///
/// An empty value counts as unset.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Language model (optional)")]
pub struct Settings {
    /// An OpenAI-compatible endpoint, up to and without `/chat/completions` [default: OpenRouter
    /// once a key is set]
    #[arg(long, env = "LLM_BASE_URL", value_name = "LLM_BASE_URL")]
    pub llm_base_url: Option<String>,

    /// The endpoint's key; a local server usually needs none
    #[arg(long, env = "LLM_API_KEY", value_name = "LLM_API_KEY", hide_env_values = true)]
    pub llm_api_key: Option<SecretString>,

    /// A key for OpenRouter; used if `LLM_API_KEY` is unset, and sent to openrouter.ai alone
    #[arg(
        long,
        env = "OPENROUTER_API_KEY",
        value_name = "OPENROUTER_API_KEY",
        hide_env_values = true
    )]
    pub openrouter_api_key: Option<SecretString>,

    /// The model's name at that endpoint [default: google/gemini-2.5-flash-lite]
    #[arg(long, env = "LLM_MODEL", value_name = "LLM_MODEL")]
    pub llm_model: Option<String>,
}

/// A setting that cannot be used; the text names the variable and what would be right.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The base URL is no URL of the web.
    #[error(
        "{} must be an http:// or https:// URL such as {}",
        service.base_url_variable(),
        service.default_base_url()
    )]
    BaseUrl {
        /// Whose base URL it is.
        service: Service,
    },
    /// The base URL carries a user name or password.
    #[error(
        "{} must not hold a user name or password; put the key into {}",
        service.base_url_variable(),
        service.key_variable()
    )]
    Credentials {
        /// Whose base URL it is.
        service: Service,
    },
    /// The key cannot stand in an HTTP header.
    #[error("{variable} must consist of visible ASCII characters")]
    Key {
        /// The variable that holds the key.
        variable: &'static str,
    },
    /// No HTTP client can be made on this machine.
    #[error("cannot prepare HTTPS for {}", service.base_url_variable())]
    Client {
        /// Whose client it would be.
        service: Service,
        /// What the HTTP library says.
        #[source]
        source: reqwest::Error,
    },
}

impl Settings {
    /// Returns the model that the settings name, or `None` if they name none.
    pub fn model(&self) -> Result<Option<Arc<dyn ChatModel>>, SettingsError> {
        let Some(endpoint) = self.endpoint()? else { return Ok(None) };
        let name = text(self.llm_model.as_deref()).unwrap_or(DEFAULT_MODEL).to_owned();
        Ok(Some(Arc::new(OpenAi::new(endpoint, name)?)))
    }

    fn endpoint(&self) -> Result<Option<Endpoint>, SettingsError> {
        let base_url = text(self.llm_base_url.as_deref());
        let llm_key = secret("LLM_API_KEY", self.llm_api_key.as_ref());
        let openrouter_key = secret("OPENROUTER_API_KEY", self.openrouter_api_key.as_ref());
        if base_url.is_none() && llm_key.is_none() && openrouter_key.is_none() {
            return Ok(None);
        }
        let url = parse_base_url(Service::Chat, base_url.unwrap_or(OPENROUTER_BASE_URL))?;
        let at_openrouter = url.scheme() == "https" && url.host_str() == Some("openrouter.ai");
        let key = llm_key.or(openrouter_key.filter(|_| at_openrouter));
        Endpoint::new(Service::Chat, &url, key).map(Some)
    }
}

/// Returns the value of a setting, unless it is empty.
pub(crate) fn text(value: Option<&str>) -> Option<&str> {
    value.map(str::trim).filter(|value| !value.is_empty())
}

/// Returns the value of a secret setting, unless it is empty.
pub(crate) fn secret<'a>(
    variable: &'static str,
    value: Option<&'a SecretString>,
) -> Option<NamedKey<'a>> {
    text(value.map(SecretString::expose_secret)).map(|key| (variable, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(base_url: &str, llm_key: &str, openrouter_key: &str) -> Settings {
        Settings {
            llm_base_url: Some(base_url.to_owned()),
            llm_api_key: Some(llm_key.to_owned().into()),
            openrouter_api_key: Some(openrouter_key.to_owned().into()),
            llm_model: Some(String::new()),
        }
    }

    #[test]
    fn what_is_set_decides_where_and_with_which_key() {
        let local = "http://127.0.0.1:8080/v1";
        for (base_url, llm_key, openrouter_key, expected) in [
            ("", "", "", None),
            ("", "a", "", Some((OPENROUTER_BASE_URL, Some("Bearer a")))),
            ("", "", "b", Some((OPENROUTER_BASE_URL, Some("Bearer b")))),
            ("", "a", "b", Some((OPENROUTER_BASE_URL, Some("Bearer a")))),
            ("http://127.0.0.1:8080/v1/", "", "", Some((local, None))),
            (local, "a", "b", Some((local, Some("Bearer a")))),
            (local, "", "b", Some((local, None))),
            (OPENROUTER_BASE_URL, " ", "b", Some((OPENROUTER_BASE_URL, Some("Bearer b")))),
        ] {
            let endpoint = settings(base_url, llm_key, openrouter_key).endpoint().expect("valid");
            let found = endpoint.as_ref().map(|endpoint| {
                let key = endpoint.authorization.as_ref();
                (endpoint.base_url.as_str(), key.map(|key| key.to_str().expect("ASCII")))
            });
            assert_eq!(found, expected, "{base_url:?} {llm_key:?} {openrouter_key:?}");
        }
    }

    #[test]
    fn a_bad_value_names_its_variable() {
        for (base_url, llm_key, openrouter_key, variable) in [
            ("localhost:8080", "", "", "LLM_BASE_URL"),
            ("ftp://host/v1", "", "", "LLM_BASE_URL"),
            ("https://me:secret@host/v1", "", "", "LLM_BASE_URL"),
            ("https://host/v1?key=secret", "", "", "LLM_BASE_URL"),
            ("", "secret\nsecret", "", "LLM_API_KEY"),
            ("", "", "secret 密", "OPENROUTER_API_KEY"),
        ] {
            let err = settings(base_url, llm_key, openrouter_key).endpoint().expect_err("invalid");
            let message = err.to_string();
            assert!(message.starts_with(variable), "{message}");
            assert!(!message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn debug_output_hides_the_key() {
        let settings = settings("", "sk-very-secret", "");
        let endpoint = settings.endpoint().expect("valid").expect("set");
        let client = OpenAi::new(endpoint, "tiny".to_owned()).expect("TLS");
        assert!(!format!("{settings:?} {client:?}").contains("very-secret"));
    }
}
