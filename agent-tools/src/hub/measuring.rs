//! The hub's calls that measuring it needs, and nobody else.

use protocol::hub;
use reqwest::Method;
use serde_json::Value;

use super::{Client, Error};

impl Client {
    /// Stores knowledge of which it is known that nothing in it is a secret, whatever it looks like.
    pub(crate) async fn add_harmless_knowledge(
        &self,
        knowledge: &hub::NewKnowledge,
    ) -> Result<hub::KnowledgeCreated, Error> {
        let request = self.post_request("api/knowledge", knowledge, None);
        self.read(request.header("x-allow-likely-secret", "true")).await
    }

    /// Returns how many records have one of these statuses, given by comma; those that search finds where absent.
    pub(crate) async fn count_knowledge(&self, statuses: Option<&str>) -> Result<u64, Error> {
        let mut params = vec![("page_size", "1")];
        params.extend(statuses.map(|statuses| ("status", statuses)));
        let request = self.request(Method::GET, "api/knowledge").query(&params);
        let page: hub::Page<Value> = self.read(request).await?;
        Ok(page.total)
    }

    /// Returns how the hub decides on relevance.
    pub(crate) async fn find_calibration(&self) -> Result<hub::Calibration, Error> {
        self.read(self.request(Method::GET, "api/calibration")).await
    }
}
