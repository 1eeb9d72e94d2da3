//! The language model, if one is configured: bounded in time and in calls at once, and counted.

use std::{sync::Arc, time::Duration};

use llm::{ChatModel, ChatReply, ChatRequest, Message};
use service::logging::chain;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};

use crate::metrics::Metrics;

/// How many calls may run at once; further ones wait for a place within their own deadline.
const CALLS_AT_ONCE: usize = 4;

/// The most tokens of a reply; a longer one is cut, and says so.
const MAX_TOKENS: u32 = 16_384;

/// Rewriting is no place for invention.
const TEMPERATURE: f32 = 0.0;

/// A handle to the model; clones share its places.
#[derive(Clone)]
pub(crate) struct Model {
    chat: Arc<dyn ChatModel>,
    places: Arc<Semaphore>,
    metrics: Arc<Metrics>,
}

/// Why there is no reply; the log tells more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoReply {
    /// The deadline passed, before or after a place was free.
    Late,
    /// The endpoint cannot be reached, refuses, or sends no completion.
    Failed {
        /// How long it wants to be left alone, where it says so.
        retry_after: Option<Duration>,
    },
}

impl Model {
    /// Takes the model into use.
    pub(crate) fn new(chat: Arc<dyn ChatModel>, metrics: Arc<Metrics>) -> Self {
        Self { chat, places: Arc::new(Semaphore::new(CALLS_AT_ONCE)), metrics }
    }

    /// Returns the model's name.
    pub(crate) fn name(&self) -> &str {
        self.chat.name()
    }

    /// Completes a chat until `deadline`; `purpose` is one of a few words, under which the call is counted.
    pub(crate) async fn complete(
        &self,
        purpose: &'static str,
        messages: Vec<Message>,
        deadline: Instant,
    ) -> Result<ChatReply, NoReply> {
        let place = timeout_at(deadline, self.places.acquire()).await;
        let _place = place.map_err(|_| NoReply::Late)?.expect("nobody closes the places");
        let request =
            ChatRequest { messages, max_tokens: MAX_TOKENS, temperature: TEMPERATURE, deadline };
        let replied = self.chat.complete(request).await;
        self.metrics.model_called(purpose, replied.as_ref().ok().map(|reply| reply.usage));
        replied.map_err(|err| {
            tracing::warn!(purpose, error = %chain(&err), "the language model did not answer");
            match err {
                llm::Error::Deadline { .. } => NoReply::Late,
                err => NoReply::Failed { retry_after: err.retry_after() },
            }
        })
    }
}
