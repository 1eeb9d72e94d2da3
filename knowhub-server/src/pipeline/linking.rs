//! Stage 2: which tools a record speaks of, by the model's word beside what the rules find.

use std::collections::BTreeSet;

use llm::{Message, json};
use protocol::{ResourceId, hub::Knowledge, source::excerpt};
use serde_json::{Value, json};

use super::{
    Pipeline,
    found::{FLAGGED, Found, Nothing},
    sought_text,
};
use crate::{
    knowledge::is_flagged,
    model::Model,
    search::{self, ResourceQuery},
    store::{Resource, ResourceFilter, Step},
};

const SYSTEM: &str = include_str!("../../prompts/link-v1.system.md");
const USER: &str = include_str!("../../prompts/link-v1.user.md");

/// How many tools the model is offered; what answers the record worse is not.
const MAX_TOOLS: usize = 20;

/// The shortest word that may name a tool, in bytes; a shorter one is a word of the language more often.
const MIN_WORD_BYTES: usize = 2;

/// How much of a record the model sees, in characters; the rest is cut.
const RECORD_CHARS: usize = 2_000;

/// How much of a tool's title, and of its text, the model sees, in characters; the rest is cut.
const TOOL_CHARS: usize = 300;

/// Asks which tools a record speaks of, where any may be meant.
pub(super) async fn link(
    pipeline: &Pipeline,
    model: &Model,
    record: &Knowledge,
) -> Result<Found, search::Error> {
    if is_flagged(record) {
        return Ok(Found::Unasked(Step::Linked(Vec::new()), FLAGGED));
    }
    let tools = tools(pipeline, record).await?;
    if tools.is_empty() {
        return Ok(Found::Step(Step::Linked(Vec::new()), String::new()));
    }
    let reply = match pipeline.ask(model, "link", prompt(record, &tools)).await {
        Ok(reply) => reply,
        Err(nothing) => return Ok(Found::Nothing(nothing)),
    };
    let offered: Vec<ResourceId> = tools.into_iter().map(|tool| tool.id).collect();
    Ok(match read(&reply, &offered) {
        Ok((named, note)) => Found::Step(Step::Linked(named), note),
        Err(error) => Found::Nothing(Nothing::unusable(error, &reply)),
    })
}

/// Returns the tools whose slug or title is a word of the record, and those that a search for its text finds.
async fn tools(pipeline: &Pipeline, record: &Knowledge) -> Result<Vec<Resource>, search::Error> {
    let prefix = "tools".parse::<ResourceId>().ok();
    let filter = ResourceFilter { prefix, content_type: None };
    let query = ResourceQuery { q: sought_text(record), filter, offset: 0, limit: MAX_TOOLS };
    let mut tools = pipeline.0.store.list_tools_named(words(record)).await?;
    let (found, _) = pipeline.0.search.resources(&query).await?;
    for tool in found {
        if tool.id.as_str().split('/').count() >= 3 && !tools.iter().any(|one| one.id == tool.id) {
            tools.push(tool);
        }
    }
    tools.truncate(MAX_TOOLS);
    Ok(tools)
}

/// Returns the words of a record that may be the slug or the title of a tool, in lower case.
fn words(record: &Knowledge) -> Vec<String> {
    let text = sought_text(record).to_ascii_lowercase();
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-')));
    let words: BTreeSet<&str> = words.filter(|word| word.len() >= MIN_WORD_BYTES).collect();
    words.into_iter().map(str::to_owned).collect()
}

fn prompt(record: &Knowledge, tools: &[Resource]) -> Vec<Message> {
    let record = json!({
        "task": excerpt(&record.task, TOOL_CHARS),
        "content": excerpt(&record.content, RECORD_CHARS),
        "source": excerpt(&record.source.name, TOOL_CHARS),
    });
    let tools = tools.iter().map(|tool| {
        json!({
            "id": tool.id,
            "title": excerpt(&tool.title, TOOL_CHARS),
            "text": excerpt(&tool.body, TOOL_CHARS),
        })
    });
    let lines: Vec<String> =
        [record].into_iter().chain(tools).map(|line| line.to_string()).collect();
    vec![Message::system(SYSTEM), Message::user(USER.replacen("{records}", &lines.join("\n"), 1))]
}

/// Reads the named tools out of a reply, and says what of it was passed over.
fn read(reply: &str, offered: &[ResourceId]) -> Result<(Vec<ResourceId>, String), String> {
    let said = json::find(reply).map_err(|err| err.to_string())?;
    let list = match &said {
        Value::Array(list) => Some(list),
        said => said.get("tools").and_then(Value::as_array),
    };
    let list = list.ok_or("the reply names no list of tools")?;
    let id = |one: &Value| one.as_str().or_else(|| one.get("id")?.as_str()).map(str::to_owned);
    let ids: Vec<String> = list.iter().filter_map(id).collect();
    let named: Vec<ResourceId> =
        offered.iter().filter(|tool| ids.iter().any(|id| id == tool.as_str())).cloned().collect();
    match list.len().saturating_sub(named.len()) {
        0 => Ok((named, String::new())),
        _ if named.is_empty() => Err("the reply names no tool that was offered".to_owned()),
        count => Ok((named, format!("the reply names {count} tools that were not offered"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_offered_tools_are_taken() {
        let offered: Vec<ResourceId> =
            ["tools/pdf/camelot", "tools/pdf/tabula"].map(|id| id.parse().unwrap()).into();
        for (reply, expected) in [
            (r#"{"tools": ["tools/pdf/camelot"]}"#, Some(1)),
            (
                r#"```json
["tools/pdf/tabula", {"id": "tools/pdf/camelot"}]
```"#,
                Some(2),
            ),
            (r#"{"tools": []}"#, Some(0)),
            (r#"{"tools": ["tools/pdf/camelot", "tools/x/y"]}"#, Some(1)),
            (r#"{"tools": ["tools/x/y"]}"#, None),
            (r#"{"type": "object"}"#, None),
            ("", None),
        ] {
            let named = read(reply, &offered).ok().map(|(named, _)| named.len());
            assert_eq!(named, expected, "{reply}");
        }
    }
}
