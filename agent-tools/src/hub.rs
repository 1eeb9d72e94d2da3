//! The hub's client: one method a call, errors that say what to do.

mod error;
mod items;
mod measuring;
mod query;
mod resources;
mod transfer;

pub use error::Error;
pub(crate) use items::rejected;
pub use query::{KnowledgeQuery, Paging, ResourceQuery};
pub use transfer::{Download, ImportKind, ImportOptions};

use std::{net::IpAddr, sync::Arc, time::Duration};

use protocol::{ExperienceId, KnowledgeId, Source, hub};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url, header::RETRY_AFTER};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Where the hub is, checked where it is read: `http` or `https`, with a host.
#[derive(Clone, Debug)]
pub struct Config {
    /// The hub's address without `/api`, such as `http://127.0.0.1:8000`.
    pub api: Url,
    /// The hub's token, where it wants one.
    pub token: Option<SecretString>,
}

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a call that writes may take; it waits for a commit.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a call that only reads may take; whoever waits for an answer has waited long enough by then.
const READ_TIMEOUT: Duration = Duration::from_secs(4);

/// How long one call of slimming may take: the hub works for 45 s and ends the call of its model, which it may give 10 min.
const SLIM_TIMEOUT: Duration = Duration::from_mins(12);

/// How long an idle connection is kept: less than the 5 s after which the hub closes it, since a call on a
/// connection that is being closed fails.
const IDLE_TIMEOUT: Duration = Duration::from_secs(3);

/// The longest pause that a call makes, once, when the hub asks for one; for a longer one the caller must come back.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// The longest answer that is read, in bytes; a longer one is an error.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// What `/readyz` answers where a service cannot do all its work.
#[derive(Deserialize)]
struct Unready {
    reason: String,
}

/// A cheap handle over one connection pool; follows no redirects.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    config: Arc<Config>,
}

impl Client {
    /// Returns a client; nothing is connected yet.
    ///
    /// A hub on this machine is never sought behind a proxy, whatever the environment says.
    pub fn new(config: Config) -> Result<Self, Error> {
        let is_sendable =
            |token: &SecretString| token.expose_secret().bytes().all(|b| b.is_ascii_graphic());
        if !config.token.as_ref().is_none_or(is_sendable) {
            return Err(Error::Token);
        }
        let mut builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .user_agent(concat!("knowhub/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&config.api) {
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(Error::Setup)?;
        Ok(Self { http, config: Arc::new(config) })
    }

    /// Returns the hub's address.
    pub fn api(&self) -> &Url {
        &self.config.api
    }

    /// Stores an experience; under the same key, the same body is stored once.
    pub async fn add_experience(
        &self,
        experience: &hub::NewExperience,
        idempotency_key: Option<&str>,
    ) -> Result<hub::ExperienceCreated, Error> {
        self.post("api/experience", experience, idempotency_key).await
    }

    /// Returns what others experienced, one entry a resource name, at most `limit` names.
    pub async fn search_experiences(
        &self,
        query: &str,
        category: Option<&str>,
        limit: usize,
    ) -> Result<hub::ExperienceSearch, Error> {
        let limit = limit.to_string();
        let mut params = vec![("q", query), ("limit", &limit)];
        params.extend(category.map(|category| ("category", category)));
        self.read(self.request(Method::GET, "api/search").query(&params)).await
    }

    /// Stores knowledge, a [`hub::NewKnowledge`] or JSON of its shape; under the same key, the same body is stored once.
    pub async fn add_knowledge(
        &self,
        knowledge: &(impl Serialize + Sync + ?Sized),
        idempotency_key: Option<&str>,
    ) -> Result<hub::KnowledgeCreated, Error> {
        self.post("api/knowledge", knowledge, idempotency_key).await
    }

    /// Returns the knowledge that answers a query, best first.
    pub async fn search_knowledge(
        &self,
        query: &KnowledgeQuery,
    ) -> Result<hub::KnowledgeSearch, Error> {
        let request = self.request(Method::GET, "api/knowledge/search");
        self.read(request.query(&query.params())).await
    }

    /// Returns one knowledge record, `None` if there is none of that id.
    pub async fn find_knowledge(&self, id: &KnowledgeId) -> Result<Option<hub::Knowledge>, Error> {
        self.find(self.request(Method::GET, &format!("api/knowledge/{id}"))).await
    }

    /// Returns how far the processing of a record is, `None` if there is no record of that id.
    pub async fn find_processing(
        &self,
        id: &KnowledgeId,
    ) -> Result<Option<hub::Processing>, Error> {
        self.find(self.request(Method::GET, &format!("api/knowledge/{id}/processing"))).await
    }

    /// Has the hub merge records into older ones that say as much, or tell which would be.
    pub async fn slim(&self, order: &hub::Slim) -> Result<hub::Slimmed, Error> {
        self.read(self.post_request("api/knowledge/slim", order, None).timeout(SLIM_TIMEOUT)).await
    }

    /// Returns one experience, `None` if there is none of that number.
    pub async fn find_experience(
        &self,
        id: ExperienceId,
    ) -> Result<Option<hub::Experience>, Error> {
        self.find(self.request(Method::GET, &format!("api/experience/{id}"))).await
    }

    /// Returns one page of what was asked for and not found, most wanted first; absent values leave the hub's
    /// defaults.
    pub async fn list_demand(
        &self,
        kind: Option<hub::DemandKind>,
        paging: Paging,
    ) -> Result<hub::Page<hub::Demand>, Error> {
        let kind = kind.map(|kind| ("kind", kind.as_str().to_owned()));
        let request = self.request(Method::GET, "api/demand").query(&paging.params());
        self.read(request.query(&kind.as_slice())).await
    }

    /// Returns the best `limit` records of both searches, the evidence for an answer.
    ///
    /// The librarian and the direct search use this one way, so that both see the same sources.
    pub async fn retrieve(&self, query: &str, limit: usize) -> Result<Vec<Source>, Error> {
        let top_k = limit.clamp(1, hub::MAX_TOP_K);
        let knowledge_query = KnowledgeQuery { top_k: Some(top_k), ..KnowledgeQuery::new(query) };
        let (knowledge, experiences) = tokio::try_join!(
            self.search_knowledge(&knowledge_query),
            self.search_experiences(query, None, top_k),
        )?;
        Ok(Source::interleave(knowledge.results, &experiences.results, limit))
    }

    /// Tells whether the hub can do all its work, and lets this token in; returns whom it takes it for.
    pub async fn health(&self) -> Result<hub::Whoami, Error> {
        let _: Value = self.read(self.request(Method::GET, "readyz")).await?;
        self.read(self.request(Method::GET, "api/whoami")).await
    }

    /// Tells how far the hub's knowledge is embedded.
    pub async fn embeddings(&self) -> Result<hub::Embeddings, Error> {
        self.read(self.request(Method::GET, "api/embeddings")).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let timeout = if method == Method::GET { READ_TIMEOUT } else { WRITE_TIMEOUT };
        self.request_of_any_length(method, path).timeout(timeout)
    }

    /// Returns a request that may take as long as its data needs.
    fn request_of_any_length(&self, method: Method, path: &str) -> RequestBuilder {
        let base = self.config.api.as_str().trim_end_matches('/');
        let request = self.http.request(method, format!("{base}/{path}"));
        match &self.config.token {
            Some(token) => request.bearer_auth(token.expose_secret()),
            None => request,
        }
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &(impl Serialize + ?Sized),
        idempotency_key: Option<&str>,
    ) -> Result<T, Error> {
        self.read(self.post_request(path, body, idempotency_key)).await
    }

    fn post_request(
        &self,
        path: &str,
        body: &(impl Serialize + ?Sized),
        idempotency_key: Option<&str>,
    ) -> RequestBuilder {
        let request = self.request(Method::POST, path).json(body);
        match idempotency_key {
            Some(key) => request.header("idempotency-key", key),
            None => request,
        }
    }

    /// Reads the answer about one record; that there is none is no error.
    async fn find<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<Option<T>, Error> {
        match self.read(request).await {
            Ok(found) => Ok(Some(found)),
            Err(Error::Refused { status: 404, .. }) => Ok(None),
            Err(err) => Err(err),
        }
    }

    async fn read<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Error> {
        let again = request.try_clone();
        let mut response = request.send().await.map_err(|err| self.unreachable(err))?;
        if let (Some(pause), Some(again)) = (wanted_pause(&response), again) {
            tokio::time::sleep(pause).await;
            response = again.send().await.map_err(|err| self.unreachable(err))?;
        }
        self.read_answer(response).await
    }

    async fn read_answer<T: DeserializeOwned>(&self, mut response: Response) -> Result<T, Error> {
        let status = response.status();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|err| self.unreachable(err))? {
            if body.len() + chunk.len() > MAX_ANSWER_BYTES {
                let reason = format!("longer than {MAX_ANSWER_BYTES} bytes");
                return Err(self.bad_reply(status.as_u16(), reason));
            }
            body.extend_from_slice(&chunk);
        }
        if status.is_success() {
            return serde_json::from_slice(&body)
                .map_err(|err| self.bad_reply(status.as_u16(), err.to_string()));
        }
        let status = status.as_u16();
        if let Ok(body) = serde_json::from_slice::<hub::ErrorBody>(&body) {
            return Err(Error::Refused { status, detail: body.error });
        }
        Err(match serde_json::from_slice(&body) {
            Ok(Unready { reason }) => Error::Unready { api: self.config.api.to_string(), reason },
            Err(_) => self.bad_reply(status, "no error envelope".to_owned()),
        })
    }

    fn unreachable(&self, source: reqwest::Error) -> Error {
        // The URL holds the query, which is the caller's own business.
        Error::Unreachable { api: self.config.api.to_string(), source: source.without_url() }
    }

    fn bad_reply(&self, status: u16, reason: String) -> Error {
        Error::BadReply { api: self.config.api.to_string(), status, reason }
    }
}

/// Returns for how long a hub that is asked too often wants to be left alone, if that is short enough to wait.
fn wanted_pause(response: &Response) -> Option<Duration> {
    if response.status() != StatusCode::TOO_MANY_REQUESTS {
        return None;
    }
    let secs = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(secs)).filter(|pause| *pause <= MAX_PAUSE)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|addr| addr.is_loopback())
}
