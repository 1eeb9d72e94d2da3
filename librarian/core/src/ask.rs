//! The way from a question to an answer: retrieve, let the model write, check its citations.

use std::sync::Arc;
use std::time::Duration;

use llm::{ChatModel, ChatRequest, FinishReason};
use protocol::source::ANSWER_SOURCES;
use protocol::{Source, SourceId};
use tokio::time::{Instant, timeout_at};

use crate::answer::{Answer, Question};
use crate::citation::{self, Checked};
use crate::language::Language;
use crate::prompt;
use crate::shelf::{Shelf, ShelfError};

/// How long before the deadline the model must be done, so that the reply still arrives in time.
const MODEL_MARGIN: Duration = Duration::from_millis(1_500);

/// How long before the deadline the shelf must be done; after it the asker is told that it is not.
const SHELF_MARGIN: Duration = Duration::from_millis(500);

/// The least time in which a model is worth asking; with less the answer is extractive at once.
const LEAST_MODEL_TIME: Duration = Duration::from_millis(500);

/// The most tokens of an answer; a longer one is cut, and says so in its reason.
const MAX_ANSWER_TOKENS: u32 = 1_500;

/// The longest answer that is passed on, in characters; a longer one is none of a sane model, and
/// the asker gets the records instead.
const MAX_ANSWER_CHARS: usize = 20_000;

/// Low, since the answer is to say what the records say.
const TEMPERATURE: f32 = 0.2;

/// Answers questions from a shelf, with a model where there is one.
pub struct Librarian {
    shelf: Arc<dyn Shelf>,
    model: Option<Arc<dyn ChatModel>>,
}

impl Librarian {
    /// A librarian of `shelf`; without a model every answer is extractive.
    pub fn new(shelf: Arc<dyn Shelf>, model: Option<Arc<dyn ChatModel>>) -> Self {
        Self { shelf, model }
    }

    /// Answers a question before its deadline.
    ///
    /// Whatever the model does, there is an answer; only the shelf can fail.
    pub async fn ask(&self, question: &Question) -> Result<Answer, ShelfError> {
        let Question { text, deadline, .. } = question;
        let retrieval = self.shelf.retrieve(text, ANSWER_SOURCES);
        let sources = timeout_at(*deadline - SHELF_MARGIN, retrieval)
            .await
            .map_err(|late| ShelfError::Unavailable(Box::new(late)))??;
        let language = Language::of(text);
        if sources.is_empty() {
            return Ok(Answer::extractive(language, &[], "nothing relevant was found"));
        }
        match self.integrate(question, &sources).await {
            Ok(answer) => Ok(answer),
            Err(reason) => Ok(Answer::extractive(language, &sources, reason)),
        }
    }

    /// Lets the model write the answer, or says why it is none.
    async fn integrate(
        &self,
        question: &Question,
        sources: &[Source],
    ) -> Result<Answer, &'static str> {
        let model = self.model.as_ref().ok_or("no language model is configured")?;
        let deadline = question.deadline - MODEL_MARGIN;
        if deadline < Instant::now() + LEAST_MODEL_TIME {
            return Err("too little time was left for the language model");
        }
        let request = ChatRequest {
            messages: prompt::render(&question.text, question.asked_at, sources),
            max_tokens: MAX_ANSWER_TOKENS,
            temperature: TEMPERATURE,
            deadline,
        };
        let reply = model.complete(request).await.map_err(|err| {
            tracing::warn!(
                llm.model = model.name(),
                error = &err as &dyn std::error::Error,
                "the language model failed; answering with the records themselves"
            );
            match err {
                llm::Error::Deadline { .. } => "the language model was too slow",
                _ => "the language model failed",
            }
        })?;
        tracing::debug!(
            llm.model = model.name(),
            llm.prompt = prompt::VERSION,
            llm.prompt_tokens = reply.usage.prompt_tokens,
            llm.completion_tokens = reply.usage.completion_tokens,
            llm.cost = reply.usage.cost,
            "the language model wrote an answer"
        );
        let checked = check(&reply.content, sources).inspect_err(|reason| {
            tracing::warn!(llm.model = model.name(), "{reason}; answering with the records");
        })?;
        let mut answer = Answer::integrated(checked, sources);
        if reply.finish_reason == FinishReason::Length {
            answer.reason = Some("the answer is cut at its greatest length".to_owned());
        }
        Ok(answer)
    }
}

/// Turns what the model sent into an answer that cites only `sources`.
fn check(reply: &str, sources: &[Source]) -> Result<Checked, &'static str> {
    let reply = llm::thought::strip(reply);
    let reply = reply.trim();
    if reply.is_empty() {
        return Err("the language model wrote nothing");
    }
    if reply.chars().nth(MAX_ANSWER_CHARS).is_some() {
        return Err("the language model wrote too much");
    }
    let allowed: Vec<SourceId> = sources.iter().map(|source| source.id.clone()).collect();
    let checked = citation::check(reply, &allowed);
    if checked.cited.is_empty() {
        return Err("the language model cited none of the records");
    }
    Ok(checked)
}
