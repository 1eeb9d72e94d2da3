//! Ordering what was found by a language model: what it is asked, and what is made of its answer.
//!
//! Each candidate is one line of JSON, in which nothing it says can end its quotation.
//! Whatever the model does, no candidate is lost and none comes in: it can only say which comes first.

use std::{collections::HashSet, time::Duration};

use llm::{Message, json, thought};
use protocol::{
    Timestamp,
    hub::{Knowledge, KnowledgeHit},
    source::excerpt,
};
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    knowledge::{author, is_flagged},
    model::Model,
};

/// How many candidates the model sees at most; the others stay behind them.
const MAX_CANDIDATES: usize = 30;

/// How much of a candidate's text the model sees, in characters.
const MAX_TEXT_CHARS: usize = 200;

/// How much of the question the model sees, in characters.
const MAX_QUESTION_CHARS: usize = 1_000;

/// How much of an answer is read, in bytes; a longer one is none.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

const SYSTEM: &str = include_str!("../../prompts/rerank-v1.system.md");
const USER: &str = include_str!("../../prompts/rerank-v1.user.md");

/// What orders candidates.
pub(crate) struct Reranker {
    model: Model,
    patience: Duration,
}

impl Reranker {
    /// Takes a model that may take `patience` for one order; after that the order stays as it was.
    pub(crate) fn new(model: Model, patience: Duration) -> Self {
        Self { model, patience }
    }

    /// Has the model order the hits; returns whether it did. If not, they stay in their order.
    pub(super) async fn rerank(&self, question: &str, hits: &mut Vec<KnowledgeHit>) -> bool {
        let shown = shown(hits);
        if shown.len() < 2 {
            return false;
        }
        let candidates: Vec<&Knowledge> = shown.iter().map(|at| &hits[*at].knowledge).collect();
        let messages = prompt(question, &candidates, Timestamp::now());
        let deadline = Instant::now() + self.patience;
        let replied = self.model.complete("rerank", messages, deadline).await;
        let Ok(reply) = replied else { return false };
        let ids: Vec<&str> = candidates.iter().map(|record| record.id.as_str()).collect();
        let Some(order) = order(&reply.content, &ids) else {
            tracing::warn!(purpose = "rerank", "the language model's answer names no candidate");
            return false;
        };
        // Those that were shown change places among themselves; all others stay where they are.
        let mut places: Vec<usize> = (0..hits.len()).collect();
        for (place, at) in shown.iter().zip(order) {
            places[*place] = shown[at];
        }
        let mut found: Vec<Option<KnowledgeHit>> = hits.drain(..).map(Some).collect();
        hits.extend(places.into_iter().filter_map(|at| found[at].take()));
        true
    }
}

/// Returns the places of the candidates that the model sees; what reads like instructions is not among them.
fn shown(hits: &[KnowledgeHit]) -> Vec<usize> {
    let is_shown = |at: &usize| !is_flagged(&hits[*at].knowledge);
    (0..hits.len()).filter(is_shown).take(MAX_CANDIDATES).collect()
}

fn prompt(question: &str, candidates: &[&Knowledge], now: Timestamp) -> Vec<Message> {
    let candidate = |record: &&Knowledge| {
        let text = format!("{}: {}", record.task.trim(), record.content.trim());
        serde_json::json!({
            "id": record.id,
            "text": excerpt(&text, MAX_TEXT_CHARS),
            "author": excerpt(author(&record.source), 100),
            "age_days": now.since(record.created_at).as_secs() / 86_400,
            "helpful": record.eval.helpful,
            "harmful": record.eval.harmful,
        })
        .to_string()
    };
    let candidates: Vec<String> = candidates.iter().map(candidate).collect();
    // The template's own `{candidates}` stands behind the question, whatever the question says.
    let (head, tail) = USER.split_once("{candidates}").expect("the template names the candidates");
    let head = head.replacen("{question}", &excerpt(question.trim(), MAX_QUESTION_CHARS), 1);
    let user = format!("{head}{}{tail}", candidates.join("\n"));
    vec![Message::system(SYSTEM), Message::user(user)]
}

/// Returns the places of all candidates in an answer's order, those that it does not name last; nothing when it names none.
fn order(answer: &str, ids: &[&str]) -> Option<Vec<usize>> {
    if answer.len() > MAX_ANSWER_BYTES {
        return None;
    }
    let mut named = Vec::new();
    match json::find(answer) {
        Ok(value) => texts(&value, &mut named),
        // Prose that names ids is an order too.
        Err(_) => named.extend(
            thought::strip(answer)
                .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
                .map(str::to_owned),
        ),
    }
    let mut seen = HashSet::new();
    let place = |text: &String| ids.iter().position(|id| id == text);
    let mut order: Vec<usize> =
        named.iter().filter_map(place).filter(|at| seen.insert(*at)).collect();
    if order.is_empty() {
        return None;
    }
    order.extend((0..ids.len()).filter(|at| !seen.contains(at)));
    Some(order)
}

/// Gathers the texts of a value, in their order.
fn texts(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.trim().to_owned()),
        Value::Array(list) => list.iter().for_each(|one| texts(one, into)),
        Value::Object(fields) => fields.values().for_each(|one| texts(one, into)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [&str; 3] =
        ["knowledge-20260305-a1b2", "knowledge-20260305-a1b3", "knowledge-20260305-a1b4"];

    #[track_caller]
    fn check(answer: &str, expected: Option<&[usize]>) {
        assert_eq!(order(answer, &IDS).as_deref(), expected, "{answer}");
    }

    #[test]
    fn an_order_is_read_out_of_what_models_send() {
        let [a, b, c] = IDS;
        check(&format!(r#"{{"ids": ["{c}", "{a}"]}}"#), Some(&[2, 0, 1]));
        check(&format!(r#"["{b}", "{b}", "knowledge-20260305-ffff", "{a}"]"#), Some(&[1, 0, 2]));
        check(&format!("<think>{a}?</think>```json\n[{{\"id\": \"{c}\"}}]\n```"), Some(&[2, 0, 1]));
        check(&format!("First [{b}], then {a}."), Some(&[1, 0, 2]));
        check(&format!("<think>{a}"), None);
        check(r#"{"ids": ["…", "…"]}"#, None);
        check(r#"{"ids": []}"#, None);
        check("", None);
        check("\\ud83d { [", None);
        check(&"x".repeat(10_000_000), None);
    }
}
