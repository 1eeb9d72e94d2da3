//! What the model is told: the rules from the prompt files, and the retrieved records as quotations.
//!
//! A record is one line of JSON, in which nothing it says can end its quotation. Citations that
//! stand in it are neutralized, so that the model copies no id that a stranger put there.

use llm::Message;
use protocol::source::excerpt;
use protocol::{Source, Timestamp};
use serde_json::json;

use crate::citation;

/// The version of the prompt files in use; it changes whenever their text does.
pub const VERSION: &str = "answer-v1";

/// How much of a record's task the model sees, in characters; the rest is cut.
const TASK_CHARS: usize = 500;

/// How much of a record's content the model sees, in characters; the rest is cut.
const CONTENT_CHARS: usize = 3_000;

/// How much of an author's name the model sees, in characters; the rest is cut.
const AUTHOR_CHARS: usize = 100;

const SYSTEM: &str = include_str!("../prompts/answer-v1.system.md");
const USER: &str = include_str!("../prompts/answer-v1.user.md");

/// Returns the conversation that leads to an answer.
pub fn render(question: &str, asked_at: Timestamp, sources: &[Source]) -> Vec<Message> {
    let records: Vec<_> = sources.iter().map(|source| record(source, asked_at)).collect();
    // The template's own `{question}` stands before the records, whatever these say.
    let user = USER.replace("{records}", &records.join("\n")).replacen(
        "{question}",
        &json!(question).to_string(),
        1,
    );
    vec![Message::system(SYSTEM), Message::user(user)]
}

fn record(source: &Source, asked_at: Timestamp) -> String {
    const SECONDS_PER_DAY: u64 = 24 * 60 * 60;
    let quote = |text: &str, limit| citation::neutralize(&excerpt(text, limit));
    let mut record = json!({
        "id": source.id,
        "author": quote(&source.author, AUTHOR_CHARS),
        "age_days": asked_at.since(source.created_at).as_secs() / SECONDS_PER_DAY,
        "found_helpful": source.helpful,
        "found_harmful": source.harmful,
        "task": quote(&source.task, TASK_CHARS),
        "content": quote(&source.content, CONTENT_CHARS),
    });
    if !source.flags.is_empty() {
        record["flags"] = json!(source.flags);
    }
    record.to_string()
}
