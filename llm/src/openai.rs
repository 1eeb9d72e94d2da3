//! The chat model behind an OpenAI-compatible endpoint.

use async_trait::async_trait;

use crate::config::SettingsError;
use crate::endpoint::{Client, Endpoint, MAX_ATTEMPTS};
use crate::{ChatModel, ChatReply, ChatRequest, Error};

mod wire;

/// The largest reply that is read; of a larger one the caller gets an error and no text.
pub const MAX_REPLY_BYTES: usize = 4 * 1024 * 1024;

/// A model behind `POST {base_url}/chat/completions`.
#[derive(Debug)]
pub struct OpenAi {
    client: Client,
    model: String,
}

impl OpenAi {
    /// Prepares the client; nothing is sent before the first call.
    pub(crate) fn new(endpoint: Endpoint, model: String) -> Result<Self, SettingsError> {
        let client = Client::new(endpoint, "chat/completions", MAX_REPLY_BYTES)?;
        Ok(Self { client, model })
    }
}

#[async_trait]
impl ChatModel for OpenAi {
    async fn complete(&self, request: ChatRequest) -> Result<ChatReply, Error> {
        let body = wire::Request::new(&self.model, &request);
        self.client.call(&body, request.deadline, MAX_ATTEMPTS, wire::parse_reply).await
    }

    fn name(&self) -> &str {
        &self.model
    }
}
