//! Walking over all stored secrets: to seal them anew with their org's first key, or to tell which do not open.

use std::{collections::BTreeMap, sync::Arc};

use protocol::{
    ResourceId,
    hub::{MAX_FAILED_IDS, Resealed},
};

use crate::{
    blocking,
    store::{Error, Sealed, SealedIn, Store},
    vault::{self, Vault},
};

/// How many secrets are looked at, and written, together; writers wait no longer than for this many.
const BATCH: usize = 100;

/// What became of one secret.
enum Outcome {
    /// The first key sealed it.
    Current,
    /// An older key sealed it; this is the new cell.
    Renewed(String),
    /// No key opens it.
    Lost,
}

/// What one look at every secret came to.
#[derive(Default)]
struct Pass {
    renewed: u64,
    /// Changed or deleted between reading and writing; an old cell may stand elsewhere now.
    missed: u64,
    unchanged: u64,
    lost: u64,
    /// Of those that are lost, at most [`MAX_FAILED_IDS`].
    lost_ids: Vec<ResourceId>,
}

/// Seals the secrets of one org, or of all, with the first key of each; may be broken off and run again.
///
/// Writers go on meanwhile and may move a secret out of the sight of one pass,
/// so it ends only with a pass that found nothing left to do.
pub(crate) async fn reseal(
    store: &Store,
    vault: &Arc<Vault>,
    org: Option<String>,
) -> Result<Resealed, Error> {
    let first = renew(store, vault, org.clone()).await?;
    let (mut resealed, unchanged) = (first.renewed, first.unchanged);
    let mut last = first;
    while last.renewed + last.missed > 0 {
        last = renew(store, vault, org.clone()).await?;
        resealed += last.renewed;
    }
    Ok(Resealed { resealed, unchanged, failed: last.lost, failed_ids: last.lost_ids })
}

/// Looks at every secret once, and seals anew what an older key sealed.
async fn renew(store: &Store, vault: &Arc<Vault>, org: Option<String>) -> Result<Pass, Error> {
    let mut pass = Pass::default();
    let mut secrets = Secrets::new(store, vault, org);
    while let Some((place, batch)) = secrets.next().await? {
        let mut renewed = Vec::new();
        for (sealed, outcome) in batch {
            match outcome {
                Outcome::Current => pass.unchanged += 1,
                Outcome::Renewed(cell) => renewed.push((sealed, cell)),
                Outcome::Lost => {
                    pass.lost += 1;
                    // One resource may have several: its own, and those of its versions.
                    if pass.lost_ids.len() < MAX_FAILED_IDS && !pass.lost_ids.contains(&sealed.id) {
                        pass.lost_ids.push(sealed.id);
                    }
                }
            }
        }
        if !renewed.is_empty() {
            let wanted = renewed.len();
            let updated = store.update_sealed(place, renewed).await?;
            pass.renewed += updated as u64;
            pass.missed += (wanted - updated) as u64;
        }
    }
    Ok(pass)
}

/// Warns, org by org, of stored secrets that no key of `ORG_KEYS` opens.
pub(crate) async fn warn_of_lost(store: &Store, vault: &Arc<Vault>) -> Result<(), Error> {
    let mut lost: BTreeMap<String, u64> = BTreeMap::new();
    let mut secrets = Secrets::new(store, vault, None);
    while let Some((_, batch)) = secrets.next().await? {
        for (sealed, outcome) in batch {
            if matches!(outcome, Outcome::Lost) {
                *lost.entry(vault::org(&sealed.id).to_owned()).or_default() += 1;
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

/// The way over all secrets of one org, or of all: first the current ones, since a change moves a secret from there.
struct Secrets<'a> {
    store: &'a Store,
    vault: &'a Arc<Vault>,
    org: Option<String>,
    place: SealedIn,
    /// The last one that was looked at there.
    after: Option<Sealed>,
}

impl<'a> Secrets<'a> {
    fn new(store: &'a Store, vault: &'a Arc<Vault>, org: Option<String>) -> Self {
        Self { store, vault, org, place: SealedIn::Resources, after: None }
    }

    /// Returns the next secrets, where they are, and what the keys make of them; nothing at the end.
    async fn next(&mut self) -> Result<Option<(SealedIn, Vec<(Sealed, Outcome)>)>, Error> {
        loop {
            let after = self.after.take();
            let batch = self.store.list_sealed(self.place, self.org.clone(), after, BATCH).await?;
            self.after = batch.last().cloned();
            match (self.after.is_some(), self.place) {
                (true, place) => return Ok(Some((place, self.judge(batch).await?))),
                (false, SealedIn::Resources) => self.place = SealedIn::Versions,
                (false, SealedIn::Versions) => return Ok(None),
            }
        }
    }

    /// Tries the keys, off the async threads.
    async fn judge(&self, batch: Vec<Sealed>) -> Result<Vec<(Sealed, Outcome)>, Error> {
        let vault = Arc::clone(self.vault);
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
}

#[cfg(test)]
mod tests {
    use protocol::{Timestamp, hub::SecretText};
    use secrecy::SecretString;

    use super::*;
    use crate::{
        access::Stamp,
        metrics::CommitMetrics,
        resource::{Edit, KeyDemand, MetadataEdit, SecretEdit},
        store::{Deletion, Expected, ResourceDeletion},
    };

    const FIRST: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    const OLDER: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

    struct Fixture {
        _folder: tempfile::TempDir,
        store: Store,
        /// Both keys; the first one seals.
        vault: Arc<Vault>,
    }

    /// A store with this many secrets that the older key sealed.
    async fn sealed(secrets: usize) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hub.db");
        let store = Store::open(&path, CommitMetrics::default(), |_| {}).unwrap();
        let vault = |setting: String| Vault::new(Some(&SecretString::from(setting))).unwrap();
        let older = vault(format!("acme:{OLDER}"));
        for number in 0..secrets {
            let cell = older.seal(&id(number), &SecretText::from("hunter2".to_owned())).unwrap();
            save(&store, number, "", SecretEdit::Replace(cell)).await;
        }
        let vault = Arc::new(vault(format!("acme:{FIRST},acme:{OLDER}")));
        Fixture { _folder: folder, store, vault }
    }

    fn id(number: usize) -> ResourceId {
        format!("acme/{number}").parse().unwrap()
    }

    async fn save(store: &Store, number: usize, title: &str, secret: SecretEdit) {
        let edit = Edit {
            title: Some(title.to_owned()),
            body: None,
            secret,
            content_type: None,
            metadata: MetadataEdit::Keep,
            sort_order: None,
            submitted_by: None,
            stamp: Stamp::default(),
            at: Timestamp::from_millis(0),
            key: KeyDemand::None,
            may_create: true,
        };
        store.save_resource(id(number), edit, Expected::Anything, None).await.unwrap();
    }

    /// Tells how many secrets the first key did not seal.
    async fn outdated(store: &Store, vault: &Arc<Vault>) -> usize {
        let (mut secrets, mut outdated) = (Secrets::new(store, vault, None), 0);
        while let Some((_, batch)) = secrets.next().await.unwrap() {
            let is_outdated = |outcome: &Outcome| !matches!(outcome, Outcome::Current);
            outdated += batch.iter().filter(|(_, outcome)| is_outdated(outcome)).count();
        }
        outdated
    }

    #[tokio::test]
    async fn what_changes_between_reading_and_writing_is_sealed_anew_or_counted_as_missed() {
        let Fixture { store, vault, _folder } = sealed(2).await;
        let mut secrets = Secrets::new(&store, &vault, None);
        let (place, batch) = secrets.next().await.unwrap().unwrap();
        let renewed: Vec<_> = batch
            .into_iter()
            .map(|(sealed, outcome)| match outcome {
                Outcome::Renewed(cell) => (sealed, cell),
                _ => panic!("the older key sealed it"),
            })
            .collect();
        save(&store, 0, "another title", SecretEdit::Keep).await;
        let deletion =
            Deletion { by: String::new(), reason: String::new(), at: Timestamp::from_millis(0) };
        let (expected, key) = (Expected::Anything, KeyDemand::None);
        let order = ResourceDeletion { id: id(1), expected, key, erase: false, deletion };
        store.delete_resource(order).await.unwrap();
        assert_eq!(store.update_sealed(place, renewed).await.unwrap(), 1, "the deleted one is not");
        assert_eq!(outdated(&store, &vault).await, 2, "the earlier versions of both");

        let report = reseal(&store, &vault, None).await.unwrap();
        assert_eq!((report.resealed, report.unchanged, report.failed), (2, 1, 0));
        assert_eq!(outdated(&store, &vault).await, 0);
        store.close().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn writers_that_go_on_hide_no_secret() {
        const SECRETS: usize = 40;
        let Fixture { store, vault, _folder } = sealed(SECRETS).await;
        let writes = async {
            for round in 0..4 {
                for number in 0..SECRETS {
                    save(&store, number, &format!("title {round}"), SecretEdit::Keep).await;
                }
            }
        };
        let (report, ()) = tokio::join!(reseal(&store, &vault, None), writes);
        assert_eq!(report.unwrap().failed, 0);
        // What was written after the report has what is current.
        assert_eq!(outdated(&store, &vault).await, 0);
        store.close().await;
    }
}
