//! The client for OpenAI-compatible endpoints: one call, bounded in time, size and attempts.

use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Response, StatusCode};
use tokio::time::{Instant, sleep, timeout_at};

use crate::config::Endpoint;
use crate::{ChatModel, ChatReply, ChatRequest, Error, retry};

mod wire;

/// The largest reply that is read; of a larger one the caller gets an error and no text.
pub const MAX_REPLY_BYTES: usize = 4 * 1024 * 1024;

/// How long a connection may take to be made; a slower endpoint counts as unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A model behind `POST {base_url}/chat/completions`.
///
/// It follows no redirects, so that a key never travels to a host that the settings do not name.
#[derive(Debug)]
pub struct OpenAi {
    http: reqwest::Client,
    base_url: String,
    authorization: Option<HeaderValue>,
    model: String,
}

impl OpenAi {
    /// Prepares the client; nothing is sent before the first call.
    ///
    /// A model on this machine is never sought behind a proxy, whatever the environment says.
    pub fn new(endpoint: Endpoint) -> Result<Self, reqwest::Error> {
        let Endpoint { base_url, is_local, authorization, model } = endpoint;
        let mut http = reqwest::Client::builder()
            .redirect(Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("knowhub/", env!("CARGO_PKG_VERSION")));
        if is_local {
            http = http.no_proxy();
        }
        Ok(Self { http: http.build()?, base_url, authorization, model })
    }

    async fn attempt(&self, body: &wire::Request<'_>) -> Result<ChatReply, Failure> {
        let mut request = self.http.post(format!("{}/chat/completions", self.base_url)).json(body);
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        let response = request.send().await.map_err(|err| self.transport(err))?;
        let status = response.status();
        let retry_after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok())
            .and_then(retry::parse_retry_after);
        let body = self.read(response).await?;
        if !status.is_success() {
            return Err(self.refused(status, retry_after, wire::error_message(&body)));
        }
        match wire::parse_reply(&body) {
            Ok(reply) => Ok(reply),
            Err(wire::NoReply::Refused { status, message }) => {
                Err(self.refused(status, retry_after, message))
            }
            Err(wire::NoReply::Malformed(complaint)) => {
                Err(Failure::last(Error::Malformed { base_url: self.base_url.clone(), complaint }))
            }
        }
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|err| self.transport(err))? {
            if body.len() + chunk.len() > MAX_REPLY_BYTES {
                return Err(Failure::last(Error::TooLarge {
                    base_url: self.base_url.clone(),
                    limit_bytes: MAX_REPLY_BYTES,
                }));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn transport(&self, err: reqwest::Error) -> Failure {
        let source = err.without_url();
        let error = Error::Transport { base_url: self.base_url.clone(), source };
        Failure { error, retry: Retry::After(None) }
    }

    fn refused(&self, status: StatusCode, after: Option<Duration>, excerpt: String) -> Failure {
        let retry = match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => Retry::After(after),
            StatusCode::NOT_IMPLEMENTED => Retry::Never,
            status if status.is_server_error() => Retry::After(after),
            _ => Retry::Never,
        };
        Failure {
            error: Error::Refused { base_url: self.base_url.clone(), status, excerpt },
            retry,
        }
    }
}

#[async_trait]
impl ChatModel for OpenAi {
    async fn complete(&self, request: ChatRequest) -> Result<ChatReply, Error> {
        let started = Instant::now();
        let body = wire::Request::new(&self.model, &request);
        let mut failed_attempts = 0;
        loop {
            let Ok(outcome) = timeout_at(request.deadline, self.attempt(&body)).await else {
                let base_url = self.base_url.clone();
                return Err(Error::Deadline { base_url, waited: started.elapsed() });
            };
            let failure = match outcome {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            failed_attempts += 1;
            let Retry::After(retry_after) = failure.retry else { return Err(failure.error) };
            let pause = retry::pause(failed_attempts, retry_after, rand::random());
            // A pause that ends past the deadline gains nothing; the caller can use the time.
            let Some(pause) = pause.filter(|pause| Instant::now() + *pause < request.deadline)
            else {
                return Err(failure.error);
            };
            tracing::debug!(
                llm.model = self.model,
                pause_ms = pause.as_millis() as u64,
                "asking the model again after: {}",
                failure.error
            );
            sleep(pause).await;
        }
    }

    fn name(&self) -> &str {
        &self.model
    }
}

/// An attempt that failed, and whether another may do better.
struct Failure {
    error: Error,
    retry: Retry,
}

impl Failure {
    fn last(error: Error) -> Self {
        Self { error, retry: Retry::Never }
    }
}

enum Retry {
    Never,
    After(Option<Duration>),
}
