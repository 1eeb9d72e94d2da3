//! Feedback on knowledge: stored first, then worked into the record by a model where there is one.

use std::time::Duration;

use futures_util::future::join_all;
use protocol::{
    KnowledgeId, Timestamp,
    hub::{BatchResults, BatchUpdate, Knowledge, KnowledgeFeedback, KnowledgeUpdated},
};
use serde::Serialize;
use service::logging::chain;
use tokio::time::Instant;

use crate::{
    knowledge::{self, Author, NotEvolved},
    model::{Model, NoReply},
    store::{self, Edited, Expected, IdempotentRequest, Judged, OpenFeedback, Store, Written},
};

/// How long one record may take to be rewritten; after that its feedback stays open.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long all records of a batch may take together; the feedback of the others stays open.
const BATCH_PATIENCE: Duration = Duration::from_mins(1);

/// A handle to what works feedback in; clones share it.
#[derive(Clone)]
pub(crate) struct Editor {
    store: Store,
    model: Option<Model>,
}

impl Editor {
    /// Returns an editor that leaves feedback open where there is no model.
    pub(crate) fn new(store: Store, model: Option<Model>) -> Self {
        Self { store, model }
    }

    /// Takes in what a user found of one record, unless the same request was answered before.
    pub(crate) async fn take_feedback(
        &self,
        id: KnowledgeId,
        feedback: KnowledgeFeedback,
        expected: Expected,
        author: Author,
        request: Option<IdempotentRequest>,
    ) -> Result<Written<(i64, KnowledgeUpdated)>, store::Error> {
        let name = author.name.clone();
        let Written { answer: mut judged, replayed } = self
            .store
            .insert_feedback(id, feedback, expected, author, self.reason(), request.clone())
            .await?;
        if let (Some(model), Some(open), false) = (&self.model, judged.open.clone(), replayed) {
            let deadline = Instant::now() + PATIENCE;
            match self.evolve(model, &judged.edited.record, open, name, deadline).await {
                Ok(edited) => {
                    judged.edited = edited;
                    judged.reason.clear();
                }
                Err(reason) => judged.reason = reason.to_string(),
            }
            self.settle(request, &judged).await;
        }
        Ok(Written { answer: updated(judged), replayed })
    }

    /// Takes in many verdicts, unless the same request was answered before.
    pub(crate) async fn take_batch(
        &self,
        batch: BatchUpdate,
        author: Author,
        request: Option<IdempotentRequest>,
    ) -> Result<Written<BatchResults>, store::Error> {
        let name = author.name.clone();
        let Written { answer: mut judged, replayed } = self
            .store
            .insert_feedback_batch(batch.feedback_list, author, self.reason(), request.clone())
            .await?;
        if let (Some(model), false, false) = (&self.model, judged.open.is_empty(), replayed) {
            let deadline = Instant::now() + BATCH_PATIENCE;
            let evolving = judged.open.iter().map(async |(index, open)| {
                (*index, self.evolve_stored(model, open.clone(), name.clone(), deadline).await)
            });
            for (index, evolved) in join_all(evolving).await {
                let result = &mut judged.results.results[index];
                result.evolved = Some(evolved.is_ok());
                result.reason = evolved.err().map(|reason| reason.to_string()).unwrap_or_default();
            }
            self.settle(request, &judged).await;
        }
        Ok(Written { answer: judged.results, replayed })
    }

    /// Says why feedback is not worked in, as long as nothing else happened.
    fn reason(&self) -> String {
        match self.model {
            Some(_) => NotEvolved::Interrupted.to_string(),
            None => NotEvolved::NoModel.to_string(),
        }
    }

    async fn evolve_stored(
        &self,
        model: &Model,
        feedback: OpenFeedback,
        by: String,
        deadline: Instant,
    ) -> Result<Edited, NotEvolved> {
        let record = self.store.find_knowledge(feedback.knowledge_id.clone()).await;
        let record = record.map_err(not_stored)?.ok_or(NotEvolved::Changed)?.record;
        self.evolve(model, &record, feedback, by, deadline).await
    }

    /// Has a record rewritten; whatever goes wrong, it stays as it is and its feedback stays open.
    async fn evolve(
        &self,
        model: &Model,
        record: &Knowledge,
        feedback: OpenFeedback,
        by: String,
        deadline: Instant,
    ) -> Result<Edited, NotEvolved> {
        let messages = knowledge::prompt(record, &feedback.text)?;
        let reply =
            model.complete("evolve", messages, deadline).await.map_err(|err| match err {
                NoReply::Late => NotEvolved::Late,
                NoReply::Failed { .. } => NotEvolved::ModelFailed,
            })?;
        let content = knowledge::usable(&reply, record, &feedback.text)?;
        let before = (record.task.clone(), record.content.clone());
        let author = Author { name: by, now: Timestamp::now() };
        let edited = self.store.update_by_feedback(feedback, before, content, author).await;
        edited.map_err(not_stored)?.ok_or(NotEvolved::Changed)
    }

    /// Lets whoever repeats the request hear how it ended; that it was taken in stands already.
    async fn settle<T: Serialize + Clone + Send + 'static>(
        &self,
        request: Option<IdempotentRequest>,
        answer: &T,
    ) {
        let Some(request) = request else { return };
        if let Err(err) = self.store.update_answer(request, answer.clone()).await {
            tracing::warn!(error = %chain(&err), "the answer to a repeated request was left as it was");
        }
    }
}

fn updated(judged: Judged) -> (i64, KnowledgeUpdated) {
    let Judged { edited: Edited { version, record }, open, reason } = judged;
    let evolved = open.is_some() && reason.is_empty();
    (version, KnowledgeUpdated { knowledge: record, evolved, reason })
}

/// The feedback is stored, so that the request as a whole did not fail.
#[expect(clippy::needless_pass_by_value, reason = "it is mapped over")]
fn not_stored(err: store::Error) -> NotEvolved {
    tracing::warn!(error = %chain(&err), "a rewritten record was not stored");
    NotEvolved::NotStored
}
