//! Models with prepared replies, so that tests decide what the model does.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, sleep, timeout_at};

use crate::error::{Address, Service};
use crate::{ChatModel, ChatReply, ChatRequest, Error, FinishReason, Usage};

mod embeddings;

pub use embeddings::{Call, Embeddings, Fault};

/// Where scripted models are, in the texts of errors.
const PLACE: &str = "scripted:";

/// What the model does with one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Answers at once.
    Text(String),
    /// Answers after a while.
    Late(Duration, String),
    /// Fails as an endpoint would that sends no completion.
    Fail(String),
    /// Never answers, so that the deadline passes.
    Hang,
}

impl Step {
    /// A step that answers `text` at once.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

/// A [`ChatModel`] that plays its steps in order and remembers what it was asked.
pub struct Scripted {
    script: Script,
    requests: Mutex<Vec<ChatRequest>>,
}

type Answer = dyn Fn(&ChatRequest) -> Step + Send + Sync;

enum Script {
    Steps(Mutex<VecDeque<Step>>),
    Answer(Box<Answer>),
}

impl Scripted {
    /// A model that plays `steps` and fails every request after them.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::with(Script::Steps(Mutex::new(steps.into_iter().collect())))
    }

    /// A model whose step follows from the request.
    pub fn answering(answer: impl Fn(&ChatRequest) -> Step + Send + Sync + 'static) -> Self {
        Self::with(Script::Answer(Box::new(answer)))
    }

    fn with(script: Script) -> Self {
        Self { script, requests: Mutex::default() }
    }

    /// Returns what the model was asked so far, oldest first.
    pub fn requests(&self) -> Vec<ChatRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn next_step(&self, request: &ChatRequest) -> Step {
        match &self.script {
            Script::Answer(answer) => answer(request),
            Script::Steps(steps) => {
                let next = steps.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                next.unwrap_or_else(|| Step::Fail("the script is at its end".to_owned()))
            }
        }
    }
}

#[async_trait]
impl ChatModel for Scripted {
    async fn complete(&self, request: ChatRequest) -> Result<ChatReply, Error> {
        let started = Instant::now();
        let deadline = request.deadline;
        let step = self.next_step(&request);
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        let at = Address { service: Service::Chat, place: PLACE.to_owned() };
        match timeout_at(deadline, play(step)).await {
            Ok(Ok(content)) => {
                let finish_reason = FinishReason::Stop;
                Ok(ChatReply { content, finish_reason, usage: Usage::default() })
            }
            Ok(Err(complaint)) => Err(Error::Malformed { at, complaint }),
            Err(_) => Err(Error::Deadline { at, waited: started.elapsed() }),
        }
    }

    fn name(&self) -> &'static str {
        "scripted"
    }
}

async fn play(step: Step) -> Result<String, String> {
    match step {
        Step::Text(text) => Ok(text),
        Step::Late(after, text) => {
            sleep(after).await;
            Ok(text)
        }
        Step::Fail(complaint) => Err(complaint),
        Step::Hang => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Message;

    fn request() -> ChatRequest {
        ChatRequest {
            messages: vec![Message::user("hello")],
            max_tokens: 10,
            temperature: 0.0,
            deadline: Instant::now() + Duration::from_secs(5),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn plays_its_steps_and_then_fails() {
        let late = Step::Late(Duration::from_secs(1), "two".to_owned());
        let model = Scripted::new([Step::text("one"), late, Step::Hang]);
        assert_eq!(model.complete(request()).await.expect("a text").content, "one");
        assert_eq!(model.complete(request()).await.expect("in time").content, "two");
        let err = model.complete(request()).await.expect_err("hangs");
        assert!(matches!(err, Error::Deadline { waited, .. } if waited == Duration::from_secs(5)));
        model.complete(request()).await.expect_err("the script is at its end");
        assert_eq!(model.requests().len(), 4);
    }

    #[tokio::test]
    async fn answers_from_the_request() {
        let model = Scripted::answering(|request| Step::text(&request.messages[0].content));
        assert_eq!(model.complete(request()).await.expect("a text").content, "hello");
    }
}
