//! Searching resources: those in which every word stands first, then those that answer the question in part.

use std::collections::{HashMap, HashSet};

use protocol::hub::ContentType;

use super::{
    Error, Rows, Search,
    relevance::{self, Question, counted_tokens},
};
use crate::{
    index::{Doc, Hit, Match, Query, View},
    store::{Resource, ResourceFilter},
    text::tokens,
};

/// How many resources that answer a question in part are looked at; of more, the worst matches are not found.
const MAX_PARTIAL: usize = 100;

/// How far one can page through what was found; what is further back is only counted.
const MAX_SHOWN: usize = 10_000;

/// A search for resources.
#[derive(Clone, Debug)]
pub(crate) struct ResourceQuery {
    /// Words, or a question; looked for in id, title and public body.
    pub(crate) q: String,
    /// Among which resources.
    pub(crate) filter: ResourceFilter,
    /// How many of the best are on earlier pages.
    pub(crate) offset: usize,
    /// How many resources a page has.
    pub(crate) limit: usize,
}

/// Returns what the index knows of a resource: never its secret.
pub(super) fn doc(row: &Resource) -> Doc {
    let mut labels = vec![
        name_label(row.id.as_str()),
        name_label(row.title.trim()),
        type_label(row.content_type),
    ];
    let id = row.id.as_str();
    let ends = id.match_indices('/').map(|(at, _)| at).chain([id.len()]);
    labels.extend(ends.map(|end| prefix_label(&id[..end])));
    Doc { row: row.row, seq: row.seq, group: None, texts: vec![searched_text(row)], labels }
}

fn searched_text(row: &Resource) -> String {
    format!("{}\n{}\n{}", row.id, row.title, row.body)
}

/// Labels a resource's id and title, which are found in any case.
fn name_label(name: &str) -> String {
    format!("name:{}", name.to_lowercase())
}

/// Labels an id and every id above it.
fn prefix_label(prefix: &str) -> String {
    format!("prefix:{prefix}")
}

fn type_label(content_type: ContentType) -> String {
    format!("type:{content_type:?}")
}

impl ResourceQuery {
    fn query(&self, matching: Match) -> Query {
        let ResourceFilter { prefix, content_type } = &self.filter;
        let prefix = prefix.as_ref().map(|prefix| prefix_label(prefix.as_str()));
        let labels = prefix.into_iter().chain(content_type.map(type_label));
        Query {
            tokens: tokens(&self.q),
            matching,
            labels: labels.map(|label| vec![label]).collect(),
            faint: Vec::new(),
            without: Vec::new(),
        }
    }

    fn query_for_names(&self, names: &HashSet<String>) -> Query {
        let mut query = self.query(Match::Labels);
        query.labels.push(names.iter().map(|name| name_label(name)).collect());
        query
    }
}

impl Search {
    /// Searches resources: first those in which every word stands, the one whose id or title the query is before all,
    /// then those that the query names or that answer it in part; returns one page, and how many there are in all.
    pub(crate) async fn resources(
        &self,
        query: &ResourceQuery,
    ) -> Result<(Vec<Resource>, u64), Error> {
        let query = query.clone();
        self.run(move |search, rows| search.find_resources(&query, rows)).await
    }

    fn find_resources(
        &self,
        query: &ResourceQuery,
        rows: &Rows<'_>,
    ) -> Result<(Vec<Resource>, u64), Error> {
        let shown = query.offset..(query.offset + query.limit).min(MAX_SHOWN);
        let whole = HashSet::from([query.q.trim().to_lowercase()]);
        let view = self.indexes.resources.view(&counted_tokens(&query.q))?;
        let all_tokens = query.query(Match::AllTokens);
        let mut hits = view.search(&query.query_for_names(&whole), MAX_PARTIAL)?;
        hits.extend(view.search(&all_tokens, shown.end.max(MAX_PARTIAL))?);
        let mut seen = HashSet::new();
        hits.retain(|hit| seen.insert(hit.row));
        let mut total = view.count(&all_tokens)?;
        if hits.len() < MAX_PARTIAL {
            hits.extend(partial_matches(&view, query, seen, rows)?);
            total = hits.len() as u64;
        }
        let page: Vec<Hit> = hits.into_iter().skip(shown.start).take(shown.len()).collect();
        let mut current = read_current(&page, rows)?;
        let results = page.iter().filter_map(|hit| current.remove(&hit.row)).collect();
        Ok((results, total))
    }
}

/// Returns what the query names or what answers it in part, best first, apart from the rows `known` already.
fn partial_matches(
    view: &View<'_>,
    query: &ResourceQuery,
    mut known: HashSet<i64>,
    rows: &Rows<'_>,
) -> Result<Vec<Hit>, Error> {
    let question = Question::new(&query.q, view.frequencies());
    let names: HashSet<String> = relevance::names(&query.q).into_iter().collect();
    let by_name = view.search(&query.query_for_names(&names), MAX_PARTIAL)?;
    let any = view.search(&query.query(Match::AnyToken), MAX_PARTIAL)?;
    let names: HashSet<i64> = by_name.iter().map(|hit| hit.row).collect();
    let mut hits: Vec<Hit> =
        by_name.into_iter().chain(any).filter(|hit| known.insert(hit.row)).collect();
    let current = read_current(&hits, rows)?;
    hits.retain(|hit| {
        current.get(&hit.row).is_some_and(|row| {
            names.contains(&hit.row) || question.is_answered_by(&searched_text(row))
        })
    });
    Ok(hits)
}

/// Reads the rows again, and keeps those that did not change since they were indexed.
fn read_current(hits: &[Hit], rows: &Rows<'_>) -> Result<HashMap<i64, Resource>, Error> {
    let read = rows.list_resources(hits.iter().map(|hit| hit.row).collect())?;
    Ok(rows.as_found(hits, read, |row| (row.row, row.seq)))
}
