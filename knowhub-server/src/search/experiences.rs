//! Searching experiences: rows in which every word stands first, then those that answer the question in part.

use std::collections::{HashMap, HashSet};

use protocol::hub::{ExperienceHit, ExperienceSearch, ResourceHit};
use sha2::{Digest, Sha256};

use super::{
    Error, Search,
    relevance::{self, Question, counted_tokens},
};
use crate::{
    index::{Doc, Hit, Match, Query, View},
    store::{Experience, Reader},
    text::{Folded, tokens},
};

/// How many matching experiences of one name are shown; of more, the worst matches are left out.
const MAX_PER_NAME: usize = 10;

/// Up to how many of a name are filled up with such that match in part.
const MAX_WITH_PARTIAL: usize = 5;

/// How many rows the first look for names takes for each name; each further look takes four times as many.
const ROWS_PER_NAME: usize = 4;

/// How often rows of a name are looked for where the index only promises candidates and the name was found by one;
/// each further look takes four times as many, and what stands behind all these is not shown.
const MAX_LOOKS_FOR_ROWS: usize = 3;

/// Up to how many rows of all names are gathered to pick those of a few: to look up each name costs as much.
const MAX_GATHERED: u64 = 1_000;

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
        group: Some(group(&row.report.name)),
        texts: texts(row).map(str::to_owned).to_vec(),
        labels: vec![name_label(&row.report.name), category_label(&row.report.category)],
    }
}

fn texts(row: &Experience) -> [&str; 4] {
    [&row.report.name, &row.report.task, &row.report.outcome, &row.report.tips]
}

/// Returns the number under which the index gathers a name; two names may share one, so the row's name is what counts.
fn group(name: &str) -> u64 {
    let digest = Sha256::digest(name);
    u64::from_be_bytes(std::array::from_fn(|at| digest[at]))
}

fn name_label(name: &str) -> String {
    format!("name:{name}")
}

fn category_label(category: &str) -> String {
    format!("category:{category}")
}

/// How a row may match; each kind goes before the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// All words stand in it, and as words: what the index finds without looking at every row.
    Words,
    /// All words stand in it, maybe inside other words.
    Full,
    /// It answers the question in part.
    Partial,
}

const STAGES: [Stage; 3] = [Stage::Words, Stage::Full, Stage::Partial];

impl Stage {
    /// Returns up to how many rows of a name this stage adds to those that earlier ones found.
    fn rows_per_name(self) -> usize {
        match self {
            Self::Words | Self::Full => MAX_PER_NAME,
            Self::Partial => MAX_WITH_PARTIAL,
        }
    }

    /// Returns how often rows of names are looked for at most.
    fn looks_for_rows(self) -> usize {
        match self {
            Self::Full => MAX_LOOKS_FOR_ROWS,
            Self::Words | Self::Partial => 1,
        }
    }
}

/// A name that is shown.
struct Named {
    name: String,
    /// How the row matches that it was found by.
    found_by: Stage,
    /// Its matching rows, best first; never empty, since a row is what a name is found by.
    rows: Vec<Experience>,
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
            Stage::Words => Match::AllTokens,
            Stage::Full => Match::AllWords(self.words.clone()),
            Stage::Partial => Match::AnyToken,
        };
        Query {
            tokens: self.tokens.clone(),
            matching,
            labels: self.category.clone(),
            faint: Vec::new(),
            without: Vec::new(),
        }
    }

    fn query_for_names(&self, stage: Stage, names: &[String]) -> Query {
        let mut query = self.query(stage);
        query.labels.push(names.iter().map(|name| name_label(name)).collect());
        query
    }

    /// Checks the row itself, since the index only promises candidates.
    fn matches(&self, stage: Stage, row: &Experience) -> bool {
        let folded = texts(row).map(Folded::new);
        let is_full = self.words.iter().all(|word| folded.iter().any(|text| text.contains(word)));
        match stage {
            Stage::Words | Stage::Full => is_full,
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
        let query = query.clone();
        self.run(move |search, rows| search.find_experiences(&query, rows)).await
    }

    fn find_experiences(
        &self,
        query: &ExperienceQuery,
        rows: &Reader<'_>,
    ) -> Result<ExperienceSearch, Error> {
        let view = self.indexes.experiences.view(&counted_tokens(&query.q))?;
        let category = query.category.as_deref().map(|category| vec![category_label(category)]);
        let asked = Asked {
            words: Folded::words(&query.q),
            tokens: tokens(&query.q),
            question: Question::new(&query.q, view.frequencies()),
            names: relevance::names(&query.q).into_iter().collect(),
            category: category.into_iter().collect(),
        };
        let mut found = Vec::new();
        for stage in STAGES {
            find_names(&view, &asked, stage, query.limit, &mut found, rows)?;
        }
        for stage in STAGES {
            find_rows(&view, &asked, stage, &mut found, rows)?;
        }
        Ok(ExperienceSearch { results: show(found, rows)? })
    }
}

/// Adds the names of the best matching rows, each with its row, until there are `limit`.
///
/// Names that are there already are left out of each further look, so that one name with many rows hides none.
fn find_names(
    view: &View<'_>,
    asked: &Asked,
    stage: Stage,
    limit: usize,
    found: &mut Vec<Named>,
    rows: &Reader<'_>,
) -> Result<(), Error> {
    let mut batch = ROWS_PER_NAME * limit;
    let mut rejected = HashSet::new();
    while found.len() < limit {
        let mut query = asked.query(stage);
        query.without = found.iter().map(|named| name_label(&named.name)).collect();
        let hits = view.search(&query, batch)?;
        let is_last = hits.len() < batch;
        let fresh: Vec<Hit> = hits.into_iter().filter(|hit| !rejected.contains(&hit.row)).collect();
        let known = found.len();
        for chunk in fresh.chunks(READ_ROWS) {
            if found.len() == limit {
                break;
            }
            let mut matching = read_matching(asked, stage, chunk, rows)?;
            for hit in chunk {
                let Some(row) = matching.remove(&hit.row) else {
                    rejected.insert(hit.row);
                    continue;
                };
                let name = &row.report.name;
                if found.len() < limit && found.iter().all(|named| named.name != *name) {
                    found.push(Named { name: name.clone(), found_by: stage, rows: vec![row] });
                }
            }
        }
        // These come best first: when a whole look had no answer, the next has none.
        if is_last || (stage != Stage::Full && found.len() == known) {
            break;
        }
        batch *= 4;
    }
    Ok(())
}

/// Adds the best matching rows to each name that has too few so far.
fn find_rows(
    view: &View<'_>,
    asked: &Asked,
    stage: Stage,
    found: &mut [Named],
    rows: &Reader<'_>,
) -> Result<(), Error> {
    let wanted = stage.rows_per_name();
    // What earlier stages found is among the best here too.
    let (mut known, mut limit) = (0, MAX_PER_NAME + wanted);
    for look in 0..stage.looks_for_rows() {
        let is_short = |named: &&mut Named| {
            named.rows.len() < wanted && (look == 0 || named.found_by == stage)
        };
        let mut short: Vec<&mut Named> = found.iter_mut().filter(is_short).collect();
        if short.is_empty() {
            break;
        }
        let names: Vec<String> = short.iter().map(|named| named.name.clone()).collect();
        let groups: Vec<u64> = names.iter().map(|name| group(name)).collect();
        let any_name = asked.query(stage);
        let query = if view.count_at_most(&any_name) <= MAX_GATHERED {
            any_name
        } else {
            asked.query_for_names(stage, &names)
        };
        let mut hits = view.search_groups(&query, &groups, limit)?;
        let is_last = hits.iter().all(|hits| hits.len() < limit);
        for (named, hits) in short.iter().zip(&mut hits) {
            hits.drain(..known.min(hits.len()));
            hits.retain(|hit| named.rows.iter().all(|row| row.id.0 != hit.row));
        }
        fill(asked, stage, &mut short, hits, rows)?;
        if is_last {
            break;
        }
        (known, limit) = (limit, 4 * limit);
    }
    Ok(())
}

/// Adds the first matching ones of these hits to each name, as many as it lacks.
///
/// Where the index only promises candidates, further ones are read for names that have such rows:
/// for all others most candidates are false, and reading them is dear.
fn fill(
    asked: &Asked,
    stage: Stage,
    short: &mut [&mut Named],
    hits: Vec<Vec<Hit>>,
    rows: &Reader<'_>,
) -> Result<(), Error> {
    let wanted = stage.rows_per_name();
    let mut left: Vec<_> = hits.into_iter().map(Vec::into_iter).collect();
    loop {
        let lacking = short.iter().map(|named| wanted - named.rows.len());
        let next: Vec<Vec<Hit>> =
            lacking.zip(&mut left).map(|(count, left)| left.take(count).collect()).collect();
        if next.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let mut matching = read_matching(asked, stage, &next.concat(), rows)?;
        for ((named, left), hits) in short.iter_mut().zip(&mut left).zip(next) {
            let known = named.rows.len();
            let rows = hits.iter().filter_map(|hit| matching.remove(&hit.row));
            named.rows.extend(rows.filter(|row| row.report.name == named.name));
            let has_such = named.found_by == stage || named.rows.len() > known;
            if stage != Stage::Full || !has_such {
                *left = Vec::new().into_iter();
            }
        }
    }
}

/// Returns the names as an answer shows them, with what is known over all their rows.
fn show(found: Vec<Named>, rows: &Reader<'_>) -> Result<Vec<ResourceHit>, Error> {
    let names = found.iter().map(|named| named.name.clone()).collect();
    let mut aggregates = rows.list_resource_names(names)?;
    let results = found.into_iter().map(|Named { name, rows, .. }| {
        let aggregate = aggregates.remove(&name).unwrap_or_default();
        ResourceHit {
            name,
            url: aggregate.url,
            relevant_experiences: rows.iter().map(shown).collect(),
            avg_score: aggregate.avg_score,
            experience_count: aggregate.experience_count,
        }
    });
    Ok(results.collect())
}

/// Reads the rows again, and keeps those that match and did not change since they were indexed.
fn read_matching(
    asked: &Asked,
    stage: Stage,
    hits: &[Hit],
    rows: &Reader<'_>,
) -> Result<HashMap<i64, Experience>, Error> {
    let seqs: HashMap<i64, i64> = hits.iter().map(|hit| (hit.row, hit.seq)).collect();
    let rows = rows.list_experiences(seqs.keys().copied().collect())?;
    Ok(rows
        .into_iter()
        .filter(|row| seqs.get(&row.id.0) == Some(&row.seq) && asked.matches(stage, row))
        .map(|row| (row.id.0, row))
        .collect())
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
