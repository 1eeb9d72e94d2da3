//! Searching knowledge: recall by words and by vectors within the filters, one order, and a decision on each candidate.

use std::collections::{HashMap, HashSet};

use protocol::{
    Timestamp,
    hub::{Knowledge, KnowledgeHit, KnowledgeSearch, KnowledgeStatus},
};

use super::{
    Error, Rows, Search,
    fusion::{self, Candidate, Named, Scale},
    relevance::{self, Question, counted_tokens},
};
use crate::{
    embedding::{QueryVector, embedded_text},
    index::{Doc, Match, Query, View},
    store::KnowledgeRow,
    text::content_tokens,
};

/// By what a search may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Means {
    /// By words alone, which costs least.
    Words,
    /// By vectors too, where records are embedded.
    Vectors,
    /// By a language model's order too, where there is one.
    Model,
}

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
    /// By what it may go.
    pub(crate) means: Means,
}

/// Returns what the index of words knows of a record.
pub(super) fn doc(row: &KnowledgeRow) -> Doc {
    let record = &row.record;
    let names = [record.id.as_str(), record.source.name.trim()];
    let mut labels: Vec<String> = names.into_iter().map(name_label).collect();
    // One that is not searchable has no label that filters could ask for.
    labels.extend(filter_labels(record).unwrap_or_default());
    let texts = vec![embedded_text(record)];
    Doc { row: row.row, seq: row.seq, group: None, texts, labels }
}

/// Returns what a record is filtered by, as `kind:value`; nothing for one that is not searchable.
pub(crate) fn filter_labels(record: &Knowledge) -> Option<Vec<String>> {
    if !is_searchable(record) {
        return None;
    }
    let mut labels = vec![format!("owner:{}", record.owner)];
    labels.extend(record.types.iter().map(|one| format!("type:{one}")));
    labels.extend(record.scopes.iter().map(|one| format!("scope:{one}")));
    labels.extend(record.tags.iter().map(|(name, value)| tag_label(name, value)));
    labels.extend((1..=record.eval.score).map(|score| format!("min_score:{score}")));
    Some(labels)
}

fn is_searchable(record: &Knowledge) -> bool {
    matches!(record.status, KnowledgeStatus::Approved | KnowledgeStatus::Checked)
}

/// Labels a record's id and its source's name, which are found in any case.
fn name_label(name: &str) -> String {
    format!("name:{}", name.to_lowercase())
}

fn tag_label(name: &str, value: &str) -> String {
    format!("tag:{name}\n{value}")
}

impl KnowledgeQuery {
    /// Returns a search for what is like a text, whoever may see it and however little it may answer.
    pub(crate) fn like(q: String, top_k: usize, means: Means) -> Self {
        Self {
            q,
            top_k,
            min_score: 1,
            types: Vec::new(),
            owners: Vec::new(),
            scopes: Vec::new(),
            tags: Vec::new(),
            all: true,
            means,
        }
    }

    /// Returns the groups of labels, of each of which a record must have one.
    fn filters(&self) -> Vec<Vec<String>> {
        let labels = |kind, values: &[String]| -> Vec<String> {
            values.iter().map(|value| format!("{kind}:{value}")).collect()
        };
        // Every searchable record has a score, so that this group stands for being searchable too.
        let mut groups = vec![vec![format!("min_score:{}", self.min_score)]];
        groups.extend(labels("type", &self.types).into_iter().map(|label| vec![label]));
        groups.extend(self.tags.iter().map(|(name, value)| vec![tag_label(name, value)]));
        for group in [labels("owner", &self.owners), labels("scope", &self.scopes)] {
            if !group.is_empty() {
                groups.push(group);
            }
        }
        groups
    }

    fn passes(&self, record: &Knowledge) -> bool {
        filter_labels(record).is_some_and(|labels| {
            self.filters().iter().all(|group| group.iter().any(|label| labels.contains(label)))
        })
    }
}

impl Search {
    /// Searches knowledge; what is judged irrelevant is held back and counted.
    pub(crate) async fn knowledge(&self, query: &KnowledgeQuery) -> Result<KnowledgeSearch, Error> {
        let vector = match &self.ranking.embeddings {
            Some(embeddings) if query.means >= Means::Vectors => {
                embeddings.embed_query(&query.q).await
            }
            _ => None,
        };
        let (asked, top_k, by_vectors) = (query.clone(), query.top_k, vector.is_some());
        let mut ranked =
            self.run(move |search, rows| search.rank(&asked, vector.as_ref(), rows)).await?;

        // Of those that would have been shown, so that `all` shows what is counted here.
        let irrelevant = ranked.iter().take(top_k).filter(|hit| !hit.relevant).count();
        let withheld = if query.all { 0 } else { irrelevant as u64 };
        ranked.retain(|hit| hit.relevant || query.all);
        let reranked = match &self.ranking.reranker {
            Some(reranker) if query.means == Means::Model => {
                reranker.rerank(&query.q, &mut ranked).await
            }
            _ => false,
        };
        ranked.truncate(top_k);
        let count = ranked.len() as u64;
        Ok(KnowledgeSearch { results: ranked, count, by_vectors, reranked, withheld })
    }

    /// Returns all candidates, best first, each judged.
    fn rank(
        &self,
        query: &KnowledgeQuery,
        vector: Option<&QueryVector>,
        rows: &Rows<'_>,
    ) -> Result<Vec<KnowledgeHit>, Error> {
        let mut view = self.indexes.knowledge.view(&counted_tokens(&query.q))?;
        let spellings = view.spellings_of_unknown(&content_tokens(&query.q))?;
        let names: HashSet<String> = relevance::names(&query.q).into_iter().collect();
        let candidates = self.recall(&view, query, &names, spellings, vector, rows)?;
        let question = Question::new(&query.q, view.frequencies());
        let background = match vector {
            Some(QueryVector { vector, space }) => space.index.background(vector)?,
            None => None,
        };
        let scale = Scale {
            question: &question,
            background,
            calibrations: &self.ranking.calibrations,
            now: Timestamp::now(),
        };
        Ok(fusion::rank(candidates, &scale))
    }

    /// Returns the candidates: the record whose id or name the query is, the best by BM25, the nearest by cosine.
    fn recall(
        &self,
        view: &View<'_>,
        query: &KnowledgeQuery,
        names: &HashSet<String>,
        spellings: Vec<String>,
        vector: Option<&QueryVector>,
        rows: &Rows<'_>,
    ) -> Result<Vec<Candidate>, Error> {
        // What is shown first does not depend on how much is shown.
        let limit = self.ranking.recall_factor * query.top_k.max(fusion::JUDGED);
        let (mut tokens, mut faint) = relevance::ranked_tokens(&query.q);
        for word in spellings {
            if !tokens.contains(&word) {
                faint.push(word.clone());
                tokens.push(word);
            }
        }
        let recalled = |matching, names: Vec<String>| {
            let mut labels = query.filters();
            labels.extend((!names.is_empty()).then_some(names));
            let tokens = tokens.clone();
            let faint = faint.clone();
            view.search(&Query { tokens, faint, matching, labels, without: Vec::new() }, limit)
        };
        let label = |name: &String| name_label(name);
        let mut hits = recalled(Match::Labels, vec![name_label(query.q.trim())])?;
        hits.extend(recalled(Match::Labels, names.iter().map(label).collect())?);
        hits.extend(recalled(Match::AnyToken, Vec::new())?);
        let mut seen = HashSet::new();
        hits.retain(|hit| seen.insert(hit.row));

        let near = match vector {
            Some(QueryVector { vector, space }) => {
                space.index.search(vector, &query.filters(), limit)?
            }
            None => Vec::new(),
        };
        let numbers: Vec<i64> =
            hits.iter().map(|hit| hit.row).chain(near.iter().map(|near| near.row)).collect();
        let (by_words, by_vector): (Vec<_>, Vec<_>) =
            rows.list_knowledge(numbers)?.into_iter().partition(|row| seen.contains(&row.row));
        let mut found = rows.as_found(&hits, by_words, |row| (row.row, row.seq));
        // What the index of vectors knows may be a moment old.
        let by_vector = by_vector.into_iter().filter(|row| query.passes(&row.record));
        found.extend(by_vector.map(|row| (row.row, row)));

        let mut scores: HashMap<i64, f32> = hits.iter().map(|hit| (hit.row, hit.score)).collect();
        let others = found.values().filter(|row| !scores.contains_key(&row.row));
        let others: Vec<String> = others.map(|row| name_label(row.record.id.as_str())).collect();
        if !others.is_empty() {
            scores.extend(recalled(Match::Labels, others)?.iter().map(|hit| (hit.row, hit.score)));
        }
        let cosines = cosines(vector, found.keys().copied().collect(), rows)?;
        Ok(found
            .into_values()
            .filter(|row| is_searchable(&row.record))
            .map(|row| Candidate {
                lexical: scores.get(&row.row).copied().map_or(0.0, f64::from),
                vector: cosines.get(&row.row).copied(),
                named: Named::by(names, &query.q, &row.record),
                seq: row.seq,
                record: row.record,
            })
            .collect())
    }
}

/// Returns how near these rows are to the query, where they have a vector that is true.
fn cosines(
    vector: Option<&QueryVector>,
    numbers: Vec<i64>,
    rows: &Rows<'_>,
) -> Result<HashMap<i64, f64>, Error> {
    let Some(QueryVector { vector, space }) = vector else { return Ok(HashMap::new()) };
    let embedded = rows.list_embedded(space.space, numbers)?;
    let cosines = space.index.cosines(vector, &embedded)?;
    let known = embedded.into_iter().zip(cosines);
    Ok(known.filter_map(|(row, cosine)| Some((row, f64::from(cosine?)))).collect())
}
