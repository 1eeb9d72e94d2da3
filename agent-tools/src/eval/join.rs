//! Stores pairs of texts, and sees which the hub takes for the same.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt, TryStreamExt, stream};
use protocol::KnowledgeId;

use super::{Error, Watch, load, report::JoinedPairs, set::Pair};
use crate::hub;

/// How many pairs are stored at once.
const AT_ONCE: usize = 8;

/// The relation that two records have which say the same.
const DUPLICATE: &str = "duplicate";

/// What the hub made of a pair.
struct Stored {
    /// The record that stands for the first text.
    first: KnowledgeId,
    second: KnowledgeId,
    /// The second text is the first's, by the answer to storing it.
    is_joined: bool,
}

/// Stores each pair, the first text before the second, and counts which were joined; also returns the space of the embeddings.
pub(crate) async fn join(
    client: &hub::Client,
    pairs: &[Pair],
    watch: Watch<'_>,
) -> Result<(JoinedPairs, Option<String>), Error> {
    let done = AtomicUsize::new(0);
    let one = async |pair: &Pair| {
        let (first, _) = store(client, &pair.first).await?;
        let (second, duplicate_of) = store(client, &pair.second).await?;
        watch("storing pairs", done.fetch_add(1, Ordering::Relaxed) + 1, pairs.len());
        let is_joined = duplicate_of.as_ref() == Some(&first);
        Ok::<_, Error>(Stored { first, second, is_joined })
    };
    let stored: Vec<Stored> = stream::iter(pairs).map(one).buffered(AT_ONCE).try_collect().await?;
    let space = load::settle(client, watch).await?;
    let mut counted = JoinedPairs { pairs: pairs.len() as u64, ..JoinedPairs::default() };
    for (pair, stored) in pairs.iter().zip(&stored) {
        let is_joined = stored.is_joined || is_related(client, stored).await?;
        counted.same += u64::from(pair.is_same);
        counted.joined += u64::from(is_joined);
        counted.rightly += u64::from(is_joined && pair.is_same);
    }
    Ok((counted, space))
}

/// Stores a text; returns the record that stands for it, and the one that it is a duplicate of.
async fn store(
    client: &hub::Client,
    text: &str,
) -> Result<(KnowledgeId, Option<KnowledgeId>), Error> {
    // Cut in two, texts could differ in where they are cut alone.
    let stored = load::store_one(client, text.to_owned(), text.to_owned()).await?;
    let duplicate_of = stored.duplicate_of;
    Ok((duplicate_of.clone().unwrap_or(stored.id), duplicate_of))
}

/// Tells whether the hub related the second to the first as its duplicate after storing it, as a model may.
async fn is_related(client: &hub::Client, stored: &Stored) -> Result<bool, Error> {
    let found = client.find_knowledge(&stored.second).await;
    let found = found.map_err(load::failed("reading a record"))?;
    let mut relations = found.into_iter().flat_map(|record| record.relationships);
    Ok(relations.any(|relation| relation.kind == DUPLICATE && relation.target == stored.first))
}
