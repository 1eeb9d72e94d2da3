//! What users found of records: cases, scores, verdicts, and what a record should say instead.

use std::sync::Arc;

use protocol::{
    KnowledgeId, Timestamp, export,
    hub::{BatchFeedback, BatchResults, Case, EvalStatus, Feedback, KnowledgeFeedback},
};
use rusqlite::{Connection, OptionalExtension, Row};
use serde::{Deserialize, Serialize};

use super::change::{Edited, expect, find_row, named_first, refusable, update};
use crate::{
    knowledge::{Author, flags, item_result, take_feedback, take_verdict},
    store::{Error, Expected, IdempotentRequest, Store, Written, idempotency, left_out},
};

/// Feedback that waits to be worked into its record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OpenFeedback {
    /// Its number.
    pub(crate) id: i64,
    /// The record.
    pub(crate) knowledge_id: KnowledgeId,
    /// What the record should say, in the user's words.
    pub(crate) text: String,
}

/// What a change by feedback left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Judged {
    /// The record.
    pub(crate) edited: Edited,
    /// What is to be worked in.
    pub(crate) open: Option<OpenFeedback>,
    /// Why it is not worked in, if nothing else comes; empty when it is, or there is none.
    pub(crate) reason: String,
}

/// What a batch of verdicts left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BatchJudged {
    /// What became of each item.
    pub(crate) results: BatchResults,
    /// What is to be worked in, by the place of its item; a repeated request works nothing in, and erasing
    /// one of the records must not leave its texts in a stored answer.
    #[serde(skip)]
    pub(crate) open: Vec<(usize, OpenFeedback)>,
}

impl Store {
    /// Takes in what a user found, unless the same request was answered before.
    ///
    /// `reason` is why feedback is not worked in, as a repeated request is told until [`Store::update_answer`].
    pub(crate) async fn insert_feedback(
        &self,
        id: KnowledgeId,
        feedback: KnowledgeFeedback,
        expected: Expected,
        author: Author,
        reason: String,
        request: Option<IdempotentRequest>,
    ) -> Result<Written<Judged>, Error> {
        self.write(move |db, changes| {
            idempotency::once(db, request.as_ref(), author.now, || {
                let before = expect(db, id.as_str(), &expected)?;
                let row = update(db, changes, before, &author, |record| {
                    take_feedback(record, &feedback, &author);
                    Ok(())
                })?;
                let open = feedback.evolve_feedback.map(|text| keep(db, id, text, &author));
                let open = open.transpose()?;
                let reason = if open.is_some() { reason } else { String::new() };
                Ok(Judged { edited: row.into(), open, reason })
            })
        })
        .await
    }

    /// Takes in many verdicts, unless the same request was answered before; `reason` as for one.
    pub(crate) async fn insert_feedback_batch(
        &self,
        items: Vec<BatchFeedback>,
        author: Author,
        reason: String,
        request: Option<IdempotentRequest>,
    ) -> Result<Written<BatchJudged>, Error> {
        self.write(move |db, changes| {
            idempotency::once(db, request.as_ref(), author.now, || {
                let (mut results, mut open) = (Vec::with_capacity(items.len()), Vec::new());
                let ids: Vec<String> = items.iter().map(|item| item.knowledge_id.clone()).collect();
                for (index, item) in items.into_iter().enumerate() {
                    let found =
                        refusable(named_first(&ids, index).and_then(|id| find_row(db, id)))?;
                    let mut result = item_result(item.knowledge_id.clone(), Ok(()));
                    match found {
                        Err(refusal) => result = item_result(item.knowledge_id, Err(refusal)),
                        Ok(before) => {
                            let row = update(db, changes, before, &author, |record| {
                                let (verdict, case) = verdict(&item);
                                take_verdict(&mut record.eval, verdict, &case, &author);
                                Ok(())
                            })?;
                            if !item.feedback.trim().is_empty() {
                                let feedback = keep(db, row.record.id, item.feedback, &author)?;
                                open.push((index, feedback));
                                result.evolved = Some(false);
                                result.reason.clone_from(&reason);
                            }
                        }
                    }
                    results.push(result);
                }
                Ok(BatchJudged { results: BatchResults { results }, open })
            })
        })
        .await
    }

    /// Writes the content that feedback led to, if the record still says what it said then.
    ///
    /// Returns the record, or nothing when it was changed or deleted meanwhile; the feedback then stays open.
    pub(crate) async fn update_by_feedback(
        &self,
        feedback: OpenFeedback,
        before: (String, String),
        content: String,
        author: Author,
    ) -> Result<Option<Edited>, Error> {
        self.write(move |db, changes| {
            let Ok(row) = refusable(find_row(db, feedback.knowledge_id.as_str()))? else {
                return Ok(None);
            };
            if (&row.record.task, &row.record.content) != (&before.0, &before.1) {
                return Ok(None);
            }
            let row = update(db, changes, row, &author, |record| {
                record.content = content;
                Ok(())
            })?;
            db.prepare_cached("UPDATE feedback SET applied_at = ?2 WHERE id = ?1")?
                .execute((feedback.id, author.now.as_millis()))?;
            Ok(Some(row.into()))
        })
        .await
    }

    /// Lists what users said a record should say, newest first, and counts all of it.
    pub(crate) async fn list_feedback(
        &self,
        id: KnowledgeId,
        offset: u32,
        limit: u32,
    ) -> Result<(Vec<Feedback>, u64), Error> {
        let left_out = Arc::clone(&self.left_out);
        self.read(move |db| {
            let db = db.unchecked_transaction()?;
            find_row(&db, id.as_str())?;
            let total: u32 = db
                .prepare_cached("SELECT count(*) FROM feedback WHERE knowledge_id = ?1")?
                .query_row([id.as_str()], |row| row.get(0))?;
            let mut statement = db.prepare_cached(
                "SELECT * FROM feedback WHERE knowledge_id = ?1
                 ORDER BY created_at DESC, id DESC LIMIT ?2 OFFSET ?3",
            )?;
            let rows = statement.query((id.as_str(), limit, offset))?;
            Ok((left_out.list(&left_out::FEEDBACK, rows, read)?, total.into()))
        })
        .await
    }
}

fn verdict(item: &BatchFeedback) -> (EvalStatus, Case) {
    let verdict = if item.is_effective { EvalStatus::Helpful } else { EvalStatus::Harmful };
    (verdict, Case::Text(item.feedback.clone()))
}

fn keep(
    db: &Connection,
    knowledge_id: KnowledgeId,
    text: String,
    author: &Author,
) -> rusqlite::Result<OpenFeedback> {
    let (principal, created_at) = (author.name.clone(), author.now);
    let one = export::Feedback { knowledge_id, text, principal, created_at, applied_at: None };
    let id = insert(db, &one)?;
    Ok(OpenFeedback { id, knowledge_id: one.knowledge_id, text: one.text })
}

/// Writes feedback and returns its number; what one principal says twice of a record in one moment is one.
pub(in crate::store) fn insert(db: &Connection, one: &export::Feedback) -> rusqlite::Result<i64> {
    let (id, at) = (one.knowledge_id.as_str(), one.created_at.as_millis());
    let said: Option<i64> = db
        .prepare_cached(
            "SELECT id FROM feedback
             WHERE knowledge_id = ?1 AND text = ?2 AND principal = ?3 AND created_at = ?4",
        )?
        .query_row((id, &one.text, &one.principal, at), |row| row.get(0))
        .optional()?;
    if let Some(number) = said {
        return Ok(number);
    }
    db.prepare_cached(
        "INSERT INTO feedback (knowledge_id, text, principal, created_at, applied_at)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute((id, &one.text, &one.principal, at, one.applied_at.map(Timestamp::as_millis)))?;
    Ok(db.last_insert_rowid())
}

fn read(row: &Row<'_>) -> rusqlite::Result<Feedback> {
    let text: String = row.get("text")?;
    Ok(Feedback {
        id: row.get("id")?,
        flags: flags("", &text),
        text,
        authenticated_as: row.get("principal")?,
        created_at: Timestamp::from_millis(row.get("created_at")?),
        applied_at: row.get::<_, Option<i64>>("applied_at")?.map(Timestamp::from_millis),
    })
}
