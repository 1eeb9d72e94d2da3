//! Who a request comes from, and whether it may come now.

use std::{
    num::NonZeroU32,
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter, clock::Clock};
use secrecy::ExposeSecret;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{AccessError, Principal, Tokens, file::TokensFile};
use crate::Config;

/// How often the tokens' file is looked at; a token that was taken out may be used for so long.
const LOOK_PERIOD: Duration = Duration::from_secs(1);

/// Under which name all requests without a valid token are counted; no token has it.
const STRANGERS: &str = "";

/// Decides about each request; clones share it.
#[derive(Clone)]
pub(crate) struct Gate(Arc<Mode>);

enum Mode {
    /// There are no tokens: everybody on this machine may do everything.
    Open,
    /// Only who has a token comes in.
    Guarded(Guarded),
}

struct Guarded {
    tokens: RwLock<Arc<Tokens>>,
    file: Option<PathBuf>,
    /// One cell a name, and one for all requests without a valid token.
    limiter: Option<DefaultKeyedRateLimiter<String>>,
}

/// Why a request does not come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// There is no token.
    #[error(
        "this hub asks for a token: send the header `Authorization: Bearer TOKEN` (clients read it from KNOWHUB_TOKEN)"
    )]
    NoToken,
    /// The header is something else.
    #[error("the header `Authorization` must stand there once, as `Bearer TOKEN`")]
    Malformed,
    /// Nobody has this token.
    #[error("the token is not known here; it may be mistyped or was taken out")]
    UnknownToken,
    /// Too many requests under one name.
    #[error("too many requests {}; come back in {} s", whose(*.is_stranger), retry_secs(*.wait))]
    TooMany {
        /// They had no valid token.
        is_stranger: bool,
        /// How long until the next one is taken.
        wait: Duration,
    },
}

fn whose(is_stranger: bool) -> &'static str {
    if is_stranger { "without a valid token" } else { "under the name of this token" }
}

/// Returns whole seconds to wait, at least one.
fn retry_secs(wait: Duration) -> u64 {
    wait.as_millis().div_ceil(1_000).max(1) as u64
}

impl Refusal {
    /// Returns after how many seconds the same request may be taken.
    pub(crate) fn retry_after_secs(&self) -> Option<u64> {
        match self {
            Self::TooMany { wait, .. } => Some(retry_secs(*wait)),
            Self::NoToken | Self::Malformed | Self::UnknownToken => None,
        }
    }
}

impl Gate {
    /// Returns the gate that the settings ask for.
    pub(crate) fn open(config: &Config) -> Result<Self, AccessError> {
        let (tokens, file) = match (&config.knowhub_tokens, &config.knowhub_tokens_file) {
            (None, None) => return Ok(Self(Arc::new(Mode::Open))),
            (Some(_), Some(_)) => return Err(AccessError::Both),
            (Some(list), None) => {
                let tokens = Tokens::parse_list(list.expose_secret());
                (tokens.map_err(AccessError::Tokens)?, None)
            }
            (None, Some(path)) => (TokensFile::new(path.clone()).read()?, Some(path.clone())),
        };
        let limiter = NonZeroU32::new(config.knowhub_rate_limit).map(|per_second| {
            let burst = NonZeroU32::new(config.knowhub_rate_burst).unwrap_or(NonZeroU32::MIN);
            RateLimiter::keyed(Quota::per_second(per_second).allow_burst(burst))
        });
        let tokens = RwLock::new(Arc::new(tokens));
        Ok(Self(Arc::new(Mode::Guarded(Guarded { tokens, file, limiter }))))
    }

    /// Follows the tokens' file, if there is one, until `stop`.
    pub(crate) fn follow(&self, tasks: &TaskTracker, stop: &CancellationToken) {
        let Mode::Guarded(Guarded { file: Some(path), .. }) = &*self.0 else { return };
        let (gate, mut file) = (self.clone(), TokensFile::new(path.clone()));
        let stop = stop.clone();
        tasks.spawn(async move {
            let mut period = tokio::time::interval(LOOK_PERIOD);
            while stop.run_until_cancelled(period.tick()).await.is_some() {
                let Ok((looked, changed)) = crate::blocking::run(move || {
                    let changed = file.look();
                    (file, changed)
                })
                .await
                else {
                    return;
                };
                file = looked;
                if let (Some(tokens), Mode::Guarded(guarded)) = (changed, &*gate.0) {
                    *guarded.tokens.write().unwrap_or_else(PoisonError::into_inner) =
                        Arc::new(tokens);
                }
            }
        });
    }

    /// Tells whether a request needs a token.
    pub(crate) fn asks_for_tokens(&self) -> bool {
        matches!(&*self.0, Mode::Guarded(_))
    }

    /// Returns who sends a request with these `Authorization` headers, unless they come too often.
    ///
    /// Without tokens the header is not looked at.
    pub(crate) fn admit<'a>(
        &self,
        mut authorization: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Principal, Refusal> {
        let guarded = match &*self.0 {
            Mode::Open => return Ok(Principal::local()),
            Mode::Guarded(guarded) => guarded,
        };
        let found = match (authorization.next(), authorization.next()) {
            (None, _) => Err(Refusal::NoToken),
            (Some(_), Some(_)) => Err(Refusal::Malformed),
            (Some(header), None) => guarded.find(header),
        };
        let name = found.as_ref().map_or(STRANGERS, |principal| principal.name.as_str());
        guarded.count(name)?;
        found
    }
}

impl Guarded {
    fn find(&self, header: &[u8]) -> Result<Principal, Refusal> {
        let token = bearer(header).ok_or(Refusal::Malformed)?;
        let tokens = Arc::clone(&self.tokens.read().unwrap_or_else(PoisonError::into_inner));
        tokens.find(token).cloned().ok_or(Refusal::UnknownToken)
    }

    fn count(&self, name: &str) -> Result<(), Refusal> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        limiter.check_key(&name.to_owned()).map_err(|until| Refusal::TooMany {
            is_stranger: name == STRANGERS,
            wait: until.wait_time_from(limiter.clock().now()),
        })
    }
}

/// Returns the token of a `Bearer` header; the scheme may be written in either case.
fn bearer(header: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = header.split_at_checked(b"bearer ".len())?;
    let token = rest.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use protocol::hub::Role;

    use super::*;

    const TOKEN: &str = "aaaaaaaaaaaaaaaa";

    fn gate(more: &[&str]) -> Gate {
        let tokens = format!("ci:writer:{TOKEN}");
        let args = ["knowhub-server", "--knowhub-tokens", &tokens];
        Gate::open(&Config::parse_from(args.iter().chain(more))).unwrap()
    }

    fn admit(gate: &Gate, headers: &[&str]) -> Result<Principal, Refusal> {
        gate.admit(headers.iter().map(|header| header.as_bytes()))
    }

    #[test]
    fn only_a_token_comes_in() {
        let gate = gate(&[]);
        let header = format!("Bearer {TOKEN}");
        let principal = admit(&gate, &[&header]).unwrap();
        assert_eq!((principal.name.as_str(), principal.role), ("ci", Role::Writer));
        assert!(admit(&gate, &[&format!("bearer  {TOKEN}")]).is_ok());
        assert_eq!(admit(&gate, &[]), Err(Refusal::NoToken));
        assert_eq!(admit(&gate, &[&header, &header]), Err(Refusal::Malformed));
        for header in ["", "Bearer", "Bearer ", "Basic YTpi", TOKEN] {
            assert_eq!(admit(&gate, &[header]), Err(Refusal::Malformed), "{header}");
        }
        assert_eq!(admit(&gate, &["Bearer aaaaaaaaaaaaaaab"]), Err(Refusal::UnknownToken));
    }

    #[test]
    fn without_tokens_everybody_is_local() {
        let gate = Gate::open(&Config::parse_from(["knowhub-server"])).unwrap();
        for headers in [&[][..], &["Bearer whatever"], &["nonsense", "twice"]] {
            assert_eq!(admit(&gate, headers), Ok(Principal::local()));
        }
    }

    #[test]
    fn who_comes_too_often_waits_and_strangers_do_not_hold_up_names() {
        let gate = gate(&["--knowhub-rate-limit", "1", "--knowhub-rate-burst", "2"]);
        let header = format!("Bearer {TOKEN}");
        for _ in 0..2 {
            assert_eq!(admit(&gate, &[]), Err(Refusal::NoToken));
        }
        let refusal = admit(&gate, &["Bearer aaaaaaaaaaaaaaab"]).unwrap_err();
        assert!(matches!(refusal, Refusal::TooMany { is_stranger: true, .. }), "{refusal}");
        assert_eq!(refusal.retry_after_secs(), Some(1));
        for _ in 0..2 {
            assert!(admit(&gate, &[&header]).is_ok());
        }
        let refusal = admit(&gate, &[&header]).unwrap_err();
        assert!(matches!(refusal, Refusal::TooMany { is_stranger: false, .. }), "{refusal}");
    }

    #[test]
    fn seconds_are_rounded_up() {
        for (millis, secs) in [(0, 1), (1, 1), (1_000, 1), (1_001, 2), (2_500, 3)] {
            assert_eq!(retry_secs(Duration::from_millis(millis)), secs);
        }
    }
}
