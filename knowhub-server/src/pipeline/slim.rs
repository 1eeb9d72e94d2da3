//! Merging what is stored already: a pass over the records, each compared with older ones, a bounded part at a time.

use std::time::Duration;

use protocol::{
    Timestamp,
    hub::{Knowledge, MergeKind, Slim, SlimMerge, Slimmed},
};
use tokio::time::Instant;

use super::{Pipeline, found::Found, neighbors::neighbors, relating};
use crate::{
    knowledge::{Author, Merging, is_flagged},
    search,
    store::Step,
};

/// How long one call works; what is left is told in `next`.
const PATIENCE: Duration = Duration::from_secs(45);

/// How many records are read at once.
const READ_AT_ONCE: u32 = 200;

/// How many records are looked at in one call without a model, which costs little each.
const MAX_EXAMINED: u64 = 10_000;

/// How many neighbors one record is compared with in a pass.
const MAX_COMPARED: usize = 7;

impl Pipeline {
    /// Merges records into older ones that say as much, or tells which would be.
    ///
    /// The same text is found without a model; of each other record the model is asked once, `limit` times in all.
    pub(crate) async fn slim(&self, order: &Slim, by: &str) -> Result<Slimmed, search::Error> {
        let started = Instant::now();
        let store = &self.0.store;
        let mut slimmed = Slimmed { dry_run: order.dry_run, ..Slimmed::default() };
        slimmed.judged = self.0.model.is_some();
        let mut after = order.after;
        loop {
            let rows = store.list_approved_after(after, order.scopes.clone(), READ_AT_ONCE).await?;
            if rows.is_empty() {
                return Ok(slimmed);
            }
            for row in rows {
                if slimmed.asked >= order.limit
                    || slimmed.examined >= MAX_EXAMINED
                    || started.elapsed() > PATIENCE
                {
                    slimmed.next = Some(after);
                    return Ok(slimmed);
                }
                (after, slimmed.examined) = (row.row, slimmed.examined + 1);
                let actor = format!("slim:{by}");
                let found = match store.find_older_twin(row.clone()).await? {
                    Some(twin) => {
                        let (kind, reason) = (MergeKind::Duplicate, "the same text".to_owned());
                        Some((twin, Merging { kind, reason, actor }))
                    }
                    None => self.judge(&row.record, &actor, &mut slimmed).await?,
                };
                let Some((target, merging)) = found else { continue };
                let mut told = SlimMerge {
                    record: row.record.id.clone(),
                    target: target.id.clone(),
                    kind: merging.kind,
                    reason: merging.reason.clone(),
                    applied: false,
                };
                if !order.dry_run {
                    let author = Author { name: by.to_owned(), now: Timestamp::now() };
                    told.applied = store.merge(row.record, target, merging, author).await?;
                    if told.applied {
                        self.0.metrics.merged("slim");
                    }
                }
                slimmed.merges.push(told);
            }
        }
    }

    /// Asks the model about one record and the older ones near it.
    async fn judge(
        &self,
        record: &Knowledge,
        actor: &str,
        slimmed: &mut Slimmed,
    ) -> Result<Option<(Knowledge, Merging)>, search::Error> {
        let Some(model) = self.0.model.as_ref().filter(|_| !is_flagged(record)) else {
            return Ok(None);
        };
        let known = self.0.store.list_merged_with(record.id.clone()).await?;
        let mut near = neighbors(&self.0.search, record).await?;
        near.retain(|other| {
            !is_flagged(other)
                && (other.created_at, &other.id) < (record.created_at, &record.id)
                && !known.contains(&other.id)
        });
        near.truncate(MAX_COMPARED);
        if near.is_empty() {
            return Ok(None);
        }
        slimmed.asked += 1;
        Ok(match relating::compare(self, model, record, near, actor).await {
            Found::Step(Step::Merged(target, merging), _) => Some((*target, merging)),
            Found::Nothing(_) => {
                slimmed.failed += 1;
                None
            }
            _ => None,
        })
    }
}
