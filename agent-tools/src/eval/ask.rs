//! Asks a hub the questions of a set, and others that nothing in it answers.

use std::{
    collections::{BTreeMap, HashMap},
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use futures_util::{StreamExt, TryStreamExt, stream};
use protocol::{
    KnowledgeId,
    hub::{KnowledgeHit, KnowledgeSearch, Signals},
};

use super::{
    Error, Watch,
    metrics::{DEPTH, Ranking},
    set::Question,
};
use crate::hub::{self, KnowledgeQuery};

/// How a set is asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// How many questions at once.
    pub(crate) parallel: usize,
    /// A passage's grade is its gain; else each that answers gains 1.
    pub(crate) graded: bool,
    /// Foreign questions too are asked for all that is judged irrelevant.
    pub(crate) wants_hits: bool,
}

/// What came of one question.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// With what is judged irrelevant; `None` where nothing can answer.
    pub(crate) ranking: Option<Ranking>,
    /// Without what is judged irrelevant, something came back.
    pub(crate) returned_anything: bool,
    /// How long the search took of which `returned_anything` speaks.
    pub(crate) took: Duration,
    /// The hub's embedding model took part in each search.
    pub(crate) by_vectors: bool,
    /// What came back with all that is judged irrelevant, best first; empty where that was not asked for.
    pub(crate) hits: Vec<Hit>,
}

/// One result of a search.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    /// Its signals by name; one that played no part is absent.
    pub(crate) signals: BTreeMap<String, f64>,
    pub(crate) is_answer: bool,
}

fn hits(found: &KnowledgeSearch, is_answer: impl Fn(&KnowledgeId) -> bool) -> Vec<Hit> {
    let signals = |signals: &Signals| {
        let all = serde_json::to_value(signals).unwrap_or_default();
        let all = all.as_object().cloned().unwrap_or_default();
        all.into_iter().filter_map(|(name, value)| Some((name, value.as_f64()?))).collect()
    };
    let hit = |hit: &KnowledgeHit| Hit {
        signals: signals(&hit.signals),
        is_answer: is_answer(&hit.knowledge.id),
    };
    found.results.iter().map(hit).collect()
}

/// Asks the questions of a set, of which `records` are the passages.
pub(crate) async fn own(
    client: &hub::Client,
    questions: &[Question],
    records: &[KnowledgeId],
    manner: Manner,
    watch: Watch<'_>,
) -> Result<Vec<Reply>, Error> {
    let one = async |question: &Question| {
        let mut gains = HashMap::<&KnowledgeId, u32>::new();
        for answer in &question.answers {
            let gain = gains.entry(&records[answer.passage]).or_default();
            *gain = (*gain).max(if manner.graded { answer.grade } else { 1 });
        }
        let all = search(client, &question.text, Judged::All).await?.0;
        let gained = all.results.iter().map(|hit| gains.get(&hit.knowledge.id).copied());
        let gained: Vec<_> = gained.map(Option::unwrap_or_default).collect();
        let ranking = Ranking::of(&gained, &gains.values().copied().collect::<Vec<_>>());
        let (found, took) = search(client, &question.text, Judged::Relevant).await?;
        Ok(Reply {
            ranking: Some(ranking),
            returned_anything: found.count > 0,
            took,
            by_vectors: all.by_vectors && found.by_vectors,
            hits: hits(&all, |id| gains.contains_key(id)),
        })
    };
    each("asking questions", questions, one, manner, watch).await
}

/// Asks questions that nothing answers.
pub(crate) async fn foreign(
    client: &hub::Client,
    questions: &[String],
    manner: Manner,
    watch: Watch<'_>,
) -> Result<Vec<Reply>, Error> {
    let one = async |question: &String| {
        let (found, took) = search(client, question, Judged::Relevant).await?;
        let by_vectors = found.by_vectors;
        let hits = if manner.wants_hits {
            hits(&search(client, question, Judged::All).await?.0, |_| false)
        } else {
            Vec::new()
        };
        let returned_anything = found.count > 0;
        Ok(Reply { ranking: None, returned_anything, took, by_vectors, hits })
    };
    each("asking foreign questions", questions, one, manner, watch).await
}

async fn each<T>(
    doing: &str,
    questions: &[T],
    one: impl AsyncFn(&T) -> Result<Reply, Error>,
    manner: Manner,
    watch: Watch<'_>,
) -> Result<Vec<Reply>, Error> {
    let done = AtomicUsize::new(0);
    let told = async |question: &T| {
        let answered = one(question).await?;
        watch(doing, done.fetch_add(1, Ordering::Relaxed) + 1, questions.len());
        Ok(answered)
    };
    stream::iter(questions).map(told).buffered(manner.parallel).try_collect().await
}

/// What a search returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judged {
    All,
    Relevant,
}

async fn search(
    client: &hub::Client,
    question: &str,
    judged: Judged,
) -> Result<(KnowledgeSearch, Duration), Error> {
    let query = KnowledgeQuery {
        top_k: Some(DEPTH),
        all: judged == Judged::All,
        ..KnowledgeQuery::new(question)
    };
    let started = Instant::now();
    let found = client.search_knowledge(&query).await.map_err(|source| {
        let shown: String = question.chars().take(SHOWN_CHARS).collect();
        Error::Hub { doing: format!("asking {shown:?}"), source }
    })?;
    Ok((found, started.elapsed()))
}

/// How much of a question a message shows, in characters.
const SHOWN_CHARS: usize = 80;
