//! `knowledge_search`: the hub's own search, without the librarian.

use async_trait::async_trait;
use librarian_core::{Language, wording};
use protocol::{
    Source,
    hub::{
        Body, DEFAULT_MIN_SCORE, DEFAULT_TOP_K, FieldFault, KnowledgeSearch as Found,
        MAX_QUERY_CHARS, MAX_TOP_K,
    },
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Context, Error, Tool, ToolResult};
use crate::hub::KnowledgeQuery;

/// Searches knowledge records.
pub(super) struct KnowledgeSearch;

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// What you want to know, in your own words, Chinese or English.
    query: String,
    /// How many records at most.
    #[serde(default = "default_top_k")]
    #[schemars(range(min = 1, max = MAX_TOP_K))]
    top_k: usize,
    /// The least score of a record.
    #[serde(default = "default_min_score")]
    #[schemars(range(min = 1, max = 5))]
    min_score: u8,
    /// Kinds that a record must all be of, such as `strategy`, `tool`, `usecase`.
    #[serde(default)]
    types: Vec<String>,
    /// Owners, one of which a record must have, such as `agent:research`.
    #[serde(default)]
    owner: Vec<String>,
    /// Scopes, one of which a record must hold for, such as `org:acme`.
    #[serde(default)]
    scopes: Vec<String>,
    /// Tags that a record must all have, as `name:value`.
    #[serde(default)]
    tags: Vec<String>,
    /// Also return what is judged irrelevant.
    #[serde(default)]
    all: bool,
}

fn default_top_k() -> usize {
    DEFAULT_TOP_K
}

fn default_min_score() -> u8 {
    DEFAULT_MIN_SCORE
}

impl Body for Input {
    fn check(&self) -> Result<(), FieldFault> {
        if !(1..=MAX_TOP_K).contains(&self.top_k) {
            return Err(FieldFault::new("top_k", format!("must be 1 to {MAX_TOP_K}, or absent")));
        }
        if !(1..=5).contains(&self.min_score) {
            return Err(FieldFault::new("min_score", "must be 1 to 5, or absent"));
        }
        check_query("query", &self.query)
    }
}

/// Checks that a question says something and is not too long.
pub(super) fn check_query(field: &str, query: &str) -> Result<(), FieldFault> {
    match query.trim().chars().count() {
        0 => Err(FieldFault::new(field, "required, must not be blank")),
        chars if chars > MAX_QUERY_CHARS => {
            let reason = format!("{chars} characters; at most {MAX_QUERY_CHARS} are allowed");
            Err(FieldFault::new(field, reason))
        }
        _ => Ok(()),
    }
}

#[async_trait]
impl Tool for KnowledgeSearch {
    fn name(&self) -> &'static str {
        "knowledge_search"
    }

    fn description(&self) -> &'static str {
        "Search the team's knowledge records directly and get them as they are, with ids and \
         scores. Use ask_knowledge first when you want an answer rather than records."
    }

    fn input_schema(&self) -> Value {
        schemars::schema_for!(Input).to_value()
    }

    async fn run(&self, context: &Context, input: Value) -> Result<ToolResult, Error> {
        let input = Input::from_value(&input)?;
        let query = KnowledgeQuery {
            q: input.query,
            top_k: Some(input.top_k),
            min_score: Some(input.min_score),
            types: input.types,
            owner: input.owner,
            scopes: input.scopes,
            tags: input.tags,
            all: input.all,
        };
        let found = context.hub.search_knowledge(&query).await?;
        let metadata =
            json!({ "results": found.results, "count": found.count, "withheld": found.withheld });
        Ok(ToolResult { output: describe(&query.q, found), metadata })
    }
}

/// Returns found knowledge as text, in the language of the question.
pub(crate) fn describe(query: &str, found: Found) -> String {
    let language = Language::of(query);
    let withheld = found.withheld;
    let sources: Vec<_> = found.results.into_iter().map(Source::from).collect();
    let count = sources.len();
    let list = wording::records(&sources);
    match (language, count) {
        (Language::Chinese, 0) => {
            format!("没有找到相关的知识（{withheld} 条被判断为不相关，未列出）。")
        }
        (Language::English, 0) => {
            format!("No relevant knowledge found ({withheld} held back as irrelevant).")
        }
        (Language::Chinese, _) => format!("找到 {count} 条知识：\n\n{list}"),
        (Language::English, 1) => format!("1 knowledge record:\n\n{list}"),
        (Language::English, _) => format!("{count} knowledge records:\n\n{list}"),
    }
}
