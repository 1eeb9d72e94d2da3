//! How a completion can fail.

use std::time::Duration;

use reqwest::StatusCode;

/// Why there is no reply.
///
/// The texts name the endpoint, and contain neither the key nor anything of the chat.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The endpoint could not be reached, or the connection broke before the reply was complete.
    #[error("cannot reach the model at {base_url}")]
    Transport {
        /// The endpoint asked.
        base_url: String,
        /// What the HTTP client says.
        #[source]
        source: reqwest::Error,
    },
    /// The endpoint refused.
    #[error("the model at {base_url} answered {status}{}", advice(*.status))]
    Refused {
        /// The endpoint asked.
        base_url: String,
        /// The HTTP status, or the one that the provider put into its error object.
        status: StatusCode,
        /// The beginning of the provider's own message, which may repeat the prompt.
        excerpt: String,
    },
    /// The deadline passed before a reply was there.
    #[error("the model at {base_url} gave no reply within {} ms", waited.as_millis())]
    Deadline {
        /// The endpoint asked.
        base_url: String,
        /// How long the call took, retries included.
        waited: Duration,
    },
    /// The reply is larger than the client reads.
    #[error("the model at {base_url} sent a reply of more than {limit_bytes} bytes")]
    TooLarge {
        /// The endpoint asked.
        base_url: String,
        /// The bound that was passed.
        limit_bytes: usize,
    },
    /// The reply is not a chat completion.
    #[error("the model at {base_url} sent no chat completion: {complaint}")]
    Malformed {
        /// The endpoint asked.
        base_url: String,
        /// What is wrong with it.
        complaint: String,
    },
}

/// Returns which setting a status speaks of, where it speaks of one.
fn advice(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "; check LLM_API_KEY",
        StatusCode::PAYMENT_REQUIRED => "; the account has no credit left",
        StatusCode::NOT_FOUND => "; check LLM_BASE_URL and LLM_MODEL",
        _ => "",
    }
}
