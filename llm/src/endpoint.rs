//! An endpoint of a model over HTTP: one call, bounded in time, size and attempts.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Response, StatusCode, Url};
use serde::Serialize;
use tokio::time::{Instant, sleep, timeout_at};

use crate::Error;
use crate::config::SettingsError;
use crate::error::{Address, Service};
use reply::NoReply;

pub(crate) mod reply;
mod retry;

pub(crate) use retry::MAX_ATTEMPTS;

/// How long a connection may take to be made; a slower endpoint counts as unreachable.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Where a model is, and how to get in; checked.
#[derive(Debug)]
pub(crate) struct Endpoint {
    /// The URL before the service's own path, without a slash at its end.
    pub(crate) base_url: String,
    /// The endpoint is on this machine.
    is_local: bool,
    /// The `Authorization` header, marked as sensitive.
    pub(crate) authorization: Option<HeaderValue>,
    service: Service,
}

/// A key together with the variable that it came from, so that an error can name it.
pub(crate) type NamedKey<'a> = (&'static str, &'a str);

impl Endpoint {
    /// Checks the settings of an endpoint.
    pub(crate) fn new(
        service: Service,
        base_url: &Url,
        key: Option<NamedKey<'_>>,
    ) -> Result<Self, SettingsError> {
        Ok(Self {
            base_url: base_url.as_str().trim_end_matches('/').to_owned(),
            is_local: is_loopback(base_url),
            authorization: key.map(authorization).transpose()?,
            service,
        })
    }
}

/// Reads a base URL.
pub(crate) fn parse_base_url(service: Service, text: &str) -> Result<Url, SettingsError> {
    let url = Url::parse(text).map_err(|_| SettingsError::BaseUrl { service })?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(SettingsError::BaseUrl { service });
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(SettingsError::Credentials { service });
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(SettingsError::BaseUrl { service });
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

/// What calls an endpoint.
///
/// It follows no redirects, so that a key never travels to a host that the settings do not name.
#[derive(Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    authorization: Option<HeaderValue>,
    max_reply_bytes: usize,
    at: Address,
}

impl Client {
    /// Prepares a client for `POST {base_url}/{path}`; nothing is sent before the first call.
    ///
    /// A model on this machine is never sought behind a proxy, whatever the environment says.
    /// Of a reply larger than `max_reply_bytes` the caller gets an error and no part.
    pub(crate) fn new(
        endpoint: Endpoint,
        path: &str,
        max_reply_bytes: usize,
    ) -> Result<Self, SettingsError> {
        let Endpoint { base_url, is_local, authorization, service } = endpoint;
        let mut http = reqwest::Client::builder()
            .redirect(Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("knowhub/", env!("CARGO_PKG_VERSION")));
        if is_local {
            http = http.no_proxy();
        }
        let http = http.build().map_err(|source| SettingsError::Client { service, source })?;
        let url = format!("{base_url}/{path}");
        let at = Address { service, place: base_url };
        Ok(Self { http, url, authorization, max_reply_bytes, at })
    }

    /// Returns which model this is, for errors.
    pub(crate) fn at(&self) -> Address {
        self.at.clone()
    }

    /// Sends a body and reads the reply, up to `max_attempts` times where another may do better.
    ///
    /// It ends no later than `deadline`, pauses included.
    pub(crate) async fn call<T>(
        &self,
        body: &impl Serialize,
        deadline: Instant,
        max_attempts: u32,
        read: impl Fn(&[u8]) -> Result<T, NoReply>,
    ) -> Result<T, Error> {
        let started = Instant::now();
        let mut failed_attempts = 0;
        loop {
            let Ok(outcome) = timeout_at(deadline, self.attempt(body, &read)).await else {
                return Err(Error::Deadline { at: self.at(), waited: started.elapsed() });
            };
            let failure = match outcome {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            failed_attempts += 1;
            let Retry::After(retry_after) = failure.retry else { return Err(failure.error) };
            let pause = retry::pause(failed_attempts, max_attempts, retry_after, rand::random());
            // A pause that ends past the deadline gains nothing; the caller can use the time.
            let Some(pause) = pause.filter(|pause| Instant::now() + *pause < deadline) else {
                return Err(failure.error);
            };
            tracing::debug!(
                pause_ms = pause.as_millis() as u64,
                "asking the {} again after: {}",
                self.at,
                failure.error
            );
            sleep(pause).await;
        }
    }

    async fn attempt<T>(
        &self,
        body: &impl Serialize,
        read: impl Fn(&[u8]) -> Result<T, NoReply>,
    ) -> Result<T, Failure> {
        let mut request = self.http.post(&self.url).json(body);
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
        let body = self.receive(response).await?;
        if !status.is_success() {
            return Err(self.refused(status, retry_after, reply::error_message(&body)));
        }
        read(&body).map_err(|no_reply| match no_reply {
            NoReply::Refused { status, message } => self.refused(status, retry_after, message),
            NoReply::Malformed(complaint) => {
                Failure::last(Error::Malformed { at: self.at(), complaint })
            }
        })
    }

    async fn receive(&self, mut response: Response) -> Result<Vec<u8>, Failure> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|err| self.transport(err))? {
            if body.len() + chunk.len() > self.max_reply_bytes {
                let limit_bytes = self.max_reply_bytes;
                return Err(Failure::last(Error::TooLarge { at: self.at(), limit_bytes }));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn transport(&self, err: reqwest::Error) -> Failure {
        let error = Error::Transport { at: self.at(), source: err.without_url() };
        Failure { error, retry: Retry::After(None) }
    }

    fn refused(&self, status: StatusCode, after: Option<Duration>, excerpt: String) -> Failure {
        let retry = match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT => Retry::After(after),
            StatusCode::NOT_IMPLEMENTED => Retry::Never,
            status if status.is_server_error() => Retry::After(after),
            _ => Retry::Never,
        };
        let error = Error::Refused { at: self.at(), status, excerpt, retry_after: after };
        Failure { error, retry }
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
