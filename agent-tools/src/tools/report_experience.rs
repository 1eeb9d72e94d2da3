//! `report_experience`: what happened when a resource was used.

use async_trait::async_trait;
use protocol::{
    ExperienceId, MessageId,
    hub::{Body, FieldFault, NewExperience},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Context, Error, Tool, ToolResult};

/// Reports one experience.
pub(super) struct ReportExperience;

/// The fields of [`NewExperience`], described for whoever fills them in.
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// The resource's common name: a package, a paper's title, a blog.
    name: String,
    /// The concrete task it was used for.
    task: String,
    /// Its canonical address, such as the repository; not a search result.
    #[serde(default)]
    url: String,
    /// What kind of resource: mcp, skill, library, api, paper, blog, book, course, or your own word.
    #[serde(default)]
    category: String,
    /// How well it served, 1 to 5.
    #[serde(default)]
    score: Option<u8>,
    /// What came of it, good and bad.
    #[serde(default)]
    outcome: String,
    /// The most important advice for the next who tries.
    #[serde(default)]
    tips: String,
    /// A content node that tells more.
    #[serde(default)]
    content_id: String,
    /// Who reports it.
    #[serde(default)]
    submitted_by: String,
}

impl Body for Input {
    fn check(&self) -> Result<(), FieldFault> {
        // The experience made of it is checked as a whole.
        Ok(())
    }
}

impl From<Input> for NewExperience {
    fn from(input: Input) -> Self {
        Self {
            name: input.name,
            url: input.url,
            category: input.category,
            task: input.task,
            score: input.score,
            outcome: input.outcome,
            tips: input.tips,
            content_id: input.content_id,
            submitted_by: input.submitted_by,
            on_behalf_of: None,
        }
    }
}

#[async_trait]
impl Tool for ReportExperience {
    fn name(&self) -> &'static str {
        "report_experience"
    }

    fn description(&self) -> &'static str {
        "Report what happened when you used a tool, library, API, paper or other resource for a \
         concrete task, so that others learn from it. One report per resource; call it when the \
         task is done, also when the resource failed you."
    }

    fn input_schema(&self) -> Value {
        schemars::schema_for!(Input).to_value()
    }

    async fn run(&self, context: &Context, input: Value) -> Result<ToolResult, Error> {
        let experience = NewExperience::from(Input::from_value(&input)?);
        let id = store(context, &experience, &MessageId::random().to_string()).await?;
        Ok(ToolResult { output: told(id), metadata: json!({ "id": id }) })
    }
}

/// Checks an experience and stores it, once under the same key.
pub(crate) async fn store(
    context: &Context,
    experience: &NewExperience,
    idempotency_key: &str,
) -> Result<ExperienceId, Error> {
    experience.check()?;
    let created = context.hub.add_experience(experience, Some(idempotency_key)).await?;
    Ok(created.id)
}

/// Returns the sentence about a stored experience.
pub(crate) fn told(id: ExperienceId) -> String {
    format!("Stored as experience-{id}.")
}
