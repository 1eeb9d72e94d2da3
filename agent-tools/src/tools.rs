//! What an agent may call: one definition each, served to agent loops, servers and the CLI alike.
//!
//! # Layout
//!
//! - [`Context`]: what the tools work with: the hub, the relay, whom to ask.
//! - [`ask_knowledge`]: a question to the librarian, with direct search as its fallback.
//! - [`upload_knowledge`]: knowledge for the librarian, with the hub as its fallback.
//! - `knowledge_search`, `report_experience`: one call to the hub each.

pub mod ask_knowledge;
mod context;
mod error;
pub(crate) mod knowledge_search;
pub(crate) mod report_experience;
pub mod upload_knowledge;

use async_trait::async_trait;
use serde_json::Value;

pub use context::{ASK_TIMEOUT, Context};
pub use error::Error;

/// What a tool gives back.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// What the agent reads.
    pub output: String,
    /// What programs read; always a JSON object.
    pub metadata: Value,
}

/// One thing an agent may call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Returns the name it is called by.
    fn name(&self) -> &'static str;

    /// Returns what it is for and when to call it, for the agent to read.
    fn description(&self) -> &'static str;

    /// Returns the JSON schema of its input, an object.
    fn input_schema(&self) -> Value;

    /// Runs it.
    async fn run(&self, context: &Context, input: Value) -> Result<ToolResult, Error>;
}

/// Returns every tool.
pub fn all() -> Vec<Box<dyn Tool>> {
    vec![
        Box::new(ask_knowledge::AskKnowledge),
        Box::new(upload_knowledge::UploadKnowledge),
        Box::new(knowledge_search::KnowledgeSearch),
        Box::new(report_experience::ReportExperience),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_describes_itself_and_an_object_as_input() {
        let mut names = std::collections::BTreeSet::new();
        for tool in all() {
            assert!(names.insert(tool.name()), "{} is there twice", tool.name());
            assert!(tool.description().len() > 40, "{}", tool.name());
            let schema = tool.input_schema();
            assert_eq!(schema["type"], "object", "{schema}");
            for (name, field) in schema["properties"].as_object().unwrap() {
                assert!(field["description"].is_string(), "{}: {name}: {field}", tool.name());
            }
        }
    }
}
