//! Whether relay and hub answer, for `/readyz` and for the log.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_tools::hub::{Client, Error};
use agent_tools::im::State;
use protocol::hub::{Role, Whoami};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How often the hub is asked while it answers; calls for questions and uploads tell as well.
const CALM_PERIOD: Duration = Duration::from_secs(7);

/// How often the hub is asked while it does not.
const AWAY_PERIOD: Duration = Duration::from_secs(1);

/// What was last seen of the hub; all clones share it.
#[derive(Clone, Default)]
pub(crate) struct HubHealth {
    /// Written by whoever calls the hub, read by `/readyz`.
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    /// Why the hub cannot be used, if it cannot; `None` before anybody asked it.
    last: Option<Result<(), String>>,
    /// Why the hub lets this token write nothing; no search can tell that this is over.
    denied: Option<String>,
}

impl HubHealth {
    /// Notes how a call went that reads.
    pub(crate) fn note_read<T>(&self, outcome: &Result<T, Error>) {
        self.note(outcome.as_ref().err(), |_| {});
    }

    /// Notes how a call went that writes.
    pub(crate) fn note_write<T>(&self, outcome: &Result<T, Error>) {
        let err = outcome.as_ref().err();
        let denied = err.filter(|err| err.is_about_access()).map(ToString::to_string);
        self.note(err, |seen| seen.denied = denied);
    }

    /// Notes how the hub said that it is, and for whom it takes the librarian.
    pub(crate) fn note_hub(&self, outcome: &Result<Whoami, Error>) {
        self.note(outcome.as_ref().err(), |seen| {
            if let Ok(caller) = outcome {
                seen.denied = lacking(caller);
            }
        });
    }

    /// A request that is itself at fault shows that the hub is there.
    fn note(&self, err: Option<&Error>, more: impl FnOnce(&mut Seen)) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let before = seen.last.is_some().then(|| seen.check());
        let fault = err.filter(|err| !err.is_about_request());
        seen.last = Some(fault.map_or(Ok(()), |err| Err(err.to_string())));
        more(&mut seen);
        match (before, seen.check()) {
            (None | Some(Err(_)), Ok(())) => tracing::info!("the hub answers"),
            (None | Some(Ok(())), Err(why)) => tracing::warn!("the hub cannot be used: {why}"),
            _ => {}
        }
    }

    /// Returns why the hub cannot be used, if it cannot.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).check()
    }
}

impl Seen {
    fn check(&self) -> Result<(), String> {
        if let Some(why) = &self.denied {
            return Err(why.clone());
        }
        self.last.clone().unwrap_or_else(|| Err("the hub was not asked yet".to_owned()))
    }
}

/// Asks the hub how it is until the stop.
pub(crate) async fn probe(
    hub: Client,
    health: HubHealth,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    loop {
        // A hub that hangs must not hold up the stop.
        let Some(outcome) = stop.run_until_cancelled(hub.health()).await else { return Ok(()) };
        health.note_hub(&outcome);
        let period = if health.check().is_ok() { CALM_PERIOD } else { AWAY_PERIOD };
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(period) => {}
        }
    }
}

/// Returns why a caller may not store what others upload, if it may not.
fn lacking(Whoami { name, role, .. }: &Whoami) -> Option<String> {
    let role = Some(*role).filter(|role| *role < Role::Delegate)?.as_str();
    Some(format!("storing uploads needs the role delegate, and the token of {name} has {role}"))
}

/// Returns what tells why the librarian cannot do its work.
pub(crate) fn readiness(
    relay: watch::Receiver<State>,
    hub: HubHealth,
) -> impl Fn() -> Result<(), String> + Clone + Send + Sync + 'static {
    move || {
        match &*relay.borrow() {
            State::Connected(_) => {}
            State::Connecting { last_error: Some(why) } => {
                return Err(format!("the relay cannot be reached: {why}"));
            }
            State::Connecting { last_error: None } => return Err("connecting to the relay".into()),
            State::Stopped(reason) => return Err(reason.to_string()),
        }
        hub.check()
    }
}
