//! Puts passages into a scratch hub, and waits until it can find them.

use std::{fs, io, path::Path, time::Duration};

use futures_util::{StreamExt, TryStreamExt, stream};
use protocol::{
    KnowledgeId,
    hub::{EmbeddingProgress, EmbeddingStage, KnowledgeCreated, NewKnowledge},
};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, interval};
use uuid::Uuid;

use super::{Error, Watch, set::Passage};
use crate::hub;

/// How many records are sent at once: commits are shared, so more is faster up to here.
const AT_ONCE: usize = 16;

/// How often the hub is asked how far it is.
const PERIOD: Duration = Duration::from_millis(200);

/// How long the hub may get no further before it is given up on.
const PATIENCE: Duration = Duration::from_mins(3);

/// In a folder that is kept: which passages the hub holds. It is written last.
const HOLDS: &str = "eval.json";

/// Which passages a kept hub holds.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Holds {
    /// Made of all their texts.
    passages: Uuid,
    /// The record of each.
    records: Vec<KnowledgeId>,
}

/// Returns the record of each passage, after storing them all; a hub whose folder is `kept` may have them already.
pub(crate) async fn load(
    client: &hub::Client,
    kept: Option<&Path>,
    passages: &[Passage],
    watch: Watch<'_>,
) -> Result<Vec<KnowledgeId>, Error> {
    let Some(folder) = kept else { return store(client, passages, watch).await };
    let name = name_of(passages);
    if let Some(holds) = held(folder)? {
        if holds.passages == name && holds.records.len() == passages.len() {
            return Ok(holds.records);
        }
        let what = "holds other passages; name another folder, or remove this one".to_owned();
        return Err(Error::Folder { folder: folder.to_owned(), what });
    }
    if count(client, None).await? > 0 {
        let what = "holds passages that were not stored to the end; remove it".to_owned();
        return Err(Error::Folder { folder: folder.to_owned(), what });
    }
    let records = store(client, passages, watch).await?;
    let holds = serde_json::to_string(&Holds { passages: name, records: records.clone() });
    fs::write(folder.join(HOLDS), holds.map_err(io::Error::from)?)?;
    Ok(records)
}

fn name_of(passages: &[Passage]) -> Uuid {
    let texts = passages.iter().flat_map(|passage| [&passage.task, &passage.content]);
    let all: String = texts.flat_map(|text| [text.as_str(), "\0"]).collect();
    Uuid::new_v5(&Uuid::NAMESPACE_OID, all.as_bytes())
}

fn held(folder: &Path) -> Result<Option<Holds>, Error> {
    match fs::read_to_string(folder.join(HOLDS)) {
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|err| Error::Folder {
            folder: folder.to_owned(),
            what: format!("{HOLDS} cannot be read ({err}); remove the folder"),
        }),
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(err) => Err(err.into()),
    }
}

async fn store(
    client: &hub::Client,
    passages: &[Passage],
    watch: Watch<'_>,
) -> Result<Vec<KnowledgeId>, Error> {
    let one = async |passage: &Passage| {
        let stored = store_one(client, passage.task.clone(), passage.content.clone()).await?;
        // What the hub holds already stands for the passage.
        Ok(stored.duplicate_of.unwrap_or(stored.id))
    };
    let stored =
        stream::iter(passages).map(one).buffered(AT_ONCE).enumerate().map(|(index, id)| {
            watch("storing passages", index + 1, passages.len());
            id
        });
    stored.try_collect().await
}

/// Stores one record.
pub(super) async fn store_one(
    client: &hub::Client,
    task: String,
    content: String,
) -> Result<KnowledgeCreated, Error> {
    let record = NewKnowledge { task, content, ..NewKnowledge::default() };
    client.add_harmless_knowledge(&record).await.map_err(failed("storing a record"))
}

/// Waits until the hub has processed and embedded all it holds; returns the space of its embeddings, if it makes any.
pub(crate) async fn settle(
    client: &hub::Client,
    watch: Watch<'_>,
) -> Result<Option<String>, Error> {
    let mut ticks = interval(PERIOD);
    let mut last = (u64::MAX, u32::MAX);
    let mut moved_at = Instant::now();
    let mut was_settled = false;
    loop {
        ticks.tick().await;
        let unprocessed = count(client, Some(UNPROCESSED)).await?;
        let embeddings = client.embeddings().await.map_err(failed("asking for embeddings"))?;
        let EmbeddingProgress { space, stage, remaining, .. } = embeddings.progress;
        let missing = match stage {
            EmbeddingStage::Off => 0,
            EmbeddingStage::Current => remaining,
            // All may be embedded, and the searches do not know it yet.
            EmbeddingStage::Opening | EmbeddingStage::Building => remaining.max(1),
        };
        if unprocessed > 0 {
            watch("processing: still to do", 0, unprocessed as usize);
        } else if missing > 0 {
            let done = embeddings.records.saturating_sub(missing);
            watch("embedding", done as usize, embeddings.records as usize);
        } else if was_settled {
            return Ok((stage != EmbeddingStage::Off).then_some(space));
        }
        // In the moment after a write the hub may not have counted yet.
        was_settled = (unprocessed, missing) == (0, 0);
        if (unprocessed, missing) != last {
            (last, moved_at) = ((unprocessed, missing), Instant::now());
        } else if moved_at.elapsed() > PATIENCE {
            return Err(Error::Stalled(format!(
                "the scratch hub got no further in {} min: {unprocessed} records are unprocessed, {missing} have no \
                 embedding; its log may tell why (--keep FOLDER keeps it)",
                PATIENCE.as_secs() / 60
            )));
        }
    }
}

/// The statuses of records that the hub still works on.
const UNPROCESSED: &str = "pending,processing,dedup_passed,analyzing";

async fn count(client: &hub::Client, statuses: Option<&str>) -> Result<u64, Error> {
    client.count_knowledge(statuses).await.map_err(failed("asking how many records there are"))
}

pub(super) fn failed(doing: &str) -> impl Fn(hub::Error) -> Error {
    move |source| Error::Hub { doing: doing.to_owned(), source }
}
