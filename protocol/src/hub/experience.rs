//! Experiences: what happened when somebody used a resource.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::MAX_TEXT_CHARS;
use super::body::{Body, FieldFault, check_bound, check_chars, check_present};
use super::plain_texts::{PlainTexts, WriteBody};
use crate::{
    ids::{ContactId, ExperienceId},
    time::Timestamp,
};

/// Body of `POST /api/experience`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NewExperience {
    /// The resource's common name: a package, a paper's title, a blog.
    #[schema(min_length = 1, max_length = 2_000, pattern = r"[^\s\x85]")]
    pub name: String,
    /// Its canonical address; empty when it has none.
    #[serde(default)]
    #[schema(max_length = 2_000)]
    pub url: String,
    /// What kind of resource, such as `mcp`, `skill`, `library`, `api`, `paper`, `blog`, `book`, `course`; free text.
    #[serde(default)]
    #[schema(max_length = 2_000)]
    pub category: String,
    /// The concrete task it was used for.
    #[schema(min_length = 1, max_length = 100_000, pattern = r"[^\s\x85]")]
    pub task: String,
    /// 1 to 5; absent when not rated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 5)]
    pub score: Option<u8>,
    /// What came of it, good and bad.
    #[serde(default)]
    #[schema(max_length = 100_000)]
    pub outcome: String,
    /// The most important advice.
    #[serde(default)]
    #[schema(max_length = 100_000)]
    pub tips: String,
    /// A content node that tells more; empty when there is none.
    #[serde(default)]
    #[schema(max_length = 2_000)]
    pub content_id: String,
    /// Who reports it, as claimed; empty when nobody said.
    #[serde(default)]
    #[schema(max_length = 2_000)]
    pub submitted_by: String,
    /// The contact for whom a delegate reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<ContactId>,
}

impl Body for NewExperience {
    fn check(&self) -> Result<(), FieldFault> {
        check_present("name", &self.name)?;
        check_bound("name", &self.name)?;
        check_present("task", &self.task)?;
        check_chars("outcome", &self.outcome, MAX_TEXT_CHARS)?;
        check_chars("tips", &self.tips, MAX_TEXT_CHARS)?;
        for (field, text) in [
            ("url", &self.url),
            ("category", &self.category),
            ("content_id", &self.content_id),
            ("submitted_by", &self.submitted_by),
        ] {
            check_bound(field, text)?;
        }
        match self.score {
            None | Some(1..=5) => Ok(()),
            Some(_) => Err(FieldFault::new("score", "must be 1 to 5, or absent")),
        }
    }
}

impl WriteBody for NewExperience {
    const FOR_CONTACTS: bool = true;

    fn plain_texts(&self) -> PlainTexts<'_> {
        PlainTexts::default()
            .text("name", &self.name)
            .text("url", &self.url)
            .text("category", &self.category)
            .text("task", &self.task)
            .text("outcome", &self.outcome)
            .text("tips", &self.tips)
            .text("content_id", &self.content_id)
            .text("submitted_by", &self.submitted_by)
            .on_behalf_of(self.on_behalf_of.as_ref())
    }
}

/// Answer to `POST /api/experience`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExperienceCreated {
    /// The number the hub gave it.
    pub id: ExperienceId,
}

/// Answer to `GET /api/experience/{id}`: a stored experience with all it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Experience {
    /// Its number, cited as `[experience-N]`.
    pub id: ExperienceId,
    /// The resource's common name.
    pub name: String,
    /// Its canonical address; empty when it has none.
    pub url: String,
    /// What kind of resource.
    pub category: String,
    /// The concrete task it was used for.
    pub task: String,
    /// 1 to 5; absent when not rated.
    pub score: Option<u8>,
    /// What came of it.
    pub outcome: String,
    /// The most important advice.
    pub tips: String,
    /// A content node that tells more; empty when there is none.
    pub content_id: String,
    /// Who reported it, as claimed.
    pub submitted_by: String,
    /// Whose token it was reported with.
    pub authenticated_as: String,
    /// For whom a delegate reported it, as `im:{contact}`; empty when for nobody else.
    pub on_behalf_of: String,
    /// When the hub stored it.
    pub created_at: Timestamp,
}

/// Answer to `DELETE /api/experience/{id}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExperienceDeleted {
    /// Its number, which no other experience gets.
    pub id: ExperienceId,
    /// Whether what it said is gone as well.
    pub erased: bool,
}

/// Answer to `GET /api/search`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ExperienceSearch {
    /// One entry a resource name, best first.
    pub results: Vec<ResourceHit>,
}

/// The experiences with one resource that match a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ResourceHit {
    /// The resource's name.
    pub name: String,
    /// The newest address that is not empty, over all experiences of the name.
    pub url: String,
    /// The matching experiences, best first.
    pub relevant_experiences: Vec<ExperienceHit>,
    /// The mean over *all* scores of the name; absent when nobody rated.
    pub avg_score: Option<f64>,
    /// How many experiences of the name there are in all.
    pub experience_count: u64,
}

/// One matching experience.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ExperienceHit {
    /// Its number, cited as `[experience-N]`.
    pub id: ExperienceId,
    /// The concrete task.
    pub task: String,
    /// 1 to 5; absent when not rated.
    pub score: Option<u8>,
    /// The most important advice.
    pub tips: String,
    /// What came of it.
    pub outcome: String,
    /// A content node that tells more; empty when there is none.
    pub content_id: String,
    /// Who reported it, as claimed.
    pub submitted_by: String,
    /// Whose token it was reported with.
    pub authenticated_as: String,
    /// For whom a delegate reported it, as `im:{contact}`; empty when for nobody else.
    pub on_behalf_of: String,
    /// When the hub stored it.
    pub created_at: Timestamp,
}
