//! Walking over all stored secrets: to seal them anew with their org's first key, or to tell which do not open.

use std::collections::BTreeMap;

use protocol::hub::{MAX_FAILED_IDS, Resealed};

use crate::{
    blocking,
    store::{Error, Sealed, SealedIn, Store},
    vault::{self, Vault},
};
use std::sync::Arc;

/// How many secrets are looked at, and written, together; writers wait no longer than for this many.
const BATCH: u32 = 100;

/// What became of one secret.
enum Outcome {
    /// The first key sealed it.
    Current,
    /// An older key sealed it; this is the new cell.
    Renewed(String),
    /// No key opens it.
    Lost,
}

/// Seals the secrets of one org, or of all, with the first key of each; may be broken off and run again.
pub(crate) async fn reseal(
    store: &Store,
    vault: &Arc<Vault>,
    org: Option<String>,
) -> Result<Resealed, Error> {
    let mut report = Resealed::default();
    for place in [SealedIn::Resources, SealedIn::Versions] {
        let mut after = None;
        loop {
            let batch = judged(store, vault, place, org.clone(), after).await?;
            after = batch.last().map(|(sealed, _)| sealed.clone());
            if after.is_none() {
                break;
            }
            let mut renewed = Vec::new();
            for (sealed, outcome) in batch {
                match outcome {
                    Outcome::Current => report.unchanged += 1,
                    Outcome::Renewed(cell) => renewed.push((sealed, cell)),
                    Outcome::Lost => {
                        report.failed += 1;
                        if report.failed_ids.len() < MAX_FAILED_IDS
                            && report.failed_ids.last() != Some(&sealed.id)
                        {
                            report.failed_ids.push(sealed.id);
                        }
                    }
                }
            }
            if !renewed.is_empty() {
                report.resealed += store.update_sealed(place, renewed).await? as u64;
            }
        }
    }
    Ok(report)
}

/// Warns, org by org, of stored secrets that no key of `ORG_KEYS` opens.
pub(crate) async fn warn_of_lost(store: &Store, vault: &Arc<Vault>) -> Result<(), Error> {
    let mut lost: BTreeMap<String, u64> = BTreeMap::new();
    for place in [SealedIn::Resources, SealedIn::Versions] {
        let mut after = None;
        loop {
            let batch = judged(store, vault, place, None, after).await?;
            after = batch.last().map(|(sealed, _)| sealed.clone());
            if after.is_none() {
                break;
            }
            for (sealed, outcome) in batch {
                if matches!(outcome, Outcome::Lost) {
                    *lost.entry(vault::org(&sealed.id).to_owned()).or_default() += 1;
                }
            }
        }
    }
    for (org, secrets) in lost {
        tracing::warn!(
            org,
            secrets,
            "stored secrets open with no key of ORG_KEYS; add the key that sealed them behind the org's first one"
        );
    }
    Ok(())
}

/// Reads the next secrets and tries the keys on them, off the async threads.
async fn judged(
    store: &Store,
    vault: &Arc<Vault>,
    place: SealedIn,
    org: Option<String>,
    after: Option<Sealed>,
) -> Result<Vec<(Sealed, Outcome)>, Error> {
    let batch = store.list_sealed(place, org, after, BATCH).await?;
    let vault = Arc::clone(vault);
    let judging = move || {
        let judge = |sealed: Sealed| {
            let outcome = match vault.reseal(&sealed.id, &sealed.cell) {
                Ok(None) => Outcome::Current,
                Ok(Some(cell)) => Outcome::Renewed(cell),
                Err(_) => Outcome::Lost,
            };
            (sealed, outcome)
        };
        batch.into_iter().map(judge).collect()
    };
    blocking::run(judging).await.map_err(|_| Error::Closed)
}
