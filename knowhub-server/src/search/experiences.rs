//! Searching experiences: rows in which every word stands first, then those that answer the question in part.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use protocol::hub::{ExperienceHit, ExperienceSearch, ResourceHit};

use super::{
    Error, Search,
    relevance::{self, Question},
};
use crate::{
    blocking,
    index::{Doc, Hit, Match, Query},
    store::Experience,
    text::{Folded, tokens},
};

/// How many matching experiences of one name are shown; of more, the worst matches are left out.
const MAX_PER_NAME: usize = 50;

/// How many rows the first look for names takes; each further look takes four times as many.
const FIRST_BATCH: usize = 64;

/// How many rows are read from the store at once.
const READ_ROWS: usize = 256;

/// A search for experiences.
#[derive(Clone, Debug)]
pub(crate) struct ExperienceQuery {
    /// Words, or a question.
    pub(crate) q: String,
    /// Only resources of exactly this category.
    pub(crate) category: Option<String>,
    /// How many names at most.
    pub(crate) limit: usize,
}

/// Returns what the index knows of an experience.
pub(super) fn doc(row: &Experience) -> Doc {
    Doc {
        row: row.id.0,
        seq: row.seq,
        texts: texts(row).map(str::to_owned).to_vec(),
        labels: vec![name_label(&row.report.name), category_label(&row.report.category)],
    }
}

fn texts(row: &Experience) -> [&str; 4] {
    [&row.report.name, &row.report.task, &row.report.outcome, &row.report.tips]
}

fn name_label(name: &str) -> String {
    format!("name:{name}")
}

fn category_label(category: &str) -> String {
    format!("category:{category}")
}

/// How a row may match; the first kind goes before the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// All words stand in it.
    Full,
    /// It answers the question in part.
    Partial,
}

/// A query, split once.
struct Asked {
    words: Vec<Folded>,
    tokens: Vec<String>,
    question: Question,
    /// What the query may name.
    names: HashSet<String>,
    category: Vec<Vec<String>>,
}

impl Asked {
    fn query(&self, stage: Stage) -> Query {
        let matching = match stage {
            Stage::Full => Match::AllWords(self.words.clone()),
            Stage::Partial => Match::AnyToken,
        };
        Query {
            tokens: self.tokens.clone(),
            matching,
            labels: self.category.clone(),
            without: Vec::new(),
        }
    }

    fn query_for_name(&self, stage: Stage, name: &str) -> Query {
        let mut query = self.query(stage);
        query.labels.push(vec![name_label(name)]);
        query
    }

    /// Checks the row itself, since the index only promises candidates.
    fn matches(&self, stage: Stage, row: &Experience) -> bool {
        let folded = texts(row).map(Folded::new);
        let is_full = self.words.iter().all(|word| folded.iter().any(|text| text.contains(word)));
        match stage {
            Stage::Full => is_full,
            Stage::Partial if is_full => false,
            Stage::Partial => {
                self.names.contains(&row.report.name.to_lowercase())
                    || self.question.is_answered_by(&texts(row).join("\n"))
            }
        }
    }
}

impl Search {
    /// Searches experiences and groups them by name; a name ranks by its best row.
    pub(crate) async fn experiences(
        &self,
        query: &ExperienceQuery,
    ) -> Result<ExperienceSearch, Error> {
        let _place = self.places.take().await?;
        let frequencies = self.indexes.experiences.frequencies(Question::tokens(&query.q)).await?;
        let category = query.category.as_deref().map(|category| vec![category_label(category)]);
        let asked = Arc::new(Asked {
            words: Folded::words(&query.q),
            tokens: tokens(&query.q),
            question: Question::new(&query.q, &frequencies),
            names: relevance::names(&query.q).into_iter().collect(),
            category: category.into_iter().collect(),
        });
        let mut names = Vec::new();
        for stage in [Stage::Full, Stage::Partial] {
            self.find_names(&asked, stage, query.limit, &mut names).await?;
        }
        Ok(ExperienceSearch { results: self.show_names(&asked, names).await? })
    }

    /// Adds the names of the best matching rows until there are `limit`.
    ///
    /// Names that are there already are left out of each further look, so that one name with many rows hides none.
    async fn find_names(
        &self,
        asked: &Arc<Asked>,
        stage: Stage,
        limit: usize,
        names: &mut Vec<String>,
    ) -> Result<(), Error> {
        let mut batch = FIRST_BATCH;
        let mut rejected = HashSet::new();
        while names.len() < limit {
            let mut query = asked.query(stage);
            query.without = names.iter().map(|name| name_label(name)).collect();
            let hits = self.indexes.experiences.search(vec![(query, batch)]).await?.remove(0);
            let is_last = hits.len() < batch;
            let fresh: Vec<Hit> =
                hits.into_iter().filter(|hit| !rejected.contains(&hit.row)).collect();
            let known = names.len();
            for chunk in fresh.chunks(READ_ROWS) {
                let mut rows = self.read_matching(asked, stage, chunk).await?;
                for hit in chunk {
                    match rows.remove(&hit.row) {
                        Some(row) if names.len() < limit && !names.contains(&row.report.name) => {
                            names.push(row.report.name);
                        }
                        Some(_) => {}
                        None => {
                            rejected.insert(hit.row);
                        }
                    }
                }
            }
            // Partial matches come best first: when a whole look had no answer, the next has none.
            if is_last || (stage == Stage::Partial && names.len() == known) {
                break;
            }
            batch *= 4;
        }
        Ok(())
    }

    async fn show_names(
        &self,
        asked: &Arc<Asked>,
        names: Vec<String>,
    ) -> Result<Vec<ResourceHit>, Error> {
        let stages = [Stage::Full, Stage::Partial];
        let queries = names.iter().flat_map(|name| {
            stages.map(|stage| (asked.query_for_name(stage, name), 2 * MAX_PER_NAME))
        });
        let found = self.indexes.experiences.search(queries.collect()).await?;
        let mut rows = stages.map(|_| HashMap::new());
        for (index, stage) in stages.into_iter().enumerate() {
            let hits: Vec<Hit> =
                found.iter().skip(index).step_by(stages.len()).flatten().copied().collect();
            for chunk in hits.chunks(READ_ROWS) {
                rows[index].extend(self.read_matching(asked, stage, chunk).await?);
            }
        }
        let mut aggregates = self.store.list_resource_names(names.clone()).await?;
        let results = names.into_iter().zip(found.chunks(stages.len())).map(|(name, found)| {
            let relevant_experiences = rows
                .iter()
                .zip(found)
                .flat_map(|(rows, hits)| hits.iter().filter_map(|hit| rows.get(&hit.row)))
                .take(MAX_PER_NAME)
                .map(shown)
                .collect();
            let aggregate = aggregates.remove(&name).unwrap_or_default();
            ResourceHit {
                name,
                url: aggregate.url,
                relevant_experiences,
                avg_score: aggregate.avg_score,
                experience_count: aggregate.experience_count,
            }
        });
        Ok(results.collect())
    }

    /// Reads the rows again, and keeps those that match and did not change since they were indexed.
    async fn read_matching(
        &self,
        asked: &Arc<Asked>,
        stage: Stage,
        hits: &[Hit],
    ) -> Result<HashMap<i64, Experience>, Error> {
        let seqs: HashMap<i64, i64> = hits.iter().map(|hit| (hit.row, hit.seq)).collect();
        let rows = self.store.list_experiences(seqs.keys().copied().collect()).await?;
        let asked = Arc::clone(asked);
        let matching = move || {
            rows.into_iter()
                .filter(|row| seqs.get(&row.id.0) == Some(&row.seq) && asked.matches(stage, row))
                .map(|row| (row.id.0, row))
                .collect()
        };
        Ok(blocking::run(matching).await?)
    }
}

/// Returns an experience as an answer shows it.
pub(crate) fn shown(row: &Experience) -> ExperienceHit {
    ExperienceHit {
        id: row.id,
        task: row.report.task.clone(),
        score: row.report.score,
        tips: row.report.tips.clone(),
        outcome: row.report.outcome.clone(),
        content_id: row.report.content_id.clone(),
        submitted_by: row.report.submitted_by.clone(),
        authenticated_as: row.stamp.authenticated_as.clone(),
        on_behalf_of: row.stamp.on_behalf_of.clone(),
        created_at: row.created_at,
    }
}
