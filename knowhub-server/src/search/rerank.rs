//! Ordering what was found by a language model: what it is asked, and what is made of its answer.
//!
//! Each candidate is one line of JSON, in which nothing it says can end its quotation.
//! Whatever the model does, no candidate is lost and none comes in: it can only say which comes first.

use std::{collections::HashSet, time::Duration};

use llm::{Message, json, thought};
use protocol::{Timestamp, hub::KnowledgeHit};
use serde_json::Value;
use tokio::time::Instant;

use crate::{knowledge::is_flagged, model::Model};

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
        let count = hits.len().min(MAX_CANDIDATES);
        if count < 2 {
            return false;
        }
        let messages = prompt(question, &hits[..count], Timestamp::now());
        let deadline = Instant::now() + self.patience;
        let replied = self.model.complete("rerank", messages, deadline).await;
        let Ok(reply) = replied else { return false };
        let ids: Vec<&str> = hits[..count].iter().map(|hit| hit.knowledge.id.as_str()).collect();
        let Some(mut order) = order(&reply.content, &ids) else {
            tracing::warn!(purpose = "rerank", "the language model's answer names no candidate");
            return false;
        };
        hold_back(&mut order, |at| is_flagged(&hits[at].knowledge));
        let mut found: Vec<Option<KnowledgeHit>> = hits.drain(..).map(Some).collect();
        hits.extend(order.into_iter().filter_map(|at| found[at].take()));
        hits.extend(found.into_iter().flatten());
        true
    }
}

fn prompt(question: &str, hits: &[KnowledgeHit], now: Timestamp) -> Vec<Message> {
    let candidate = |hit: &KnowledgeHit| {
        let record = &hit.knowledge;
        let text = format!("{}: {}", record.task.trim(), record.content.trim());
        serde_json::json!({
            "id": record.id,
            "text": beginning(&text, MAX_TEXT_CHARS),
            "author": beginning(author(hit), 100),
            "age_days": now.since(record.created_at).as_secs() / 86_400,
            "helpful": record.eval.helpful,
            "harmful": record.eval.harmful,
            "flags": record.flags,
        })
        .to_string()
    };
    let candidates: Vec<String> = hits.iter().map(candidate).collect();
    // The template's own `{candidates}` stands behind the question, whatever the question says.
    let (head, tail) = USER.split_once("{candidates}").expect("the template names the candidates");
    let head = head.replacen("{question}", beginning(question.trim(), MAX_QUESTION_CHARS), 1);
    let user = format!("{head}{}{tail}", candidates.join("\n"));
    vec![Message::system(SYSTEM), Message::user(user)]
}

fn author(hit: &KnowledgeHit) -> &str {
    let source = &hit.knowledge.source;
    [&source.on_behalf_of, &source.authenticated_as, &source.submitted_by]
        .into_iter()
        .find(|name| !name.is_empty())
        .map_or("", String::as_str)
}

fn beginning(text: &str, max_chars: usize) -> &str {
    text.char_indices().nth(max_chars).map_or(text, |(end, _)| &text[..end])
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

/// Lets no candidate that reads like instructions come further up than it stood: it must not gain by what it says.
fn hold_back(order: &mut Vec<usize>, is_flagged: impl Fn(usize) -> bool) {
    // From the last one on, so that none moves one that has its place.
    for place in (0..order.len()).rev().filter(|place| is_flagged(*place)) {
        let risen = order[..place].iter().position(|at| *at == place);
        if let Some(risen) = risen {
            order.remove(risen);
            order.insert(place, place);
        }
    }
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

    #[test]
    fn what_gives_orders_does_not_rise() {
        for (flagged, said, expected) in [
            (&[][..], [3, 2, 1, 0], [3, 2, 1, 0]),
            (&[3], [3, 2, 1, 0], [2, 1, 0, 3]),
            (&[0], [3, 2, 1, 0], [3, 2, 1, 0]),
            (&[1, 3], [3, 1, 2, 0], [2, 1, 0, 3]),
            (&[1, 2], [2, 1, 3, 0], [3, 1, 2, 0]),
            (&[0, 1, 2, 3], [3, 2, 1, 0], [0, 1, 2, 3]),
        ] {
            let mut order = said.to_vec();
            hold_back(&mut order, |at| flagged.contains(&at));
            assert_eq!(order, expected, "{flagged:?} {said:?}");
        }
    }
}
