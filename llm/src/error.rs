//! How a call of a model can fail.

use std::fmt;
use std::time::Duration;

use reqwest::StatusCode;

/// Why there is no reply.
///
/// The texts name the model's place, and contain neither the key nor anything that was sent.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The endpoint could not be reached, or the connection broke before the reply was complete.
    #[error("cannot reach the {at}")]
    Transport {
        /// The model asked.
        at: Address,
        /// What the HTTP client says.
        #[source]
        source: reqwest::Error,
    },
    /// The endpoint refused.
    #[error("the {at} answered {status}{}", at.service.advice(*.status))]
    Refused {
        /// The model asked.
        at: Address,
        /// The HTTP status, or the one that the provider put into its error object.
        status: StatusCode,
        /// The beginning of the provider's own message, which may repeat what was sent.
        excerpt: String,
        /// How long the provider wants to be left alone, where it says so.
        retry_after: Option<Duration>,
    },
    /// The deadline passed before a reply was there.
    #[error("the {at} gave no reply within {} ms", waited.as_millis())]
    Deadline {
        /// The model asked.
        at: Address,
        /// How long the call took, retries included.
        waited: Duration,
    },
    /// The reply is larger than the client reads.
    #[error("the {at} sent a reply of more than {limit_bytes} bytes")]
    TooLarge {
        /// The model asked.
        at: Address,
        /// The bound that was passed.
        limit_bytes: usize,
    },
    /// The reply is not what was asked for.
    #[error("the {at} sent no {}: {complaint}", at.service.reply())]
    Malformed {
        /// The model asked.
        at: Address,
        /// What is wrong with it.
        complaint: String,
    },
}

impl Error {
    /// Returns how long the provider wants to be left alone, where it says so; a day at most.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// Which of the models a call is about, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// What it is asked for.
    pub service: Service,
    /// Its base URL, or its folder.
    pub place: String,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.service {
            Service::Chat => write!(f, "model at {}", self.place),
            Service::Embeddings => write!(f, "embedding model at {}", self.place),
        }
    }
}

/// What a model is asked for; its errors name the settings of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Chat completions, set up by the `LLM_…` variables.
    Chat,
    /// Embeddings, set up by the `EMBEDDING_…` variables.
    Embeddings,
}

impl Service {
    /// Returns the variable that holds the base URL.
    pub(crate) fn base_url_variable(self) -> &'static str {
        match self {
            Self::Chat => "LLM_BASE_URL",
            Self::Embeddings => "EMBEDDING_BASE_URL",
        }
    }

    /// Returns the base URL where only a key is set.
    pub(crate) fn default_base_url(self) -> &'static str {
        match self {
            Self::Chat => crate::config::OPENROUTER_BASE_URL,
            Self::Embeddings => crate::embedding::config::OPENAI_BASE_URL,
        }
    }

    /// Returns the variable that holds the key.
    pub(crate) fn key_variable(self) -> &'static str {
        match self {
            Self::Chat => "LLM_API_KEY",
            Self::Embeddings => "EMBEDDING_API_KEY",
        }
    }

    /// Returns what a reply is called.
    fn reply(self) -> &'static str {
        match self {
            Self::Chat => "chat completion",
            Self::Embeddings => "embeddings",
        }
    }

    /// Returns which setting a status speaks of, where it speaks of one.
    fn advice(self, status: StatusCode) -> String {
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                format!("; check {}", self.key_variable())
            }
            StatusCode::PAYMENT_REQUIRED => "; the account has no credit left".to_owned(),
            StatusCode::NOT_FOUND => {
                format!("; check {} and {}", self.base_url_variable(), self.model_variable())
            }
            _ => String::new(),
        }
    }

    fn model_variable(self) -> &'static str {
        match self {
            Self::Chat => "LLM_MODEL",
            Self::Embeddings => "EMBEDDING_MODEL",
        }
    }
}
