//! The hub's calls about contents, resources and their secrets.

use std::time::Duration;

use protocol::{ResourceId, hub};
use reqwest::{Method, RequestBuilder, Url, header::HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use super::{Client, Error, Paging, ResourceQuery};

/// How long sealing all secrets anew may take.
const RESEAL_TIMEOUT: Duration = Duration::from_mins(10);

impl Client {
    /// Returns a content node with the way through it, `None` if there is none of that id.
    pub async fn find_content(&self, id: &ResourceId) -> Result<Option<hub::Content>, Error> {
        self.find(self.request(Method::GET, &path("api/content", id.as_str()))).await
    }

    /// Stores a content node; under the same key, the same body is stored once.
    pub async fn submit_content(
        &self,
        content: &hub::NewContent,
        idempotency_key: Option<&str>,
    ) -> Result<hub::ResourceStored, Error> {
        self.post("api/content", content, idempotency_key).await
    }

    /// Returns one page of resources, without their texts: by id, or best first where the query searches.
    pub async fn list_resources(
        &self,
        query: &ResourceQuery,
    ) -> Result<hub::Page<hub::ResourceEntry>, Error> {
        self.read(self.request(Method::GET, "api/resource").query(&query.params())).await
    }

    /// Returns the resource that has `name` as its id and a page of the experiences with it, `None` if there is
    /// neither.
    ///
    /// With the org's key its secret is open.
    pub async fn find_resource(
        &self,
        name: &str,
        paging: Paging,
        org_key: Option<&SecretString>,
    ) -> Result<Option<hub::ResourceReading>, Error> {
        let request = self.request(Method::GET, &path("api/resource", name));
        self.find(with_key(request.query(&paging.params()), org_key)?).await
    }

    /// Makes a resource, a [`hub::NewResource`] or JSON of its shape, or takes the place of the one with its id.
    ///
    /// A sealed one wants the org's key; under the same idempotency key, the same body is stored once.
    pub async fn save_resource(
        &self,
        resource: &(impl Serialize + Sync + ?Sized),
        org_key: Option<&SecretString>,
        idempotency_key: Option<&str>,
    ) -> Result<hub::ResourceStored, Error> {
        let request = self.post_request("api/resource", resource, idempotency_key);
        self.read(with_key(request, org_key)?).await
    }

    /// Has the hub seal its secrets anew with the first key of their org.
    pub async fn reseal(&self, order: &hub::Reseal) -> Result<hub::Resealed, Error> {
        let request = self.request(Method::POST, "api/reseal").timeout(RESEAL_TIMEOUT);
        self.read(request.json(order)).await
    }
}

/// Returns the path of a call about one id, with all encoded that a URL reserves.
fn path(call: &str, id: &str) -> String {
    let mut url = Url::parse("http://hub").expect("it is a URL");
    url.path_segments_mut().expect("http has a path").extend(id.split('/'));
    format!("{call}{}", url.path())
}

fn with_key(
    request: RequestBuilder,
    org_key: Option<&SecretString>,
) -> Result<RequestBuilder, Error> {
    let Some(key) = org_key else { return Ok(request) };
    let mut key = HeaderValue::from_str(key.expose_secret()).map_err(|_| Error::OrgKey)?;
    key.set_sensitive(true);
    Ok(request.header("x-org-key", key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_encoded_by_segment() {
        for (id, expected) in [
            ("pymupdf", "api/content/pymupdf"),
            ("a/100%_ok", "api/content/a/100%25_ok"),
            ("论文/第一节?#", "api/content/%E8%AE%BA%E6%96%87/%E7%AC%AC%E4%B8%80%E8%8A%82%3F%23"),
        ] {
            assert_eq!(path("api/content", id), expected);
        }
    }
}
