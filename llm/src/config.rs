//! The settings of the language model, shared by every program that can use one.

use std::net::IpAddr;
use std::sync::Arc;

use clap::Args;
use reqwest::Url;
use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

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
    /// `LLM_BASE_URL` is no URL of the web.
    #[error("LLM_BASE_URL must be an http:// or https:// URL such as {OPENROUTER_BASE_URL}")]
    BaseUrl,
    /// `LLM_BASE_URL` carries a user name or password.
    #[error("LLM_BASE_URL must not hold a user name or password; put the key into LLM_API_KEY")]
    Credentials,
    /// The key cannot stand in an HTTP header.
    #[error("{variable} must consist of visible ASCII characters")]
    Key {
        /// The variable that holds the key.
        variable: &'static str,
    },
    /// No HTTP client can be made on this machine.
    #[error("cannot prepare HTTPS for LLM_BASE_URL")]
    Client(#[source] reqwest::Error),
}

/// A checked endpoint: where a model is, how to get in, and its name.
#[derive(Debug)]
pub struct Endpoint {
    /// The URL before `/chat/completions`, without a slash at its end.
    pub(crate) base_url: String,
    /// The endpoint is on this machine.
    pub(crate) is_local: bool,
    /// The `Authorization` header, marked as sensitive.
    pub(crate) authorization: Option<HeaderValue>,
    /// The model's name.
    pub(crate) model: String,
}

impl Settings {
    /// Returns the model that the settings name, or `None` if they name none.
    pub fn model(&self) -> Result<Option<Arc<dyn ChatModel>>, SettingsError> {
        let Some(endpoint) = self.endpoint()? else { return Ok(None) };
        let model = OpenAi::new(endpoint).map_err(SettingsError::Client)?;
        Ok(Some(Arc::new(model)))
    }

    /// Returns the endpoint that the settings name, or `None` if they name none.
    pub fn endpoint(&self) -> Result<Option<Endpoint>, SettingsError> {
        let base_url = text(self.llm_base_url.as_deref());
        let llm_key = secret("LLM_API_KEY", self.llm_api_key.as_ref());
        let openrouter_key = secret("OPENROUTER_API_KEY", self.openrouter_api_key.as_ref());
        if base_url.is_none() && llm_key.is_none() && openrouter_key.is_none() {
            return Ok(None);
        }
        let url = parse_base_url(base_url.unwrap_or(OPENROUTER_BASE_URL))?;
        let at_openrouter = url.scheme() == "https" && url.host_str() == Some("openrouter.ai");
        let key = llm_key.or(openrouter_key.filter(|_| at_openrouter));
        Ok(Some(Endpoint {
            base_url: url.as_str().trim_end_matches('/').to_owned(),
            is_local: is_loopback(&url),
            authorization: key.map(authorization).transpose()?,
            model: text(self.llm_model.as_deref()).unwrap_or(DEFAULT_MODEL).to_owned(),
        }))
    }
}

/// A key together with the variable that it came from, so that an error can name it.
type NamedKey<'a> = (&'static str, &'a str);

fn text(value: Option<&str>) -> Option<&str> {
    value.map(str::trim).filter(|value| !value.is_empty())
}

fn secret<'a>(variable: &'static str, value: Option<&'a SecretString>) -> Option<NamedKey<'a>> {
    text(value.map(SecretString::expose_secret)).map(|key| (variable, key))
}

fn parse_base_url(text: &str) -> Result<Url, SettingsError> {
    let url = Url::parse(text).map_err(|_| SettingsError::BaseUrl)?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(SettingsError::BaseUrl);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(SettingsError::Credentials);
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(SettingsError::BaseUrl);
    }
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|addr| addr.is_loopback())
}

fn authorization((variable, key): NamedKey<'_>) -> Result<HeaderValue, SettingsError> {
    let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
        .ok()
        .filter(|_| key.bytes().all(|byte| byte.is_ascii_graphic()))
        .ok_or(SettingsError::Key { variable })?;
    value.set_sensitive(true);
    Ok(value)
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
        let client = OpenAi::new(settings.endpoint().expect("valid").expect("set")).expect("TLS");
        assert!(!format!("{settings:?} {client:?}").contains("very-secret"));
    }
}
