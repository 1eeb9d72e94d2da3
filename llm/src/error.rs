//! How a completion can fail.

use std::time::Duration;

use reqwest::StatusCode;

/// Why there is no reply.
///
/// The texts name the endpoint and never contain the key.
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
    #[error("the model at {base_url} answered {status}: {excerpt}")]
    Refused {
        /// The endpoint asked.
        base_url: String,
        /// The HTTP status, or the one that the provider put into its error object.
        status: StatusCode,
        /// The beginning of the provider's own message.
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
