//! The task that embeds what was written, and keeps the index of vectors after the store.

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{Arc, PoisonError, atomic::AtomicBool, atomic::Ordering},
    time::Duration,
};

use futures_util::FutureExt;
use half::f16;
use llm::embedding::{Embedding, EmbeddingError, TextRole};
use protocol::hub::{EmbeddingProgress, EmbeddingStage as Stage, KnowledgeStatus};
use service::logging::chain;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::{
    Embeddings, OpenSpace, embedded_text,
    failure::{Failure, pause},
    page::{PAGE_ROWS, fitting},
};
use crate::{
    blocking,
    search::knowledge_labels,
    store::{self, Change, KnowledgeRow, NewVector, RecordKind, SpaceRow, StoredVector},
    vectors::{Space, VectorIndex, Vectored},
};

/// How many records are read at once where nothing has to be embedded.
const REPLAY_ROWS: u32 = 1_024;

/// How long a page may take; then it is tried again.
const PAGE_PATIENCE: Duration = Duration::from_mins(5);

/// How long nothing must have changed before the index is saved.
const SAVE_PAUSE: Duration = Duration::from_mins(1);

/// How many changed vectors are saved at once, at least; a crash costs that many to be put in again.
const SAVE_ROWS: usize = 10_000;

/// Where the follower is.
struct Place {
    space: Arc<OpenSpace>,
    /// Records up to this change are in the index, where they have a vector.
    indexed: i64,
    /// Records up to this change have their vector in the store.
    embedded: i64,
    /// The index holds changes that are not on disk, and how many.
    unsaved: usize,
}

impl Embeddings {
    /// Embeds what changes until `stop`, then saves the index; a failure is told, and tried again after a pause.
    pub(crate) async fn follow(self, stop: CancellationToken) {
        let mut place = None;
        let mut failures = 0;
        while !stop.is_cancelled() {
            let turn = AssertUnwindSafe(self.turn(&mut place, &stop)).catch_unwind().await;
            let (failed, retry_after) = match turn {
                Ok(Ok(())) => (None, None),
                Ok(Err(failure)) => (Some(chain(&failure)), failure.retry_after()),
                Err(_) => (Some("it panicked".to_owned()), None),
            };
            failures = if failed.is_some() { failures + 1 } else { 0 };
            self.note(|progress| progress.problem = failed.clone().unwrap_or_default());
            if let Some(failure) = failed {
                let pause = pause(failures, retry_after, rand::random());
                tracing::warn!(
                    error = failure,
                    pause_ms = pause.as_millis() as u64,
                    "embedding does not go on; trying again"
                );
                let _ = stop.run_until_cancelled(tokio::time::sleep(pause)).await;
            }
        }
        if let Some(place) = &mut place
            && let Err(failure) = self.save(place).await
        {
            tracing::warn!(error = %chain(&failure), "the index of vectors was left as it was on disk");
        }
    }

    async fn turn(
        &self,
        slot: &mut Option<Place>,
        stop: &CancellationToken,
    ) -> Result<(), Failure> {
        if slot.is_none() {
            *slot = self.find_place().await?;
        }
        let Some(place) = slot else {
            *slot = self.begin(stop).await?;
            return Ok(());
        };
        if place.indexed < place.embedded {
            return self.replay(place).await;
        }
        let other = match self.other_dimension(place).await? {
            None => {
                let changes = self.changes_after(place.embedded, PAGE_ROWS).await?;
                if changes.is_empty() {
                    return self.rest(place, stop).await;
                }
                self.tell(place).await?;
                self.embed(place, changes).await?
            }
            other => other,
        };
        if let Some(dimension) = other {
            tracing::warn!(
                from = place.space.dimension,
                to = dimension,
                "the embedding model has another dimension now; all records are embedded anew"
            );
            *slot = Some(self.begin_space(dimension).await?);
        }
        Ok(())
    }

    /// Returns the dimension that passages have now, if a query's vector was of another than the space and theirs are too.
    async fn other_dimension(&self, place: &Place) -> Result<Option<usize>, Failure> {
        let query = self.shared.other_dimension.swap(0, Ordering::Relaxed);
        if query == 0 || query == place.space.dimension {
            return Ok(None);
        }
        let passage = self.probe().await?;
        if passage == place.space.dimension {
            return Err(Failure::QueryDimension { query, passage });
        }
        Ok(Some(passage))
    }

    async fn changes_after(&self, mark: i64, limit: u32) -> Result<Vec<Change>, store::Error> {
        self.shared.store.list_changes_after(RecordKind::Knowledge, mark, limit).await
    }

    /// Goes on where an earlier hub was, if there is such a place.
    async fn find_place(&self) -> Result<Option<Place>, Failure> {
        let name = self.shared.embedder.space().to_owned();
        match self.shared.store.find_space(name).await? {
            Some(row) => self.open(row).await.map(Some),
            None => Ok(None),
        }
    }

    async fn open(&self, row: SpaceRow) -> Result<Place, Failure> {
        let (folder, identity) = (self.shared.folder.clone(), self.shared.store.identity().clone());
        let SpaceRow { space, name, dimension, mark, is_complete } = row;
        let dimension = dimension as usize;
        let described = Space { name: name.clone(), dimension };
        let opened =
            blocking::run(move || VectorIndex::open(&folder, &described, &identity)).await?;
        let index = opened?;
        let indexed = index.mark().min(mark);
        let is_whole = AtomicBool::new(is_complete && indexed == mark);
        let space = Arc::new(OpenSpace { space, name, dimension, index, is_whole });
        // Shown before the rest is read, so that no change slips through between.
        self.shared.live.show(Some(Arc::clone(&space)));
        let stage = if is_complete { Stage::Opening } else { Stage::Building };
        self.note_stage(stage, self.shared.store.count_changed_knowledge(mark).await?);
        self.note(|progress| progress.dimension = dimension as u32);
        Ok(Place { space, indexed, embedded: mark, unsaved: 0 })
    }

    /// Waits for the first record, and learns from any vector which dimension the space has.
    async fn begin(&self, stop: &CancellationToken) -> Result<Option<Place>, Failure> {
        let remaining = self.shared.store.count_changed_knowledge(0).await?;
        let stage = if remaining == 0 { Stage::Current } else { Stage::Building };
        self.note_stage(stage, remaining);
        if remaining == 0 {
            let _ = stop.run_until_cancelled(self.shared.live.0.changed.notified()).await;
            return Ok(None);
        }
        let dimension = self.probe().await?;
        Ok(Some(self.begin_space(dimension).await?))
    }

    /// Asks for a vector of any passage, and returns its dimension.
    async fn probe(&self) -> Result<usize, Failure> {
        match self.ask(vec!["KnowHub".to_owned()]).await {
            Err(EmbeddingError::Dimension { found, .. }) => Ok(found),
            probed => probed?.first().and_then(dimension).ok_or(Failure::NoVector),
        }
    }

    async fn begin_space(&self, dimension: usize) -> Result<Place, Failure> {
        let name = self.shared.embedder.space().to_owned();
        tracing::info!(space = name, dimension, "embedding all records");
        let row = self.shared.store.insert_space(name, dimension as u32).await?;
        self.open(row).await
    }

    /// Puts stored vectors into the index that it does not have yet.
    async fn replay(&self, place: &mut Place) -> Result<(), Failure> {
        let mut changes = self.changes_after(place.indexed, REPLAY_ROWS).await?;
        changes.retain(|change| change.seq() <= place.embedded);
        let Some(last) = changes.last().map(Change::seq) else {
            place.indexed = place.embedded;
            return Ok(());
        };
        let stored = self.stored(place, &changes).await?;
        self.index(place, changes, stored).await?;
        place.indexed = last;
        self.save_if_due(place).await
    }

    /// Embeds a page; returns the dimension of its vectors when it is not that of the space.
    async fn embed(
        &self,
        place: &mut Place,
        mut changes: Vec<Change>,
    ) -> Result<Option<usize>, Failure> {
        let mut vectors = self.stored(place, &changes).await?;
        let texts: Vec<Option<String>> =
            changes.iter().map(|change| lacking_text(change, &vectors)).collect();
        let chars = |text: &Option<String>| text.as_ref().map_or(0, |text| text.chars().count());
        changes.truncate(fitting(texts.iter().map(chars)));
        let last = changes.last().map_or(place.embedded, Change::seq);
        let (lacking, texts): (Vec<&KnowledgeRow>, Vec<String>) = changes
            .iter()
            .zip(texts)
            .filter_map(|(change, text)| change.knowledge().zip(text))
            .unzip();
        let embedded = match self.ask(texts).await {
            Err(EmbeddingError::Dimension { found, .. }) if found != place.space.dimension => {
                return Ok(Some(found));
            }
            embedded => embedded?,
        };
        let is_other = |found: &usize| *found != place.space.dimension;
        if let Some(other) = embedded.iter().filter_map(dimension).find(is_other) {
            return Ok(Some(other));
        }
        let mut new = Vec::new();
        for (row, embedding) in lacking.into_iter().zip(embedded) {
            let vector = to_stored(embedding);
            vectors.insert(row.row, vector.clone());
            let (task, content) = (row.record.task.clone(), row.record.content.clone());
            new.push(NewVector { row: row.row, task, content, vector });
        }
        self.shared.store.insert_vectors(place.space.space, new, last, false).await?;
        self.index(place, changes, vectors).await?;
        (place.embedded, place.indexed) = (last, last);
        self.save_if_due(place).await?;
        Ok(None)
    }

    async fn ask(&self, texts: Vec<String>) -> Result<Vec<Embedding>, EmbeddingError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let deadline = Instant::now() + PAGE_PATIENCE;
        let embedded = self.shared.embedder.embed(&texts, TextRole::Passage, deadline).await;
        self.shared.metrics.embedded("passage", texts.len(), embedded.is_ok());
        embedded
    }

    async fn stored(
        &self,
        place: &Place,
        changes: &[Change],
    ) -> Result<HashMap<i64, StoredVector>, store::Error> {
        let rows = changes.iter().filter_map(Change::knowledge).map(|row| row.row).collect();
        self.shared.store.find_vectors(place.space.space, rows).await
    }

    /// Brings the index after these changes; `vectors` are those that the store has for their rows.
    async fn index(
        &self,
        place: &mut Place,
        changes: Vec<Change>,
        mut vectors: HashMap<i64, StoredVector>,
    ) -> Result<(), Failure> {
        let space = Arc::clone(&place.space);
        let mut vectored = Vec::new();
        for change in &changes {
            let Some(row) = change.knowledge() else {
                if let Change::Deleted(gone) = change {
                    space.index.hide(gone.row);
                }
                continue;
            };
            let number = row.row;
            let vector = vectors.remove(&number).map(|one| one.vector);
            let vector = vector.filter(|vector| !vector.is_empty());
            match (knowledge_labels(&row.record), vector) {
                (Some(labels), Some(vector)) => {
                    // A row may be there with the vector of its old text, if the hub died or failed before it was put.
                    let is_there = space.index.has(number, &vector);
                    if !(is_there && space.index.relabel(number, &labels)) {
                        vectored.push(Vectored { row: number, labels, vector });
                    }
                }
                _ => space.index.hide(number),
            }
        }
        place.unsaved += changes.len();
        if !vectored.is_empty() {
            blocking::run(move || space.index.put(vectored)).await??;
        }
        Ok(())
    }

    /// Everything is embedded and indexed: says so, tidies up, and waits for more.
    async fn rest(&self, place: &mut Place, stop: &CancellationToken) -> Result<(), Failure> {
        let space = &place.space;
        if !space.is_whole.load(Ordering::Acquire) {
            let mark = place.embedded;
            self.shared.store.insert_vectors(space.space, Vec::new(), mark, true).await?;
            space.is_whole.store(true, Ordering::Release);
            tracing::info!(
                space = space.name,
                "every record is embedded; searches go by vectors too"
            );
        }
        self.tell(place).await?;
        if self.shared.store.delete_other_vectors(place.space.space).await? > 0 {
            return Ok(());
        }
        let changed = timeout(SAVE_PAUSE, self.shared.live.0.changed.notified());
        if let Some(Err(_)) = stop.run_until_cancelled(changed).await {
            self.save(place).await?;
        }
        Ok(())
    }

    /// Notes for everybody how far it is.
    async fn tell(&self, place: &Place) -> Result<(), store::Error> {
        let remaining = self.shared.store.count_changed_knowledge(place.embedded).await?;
        let is_whole = place.space.is_whole.load(Ordering::Acquire);
        let stage = if is_whole { Stage::Current } else { Stage::Building };
        self.note_stage(stage, remaining);
        Ok(())
    }

    fn note_stage(&self, stage: Stage, remaining: u32) {
        self.note(|progress| (progress.stage, progress.remaining) = (stage, remaining));
        self.shared.metrics.embedding_remaining(remaining);
    }

    async fn save_if_due(&self, place: &mut Place) -> Result<(), Failure> {
        if place.unsaved >= SAVE_ROWS.max(place.space.index.len() / 10) {
            self.save(place).await?;
        }
        Ok(())
    }

    async fn save(&self, place: &mut Place) -> Result<(), Failure> {
        if place.unsaved > 0 {
            let (space, mark) = (Arc::clone(&place.space), place.indexed);
            blocking::run(move || space.index.save(mark)).await??;
            place.unsaved = 0;
        }
        Ok(())
    }

    fn note(&self, change: impl FnOnce(&mut EmbeddingProgress)) {
        change(&mut self.shared.progress.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Returns what is to be embedded of a changed record that has no vector yet.
fn lacking_text(change: &Change, vectors: &HashMap<i64, StoredVector>) -> Option<String> {
    let row = change.knowledge()?;
    let is_lacking =
        !vectors.contains_key(&row.row) && row.record.status != KnowledgeStatus::Rejected;
    is_lacking.then(|| embedded_text(&row.record))
}

fn dimension(embedding: &Embedding) -> Option<usize> {
    match embedding {
        Embedding::Vector { vector, .. } => Some(vector.len()),
        Embedding::Refused => None,
    }
}

fn to_stored(embedding: Embedding) -> StoredVector {
    match embedding {
        Embedding::Vector { vector, is_cut } => {
            StoredVector { vector: vector.into_iter().map(f16::from_f32).collect(), is_cut }
        }
        Embedding::Refused => StoredVector { vector: Vec::new(), is_cut: false },
    }
}
