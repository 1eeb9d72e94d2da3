//! `ask_knowledge`: a question to the librarian; direct search when there is no answer in time.

mod fallback;

use std::time::Duration;

use async_trait::async_trait;
use protocol::{
    ChatId, MessageId, SourceId,
    hub::{Body, FieldFault},
    im,
    librarian::{AnswerMode, ReplyMeta, Request},
    source::{ANSWER_SOURCES, SourceExcerpt},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::fallback::Silence;
use super::{Context, Error, Tool, ToolResult, knowledge_search::check_query};
use crate::im::Outgoing;

/// Asks the librarian.
pub(super) struct AskKnowledge;

/// An answer, however it came about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The text, with its citations.
    pub response: String,
    /// The ids cited, in order; for a direct search, what was found.
    pub source_ids: Vec<SourceId>,
    /// What was retrieved for the question.
    pub sources: Vec<SourceExcerpt>,
    /// How the answer came about.
    pub mode: AnswerMode,
    /// Why it is of this mode and not a better one; `None` when there is nothing to say.
    pub reason: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// The question, in your own words, Chinese or English; say what you are trying to do.
    query: String,
}

impl Body for Input {
    fn check(&self) -> Result<(), FieldFault> {
        check_query("query", &self.query)
    }
}

#[async_trait]
impl Tool for AskKnowledge {
    fn name(&self) -> &'static str {
        "ask_knowledge"
    }

    fn description(&self) -> &'static str {
        "Ask the team's librarian what is known about a task, tool or problem before you start. \
         Returns an answer that cites the records it rests on, such as [knowledge-…] or \
         [experience-7]; falls back to direct search when the librarian does not answer."
    }

    fn input_schema(&self) -> Value {
        schemars::schema_for!(Input).to_value()
    }

    async fn run(&self, context: &Context, input: Value) -> Result<ToolResult, Error> {
        let input = Input::from_value(&input)?;
        let answer = ask(context, &input.query, context.ask_timeout).await?;
        let Answer { response, source_ids, sources, mode, reason } = answer;
        Ok(ToolResult {
            output: response,
            metadata: json!({
                "source_ids": source_ids, "sources": sources, "mode": mode, "reason": reason,
            }),
        })
    }
}

/// Asks the librarian, and searches directly when it is known not to answer or `patience` is over.
pub async fn ask(context: &Context, question: &str, patience: Duration) -> Result<Answer, Error> {
    check_query("query", question)?;
    let silence = match ask_librarian(context, question.trim(), patience).await {
        Ok(answer) => return Ok(answer),
        Err(silence) => silence,
    };
    tracing::warn!(reason = %silence, "no answer from the librarian, searching directly");
    match context.hub.retrieve(question.trim(), ANSWER_SOURCES).await {
        Ok(sources) => Ok(fallback::answer(question, &sources, &silence)),
        Err(hub) => Err(Error::NoAnswer { librarian: silence.to_string(), hub }),
    }
}

async fn ask_librarian(
    context: &Context,
    question: &str,
    patience: Duration,
) -> Result<Answer, Silence> {
    let request = Request::Ask(question.to_owned());
    let mut message = Outgoing::new(context.librarian.clone(), request.to_string());
    message.chat_id = Some(chat_of(message.id));
    message.ttl = Some(patience);
    let reply = context.im().request(message, patience).await;
    read_reply(reply.map_err(|cause| Silence::of(cause, &context.librarian, patience))?)
}

/// Returns a conversation for one question, so that a reply that names no message still finds it.
fn chat_of(id: MessageId) -> ChatId {
    format!("ask-{id}").parse().expect("a UUID is short and has no control characters")
}

/// Reads the librarian's reply; one without its meta, as another program would write, is taken as text.
fn read_reply(reply: im::Message) -> Result<Answer, Silence> {
    let meta = reply.meta.as_ref().and_then(ReplyMeta::from_meta);
    if let Some(error) = meta.as_ref().and_then(|meta| meta.error.clone()) {
        return Err(Silence::Refusal(error));
    }
    if reply.content.trim().is_empty() {
        return Err(Silence::Blank);
    }
    let meta = meta.unwrap_or_default();
    Ok(Answer {
        response: reply.content,
        source_ids: meta.source_ids,
        sources: meta.sources,
        mode: meta.mode.unwrap_or(AnswerMode::Integrated),
        reason: meta.reason,
    })
}
