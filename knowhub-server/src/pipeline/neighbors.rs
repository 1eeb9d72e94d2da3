//! The stored records that a new one may say the same as.

use protocol::hub::{Knowledge, KnowledgeHit};

use crate::{
    pipeline::sought_text,
    search::{Error, KnowledgeQuery, Means, Search},
};

/// How many neighbors are looked at; what is less near is not compared.
const MAX_NEIGHBORS: usize = 10;

/// The least cosine of a neighbor, where there are vectors.
const MIN_COSINE: f64 = 0.75;

/// Returns the records that searches find nearest to this one, nearest first.
///
/// With vectors those count that are near enough, without those that are judged to speak of the same.
pub(super) async fn neighbors(
    search: &Search,
    record: &Knowledge,
) -> Result<Vec<Knowledge>, Error> {
    // One more, since the record itself may be among them.
    let query = KnowledgeQuery::like(sought_text(record), MAX_NEIGHBORS + 1, Means::Vectors);
    let found = search.knowledge(&query).await?;
    let near = found.results.into_iter().filter(is_near).map(|hit| hit.knowledge);
    Ok(near.filter(|other| other.id != record.id).take(MAX_NEIGHBORS).collect())
}

fn is_near(hit: &KnowledgeHit) -> bool {
    hit.signals.vector.map_or(hit.relevant, |cosine| cosine >= MIN_COSINE)
}
