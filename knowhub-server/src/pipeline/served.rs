//! Whether a report is what the hub gave out, looked up before it is stored.

use std::collections::HashSet;

use protocol::{hub::Knowledge, source::excerpt};
use service::logging::chain;

use super::Pipeline;
use crate::{
    knowledge::{Suspect, covers, is_searchable},
    search::{KnowledgeQuery, Means},
    store,
    text::{content_tokens, tokens},
};

/// How many records a served text may be found in.
const MAX_CANDIDATES: usize = 10;

/// How much of a text is looked up, from its beginning and again from its end, in characters.
const LOOKED_UP_CHARS: usize = 200;

/// How many of the records that a text cites are looked at.
const MAX_CITED: usize = 20;

/// How many records a served text is merged into, those first that gave most.
const MAX_TARGETS: usize = 5;

impl Pipeline {
    /// Returns the records that a report was taken from, word by word; none where it says anything of its own.
    ///
    /// Where no search is possible it is taken for new: nothing is lost by that.
    pub(crate) async fn served_from(
        &self,
        record: &Knowledge,
    ) -> Result<Vec<Knowledge>, store::Error> {
        let Some(suspect) = Suspect::of(&record.content) else { return Ok(Vec::new()) };
        let mut stored: Vec<Knowledge> = Vec::new();
        for id in suspect.cited().into_iter().take(MAX_CITED) {
            let found = self.0.store.find_knowledge(id).await?;
            stored.extend(found.map(|row| row.record).filter(is_searchable));
        }
        for q in looked_up(&suspect.text()) {
            let query = KnowledgeQuery::like(q, MAX_CANDIDATES, Means::Words);
            match self.0.search.knowledge(&query).await {
                Ok(found) => stored.extend(found.results.into_iter().map(|hit| hit.knowledge)),
                Err(err) => {
                    tracing::debug!(error = %chain(&err), "a report was not compared with what was served");
                    return Ok(Vec::new());
                }
            }
        }
        stored.retain(|other| covers(other, record));
        let mut taken: Vec<Knowledge> =
            suspect.taken_from(&stored).into_iter().take(MAX_TARGETS).cloned().collect();
        let cited = suspect.cited();
        if !taken.iter().all(|one| cited.contains(&one.id)) && !speak_of(&record.task, &taken) {
            taken.clear();
        }
        Ok(taken)
    }
}

/// Tells whether everything that a task is about stands in the records.
///
/// The same words may be true in two places: "It listens on port 8443." of one service and of another.
fn speak_of(task: &str, records: &[Knowledge]) -> bool {
    let said = records.iter().flat_map(|one| tokens(&format!("{}\n{}", one.task, one.content)));
    let said: HashSet<String> = said.collect();
    content_tokens(task).iter().all(|token| said.contains(token))
}

/// Returns the parts of a text that are looked up: what it begins with, and what it ends with where that is far off.
fn looked_up(text: &str) -> Vec<String> {
    let mut parts = vec![excerpt(text, LOOKED_UP_CHARS)];
    let chars = text.chars().count();
    if chars > LOOKED_UP_CHARS {
        parts.push(text.chars().skip(chars - LOOKED_UP_CHARS).collect());
    }
    parts
}
