//! How long to pause before a model is asked again.

use std::time::Duration;

/// Attempts per call where nothing speaks for fewer, the first included; after the last the caller
/// gets its error.
pub(crate) const MAX_ATTEMPTS: u32 = 4;

/// The middle of the first pause; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The longest pause that a provider can ask for; a longer wish counts as this one.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(24);

/// Returns the pause after `failed_attempts` failures, or `None` when it is time to give up.
///
/// `jitter` in 0..1 spreads callers that failed together over half to one and a half times the
/// pause. What the provider asks for in `Retry-After` is the least that is waited.
pub(crate) fn pause(
    failed_attempts: u32,
    max_attempts: u32,
    retry_after: Option<Duration>,
    jitter: f64,
) -> Option<Duration> {
    if failed_attempts >= max_attempts {
        return None;
    }
    let doubled = FIRST_PAUSE * 2_u32.pow(failed_attempts.saturating_sub(1));
    let jittered = doubled.mul_f64(0.5 + jitter);
    Some(retry_after.map_or(jittered, |least| least.max(jittered)))
}

/// Reads `Retry-After` in its form of whole seconds; the form of a date counts as absent.
pub(crate) fn parse_retry_after(value: &str) -> Option<Duration> {
    let wish = value.trim().parse().ok().map(Duration::from_secs)?;
    Some(wish.min(MAX_RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_end() {
        let pauses: Vec<_> = (1..=4).map(|failed| pause(failed, MAX_ATTEMPTS, None, 0.5)).collect();
        let ms = |n| Some(Duration::from_millis(n));
        assert_eq!(pauses, [ms(500), ms(1000), ms(2000), None]);
    }

    #[test]
    fn jitter_stays_within_half_and_one_and_a_half() {
        assert_eq!(pause(1, MAX_ATTEMPTS, None, 0.0), Some(Duration::from_millis(250)));
        assert_eq!(pause(1, MAX_ATTEMPTS, None, 1.0), Some(Duration::from_millis(750)));
    }

    #[test]
    fn the_provider_wish_is_the_least() {
        let wish = parse_retry_after(" 3 ");
        assert_eq!(pause(1, MAX_ATTEMPTS, wish, 0.0), Some(Duration::from_secs(3)));
        assert_eq!(parse_retry_after("Wed, 21 Oct 2026 07:28:00 GMT"), None);
        assert_eq!(parse_retry_after("-1"), None);
        assert_eq!(parse_retry_after(&u64::MAX.to_string()), Some(MAX_RETRY_AFTER));
    }
}
