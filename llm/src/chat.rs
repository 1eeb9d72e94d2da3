//! What is asked of a language model and what it answers, independent of any endpoint.

use async_trait::async_trait;
use tokio::time::Instant;

use crate::Error;

/// A language model that completes chats.
///
/// Callers hold an `Arc<dyn ChatModel>`, so that tests can put [`crate::scripted::Scripted`] in
/// the place of an endpoint.
#[async_trait]
pub trait ChatModel: Send + Sync {
    /// Completes the chat, or fails no later than `request.deadline`.
    async fn complete(&self, request: ChatRequest) -> Result<ChatReply, Error>;

    /// The model's name, for logs and answers.
    fn name(&self) -> &str;
}

/// One question to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatRequest {
    /// The conversation so far, oldest first.
    pub messages: Vec<Message>,
    /// The most tokens that the reply may have; a longer one ends with [`FinishReason::Length`].
    pub max_tokens: u32,
    /// Sampling temperature, 0 to 2.
    pub temperature: f32,
    /// When the caller stops waiting, retries included.
    pub deadline: Instant,
}

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Whose turn it is.
    pub role: Role,
    /// What was said.
    pub content: String,
}

impl Message {
    /// An instruction of the program to the model.
    pub fn system(content: impl Into<String>) -> Self {
        Self { role: Role::System, content: content.into() }
    }

    /// What the user says.
    pub fn user(content: impl Into<String>) -> Self {
        Self { role: Role::User, content: content.into() }
    }

    /// What the model said earlier.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self { role: Role::Assistant, content: content.into() }
    }
}

/// The speaker of a [`Message`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The program, which sets the rules.
    System,
    /// The one who asks.
    User,
    /// The model.
    Assistant,
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatReply {
    /// The text as the model sent it; may be empty.
    pub content: String,
    /// Why the model stopped.
    pub finish_reason: FinishReason,
    /// What the call used.
    pub usage: Usage,
}

/// Why a model stopped writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// `max_tokens` or the context was used up, so the text is cut.
    Length,
    /// The provider withheld the rest.
    ContentFilter,
    /// Anything else, in the provider's word; empty if it gave none.
    Other(String),
}

/// What one call used, as the provider counts it; zero where it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
    /// The price in the provider's currency, where it tells (OpenRouter: US dollars).
    pub cost: Option<f64>,
}
