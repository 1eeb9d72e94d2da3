//! Searching knowledge: lexical recall within the filters, then a decision on each candidate's relevance.

use std::collections::HashSet;

use protocol::hub::{Knowledge, KnowledgeHit, KnowledgeSearch, KnowledgeStatus, Signals};

use super::{
    Error, Rows, Search,
    relevance::{self, Question, counted_tokens},
};
use crate::{
    index::{Doc, Hit, Match, Query, View},
    store::KnowledgeRow,
    text::tokens,
};

/// A search for knowledge.
#[derive(Clone, Debug)]
pub(crate) struct KnowledgeQuery {
    /// Words, or a question.
    pub(crate) q: String,
    /// How many results at most.
    pub(crate) top_k: usize,
    /// The lowest score of a record that has one.
    pub(crate) min_score: u8,
    /// Types that a record must all have.
    pub(crate) types: Vec<String>,
    /// Owners of which a record must have one; empty for any.
    pub(crate) owners: Vec<String>,
    /// Scopes of which a record must have one; empty for any.
    pub(crate) scopes: Vec<String>,
    /// Tags that a record must all have.
    pub(crate) tags: Vec<(String, String)>,
    /// What is judged irrelevant is shown as well, and marked.
    pub(crate) all: bool,
}

/// Returns what the index knows of a record.
pub(super) fn doc(row: &KnowledgeRow) -> Doc {
    let record = &row.record;
    let mut labels = vec![
        name_label(record.id.as_str()),
        name_label(record.source.name.trim()),
        format!("owner:{}", record.owner),
    ];
    labels.extend(record.types.iter().map(|one| format!("type:{one}")));
    labels.extend(record.scopes.iter().map(|one| format!("scope:{one}")));
    labels.extend(record.tags.iter().map(|(name, value)| tag_label(name, value)));
    labels.extend((1..=record.eval.score).map(|score| format!("min_score:{score}")));
    if is_searchable(record) {
        labels.push(SEARCHABLE.to_owned());
    }
    Doc { row: row.row, seq: row.seq, group: None, texts: vec![searched_text(record)], labels }
}

const SEARCHABLE: &str = "searchable";

fn is_searchable(record: &Knowledge) -> bool {
    matches!(record.status, KnowledgeStatus::Approved | KnowledgeStatus::Checked)
}

fn searched_text(record: &Knowledge) -> String {
    format!("{}\n{}", record.task, record.content)
}

/// Labels a record's id and its source's name, which are found in any case.
fn name_label(name: &str) -> String {
    format!("name:{}", name.to_lowercase())
}

fn tag_label(name: &str, value: &str) -> String {
    format!("tag:{name}\n{value}")
}

impl KnowledgeQuery {
    fn filters(&self) -> Vec<Vec<String>> {
        let labels = |kind, values: &[String]| -> Vec<String> {
            values.iter().map(|value| format!("{kind}:{value}")).collect()
        };
        let mut groups =
            vec![vec![SEARCHABLE.to_owned()], vec![format!("min_score:{}", self.min_score)]];
        groups.extend(labels("type", &self.types).into_iter().map(|label| vec![label]));
        groups.extend(self.tags.iter().map(|(name, value)| vec![tag_label(name, value)]));
        for group in [labels("owner", &self.owners), labels("scope", &self.scopes)] {
            if !group.is_empty() {
                groups.push(group);
            }
        }
        groups
    }
}

/// Decides on a candidate's relevance.
fn judged(
    (hit, record): (Hit, Knowledge),
    question: &Question,
    names: &HashSet<String>,
) -> KnowledgeHit {
    let is_named = names.contains(&record.source.name.trim().to_lowercase())
        || names.contains(record.id.as_str());
    let relevant = is_named || question.is_answered_by(&searched_text(&record));
    let lexical = (hit.score > 0.0).then_some(f64::from(hit.score));
    let signals = Signals { lexical, ..Signals::default() };
    KnowledgeHit { knowledge: record, relevant, signals }
}

impl Search {
    /// Searches knowledge; what is judged irrelevant is held back and counted.
    pub(crate) async fn knowledge(&self, query: &KnowledgeQuery) -> Result<KnowledgeSearch, Error> {
        let query = query.clone();
        self.run(move |search, rows| search.find_knowledge(&query, rows)).await
    }

    fn find_knowledge(
        &self,
        query: &KnowledgeQuery,
        rows: &Rows<'_>,
    ) -> Result<KnowledgeSearch, Error> {
        let view = self.indexes.knowledge.view(&counted_tokens(&query.q))?;
        let question = Question::new(&query.q, view.frequencies());
        let names: HashSet<String> = relevance::names(&query.q).into_iter().collect();
        let recalled = self.recall(&view, query, &names, rows)?.into_iter();
        let mut ranked: Vec<KnowledgeHit> =
            recalled.map(|hit| judged(hit, &question, &names)).collect();

        // Of those that would have been shown, so that `all` shows what is counted here.
        let irrelevant = ranked.iter().take(query.top_k).filter(|hit| !hit.relevant).count();
        let withheld = if query.all { 0 } else { irrelevant as u64 };
        ranked.retain(|hit| hit.relevant || query.all);
        ranked.truncate(query.top_k);
        Ok(KnowledgeSearch {
            count: ranked.len() as u64,
            results: ranked,
            reranked: false,
            withheld,
        })
    }

    /// Returns the candidates: the record whose id or name the query is, then by BM25.
    fn recall(
        &self,
        view: &View<'_>,
        query: &KnowledgeQuery,
        names: &HashSet<String>,
        rows: &Rows<'_>,
    ) -> Result<Vec<(Hit, Knowledge)>, Error> {
        let limit = self.recall_factor * query.top_k;
        let recalled = |matching, names: Vec<String>| {
            let mut labels = query.filters();
            labels.extend((!names.is_empty()).then_some(names));
            let tokens = tokens(&query.q);
            view.search(&Query { tokens, matching, labels, without: Vec::new() }, limit)
        };
        let label = |name: &String| name_label(name);
        let whole = recalled(Match::Labels, vec![name_label(query.q.trim())])?;
        let mut rest = recalled(Match::Labels, names.iter().map(label).collect())?;
        rest.extend(recalled(Match::AnyToken, Vec::new())?);
        rest.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.seq.cmp(&a.seq)));

        let mut seen = HashSet::new();
        let hits: Vec<Hit> =
            whole.into_iter().chain(rest).filter(|hit| seen.insert(hit.row)).collect();
        let read = rows.list_knowledge(hits.iter().map(|hit| hit.row).collect())?;
        let mut current = rows.as_found(&hits, read, |row| (row.row, row.seq));
        let searchable = |hit: Hit| {
            let record = current.remove(&hit.row)?.record;
            is_searchable(&record).then_some((hit, record))
        };
        Ok(hits.into_iter().filter_map(searchable).collect())
    }
}
