//! How far the processing of each record is.

use protocol::{
    KnowledgeId, Timestamp,
    hub::{KnowledgeStatus, Processing},
};
use rusqlite::OptionalExtension;

use super::{Error, Store, columns::unreadable, merges};

impl Store {
    /// Finds how far the processing of a record is, and its merges.
    pub(crate) async fn find_processing(
        &self,
        id: KnowledgeId,
    ) -> Result<Option<Processing>, Error> {
        self.read(move |db| {
            let db = db.unchecked_transaction()?;
            let found = db
                .prepare_cached(
                    "SELECT status, attempts, not_before, last_error, last_reply, judged
                     FROM knowledge LEFT JOIN pipeline USING (row) WHERE id = ?1",
                )?
                .query_row([id.as_str()], |row| {
                    let status: KnowledgeStatus =
                        row.get::<_, String>(0)?.parse().map_err(unreadable)?;
                    let stage = stage(status);
                    let not_before: Option<i64> = row.get(2)?;
                    Ok(Processing {
                        id: id.clone(),
                        status,
                        stage: stage.to_owned(),
                        attempts: row.get::<_, Option<u32>>(1)?.unwrap_or_default(),
                        next_attempt_at: not_before
                            .filter(|at| *at > 0 && stage != DONE)
                            .map(Timestamp::from_millis),
                        last_error: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
                        reply: row.get::<_, Option<String>>(4)?.unwrap_or_default(),
                        judged: row.get::<_, Option<bool>>(5)?.unwrap_or_default(),
                        merged_into: None,
                        merges: Vec::new(),
                    })
                })
                .optional()?;
            let Some(mut found) = found else { return Ok(None) };
            found.merges = merges::list_merges(&db, &id)?;
            let standing = found.merges.iter().rfind(|merge| merge.undone_at.is_none());
            found.merged_into = standing.map(|merge| merge.target.clone());
            Ok(Some(found))
        })
        .await
    }
}

const DONE: &str = "done";

/// Returns what comes next for a record of this status.
fn stage(status: KnowledgeStatus) -> &'static str {
    use KnowledgeStatus::{
        Analyzing, Approved, Checked, DedupPassed, Pending, Processing, Rejected,
    };
    match status {
        Pending | Processing => "dedup",
        DedupPassed | Analyzing => "link",
        Approved | Rejected | Checked => DONE,
    }
}
