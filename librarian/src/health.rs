//! Whether relay and hub answer, for `/readyz` and for the log.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_tools::hub::{Client, Error};
use agent_tools::im::State;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How often the hub is asked while it answers; calls for questions and uploads tell as well.
const CALM_PERIOD: Duration = Duration::from_secs(7);

/// How often the hub is asked while it does not.
const AWAY_PERIOD: Duration = Duration::from_secs(1);

/// What was last seen of the hub; all clones share it.
#[derive(Clone, Default)]
pub(crate) struct HubHealth {
    /// Why the hub cannot be used, if it cannot; `None` before anybody asked it.
    /// Written by whoever calls it, read by `/readyz`.
    seen: Arc<Mutex<Option<Result<(), String>>>>,
}

impl HubHealth {
    /// Notes how a call went; a request that the hub refused shows that it is there.
    pub(crate) fn note<T>(&self, outcome: &Result<T, Error>) {
        let now = match outcome {
            Err(err)
                if err.is_transient()
                    || err.is_about_token()
                    || matches!(err, Error::BadReply { .. }) =>
            {
                Err(err.to_string())
            }
            _ => Ok(()),
        };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match (&*seen, &now) {
            (None | Some(Err(_)), Ok(())) => tracing::info!("the hub answers"),
            (None | Some(Ok(())), Err(why)) => tracing::warn!("the hub does not answer: {why}"),
            _ => {}
        }
        *seen = Some(now);
    }

    /// Returns why the hub cannot be used, if it cannot.
    pub(crate) fn check(&self) -> Result<(), String> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        seen.unwrap_or_else(|| Err("the hub was not asked yet".to_owned()))
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
        health.note(&outcome);
        let period = if health.check().is_ok() { CALM_PERIOD } else { AWAY_PERIOD };
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = tokio::time::sleep(period) => {}
        }
    }
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
