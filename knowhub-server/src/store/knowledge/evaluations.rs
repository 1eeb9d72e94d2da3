//! Verdicts that agents report of records injected into a trace; each counts once.

use protocol::{
    export::Evaluation,
    hub::{BatchResults, Case, ItemResult, MAX_CASE_CHARS, NewEvaluation, NewEvaluations},
    source::excerpt,
};
use rusqlite::{Connection, OptionalExtension};
use serde_json::json;

use super::change::{find_row, refusable, update};
use crate::{
    knowledge::{Author, Refusal, item_result, take_verdict},
    store::{Change, Error, IdempotentRequest, Store, Written, idempotency},
};

impl Store {
    /// Counts each verdict that is new, unless the same request was answered before.
    pub(crate) async fn insert_evaluations(
        &self,
        reported: NewEvaluations,
        author: Author,
        request: Option<IdempotentRequest>,
    ) -> Result<Written<BatchResults>, Error> {
        self.write(move |db, changes| {
            idempotency::once(db, request.as_ref(), author.now, || {
                let trace_id = reported.trace_id.as_str();
                let results = reported.evaluations.iter().map(|one| {
                    let taken = refusable(take(db, changes, trace_id, one, &author))?;
                    let duplicate = taken == Ok(Taken::Duplicate);
                    let result = item_result(one.knowledge_id.clone(), taken.map(|_| ()));
                    Ok(ItemResult { duplicate, ..result })
                });
                Ok(BatchResults { results: results.collect::<Result<_, Error>>()? })
            })
        })
        .await
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    New,
    Duplicate,
}

fn take(
    db: &Connection,
    changes: &mut Vec<Change>,
    trace_id: &str,
    one: &NewEvaluation,
    author: &Author,
) -> Result<Taken, Error> {
    let verdict = one.eval_status.parse().map_err(Refusal::Invalid)?;
    let row = find_row(db, &one.knowledge_id)?;
    match counted(db, trace_id, one, author)? {
        Some(first) if first == one.eval_status => return Ok(Taken::Duplicate),
        Some(first) => {
            return Err(Refusal::State(format!(
                "reported before for this trace and sequence as {first}, which stands"
            ))
            .into());
        }
        None => {}
    }
    insert(db, &evaluation(trace_id, one, author))?;
    // The evaluation has the reason whole; twenty of them would make a record that nobody wants to read.
    let reason = excerpt(&one.reason, MAX_CASE_CHARS);
    let case = json!({ "trace_id": trace_id, "goal_id": one.goal_id, "reason": reason });
    let case: Case = serde_json::from_value(case).expect("an object is a case");
    update(db, changes, row, author, |record| {
        take_verdict(&mut record.eval, verdict, &case, author);
        Ok(())
    })?;
    Ok(Taken::New)
}

fn evaluation(trace_id: &str, one: &NewEvaluation, author: &Author) -> Evaluation {
    Evaluation {
        principal: author.name.clone(),
        trace_id: trace_id.to_owned(),
        knowledge_id: one.knowledge_id.clone(),
        injected_at_sequence: one.injected_at_sequence.into(),
        goal_id: one.goal_id.clone(),
        eval_status: one.eval_status.clone(),
        reason: one.reason.clone(),
        evaluated_at: one.evaluated_at.clone(),
        evaluated_at_trigger: one.evaluated_at_trigger.clone(),
        created_at: author.now,
    }
}

/// Returns the verdict that was counted under this key.
fn counted(
    db: &Connection,
    trace_id: &str,
    one: &NewEvaluation,
    author: &Author,
) -> rusqlite::Result<Option<String>> {
    db.prepare_cached(
        "SELECT eval_status FROM evaluations WHERE principal = ?1 AND trace_id = ?2
             AND knowledge_id = ?3 AND injected_at_sequence = ?4",
    )?
    .query_row((&author.name, trace_id, &one.knowledge_id, one.injected_at_sequence), |row| {
        row.get(0)
    })
    .optional()
}

/// Writes a verdict whose key nobody else uses.
pub(in crate::store) fn insert(db: &Connection, one: &Evaluation) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO evaluations (principal, trace_id, knowledge_id, injected_at_sequence, goal_id,
             eval_status, reason, evaluated_at, evaluated_at_trigger, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute((
        &one.principal,
        &one.trace_id,
        &one.knowledge_id,
        one.injected_at_sequence,
        &one.goal_id,
        &one.eval_status,
        &one.reason,
        &one.evaluated_at,
        &one.evaluated_at_trigger,
        one.created_at.as_millis(),
    ))?;
    Ok(())
}
