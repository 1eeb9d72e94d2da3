//! How long a record waits for a model that gives nothing, and when it goes on without.

use std::time::Duration;

/// How long until the model is asked again after each attempt in vain; after the last the record goes on unjudged.
pub(super) const PAUSES: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_mins(2),
];

/// How long a record waits at most for a model that gives nothing or wants to be left alone for longer; then it goes on unjudged without being asked about.
pub(super) const MAX_WAIT: Duration = Duration::from_mins(10);

/// Returns how long a record is put off after `attempts` in vain and one more, or `None` when it goes on unjudged.
///
/// `jitter` in 0..1 spreads records that failed together over three to five quarters of the pause.
/// What the provider wishes in `retry_after` is the least; it goes on unjudged where that is longer than a record may wait.
pub(super) fn pause(attempts: u32, retry_after: Option<Duration>, jitter: f64) -> Option<Duration> {
    let pause = PAUSES.get(attempts as usize)?.mul_f64(0.75 + jitter / 2.0);
    let pause = retry_after.map_or(pause, |least| least.max(pause));
    (pause <= MAX_WAIT).then_some(pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_are_no_shorter_than_the_provider_wishes() {
        let secs = Duration::from_secs;
        for (attempts, wish, expected) in [
            (0, None, Some(secs(1))),
            (3, None, Some(secs(120))),
            (4, None, None),
            (0, Some(secs(40)), Some(secs(40))),
            (2, Some(secs(2)), Some(secs(30))),
            (0, Some(MAX_WAIT), Some(MAX_WAIT)),
            (0, Some(MAX_WAIT + secs(1)), None),
            (4, Some(secs(1)), None),
        ] {
            assert_eq!(pause(attempts, wish, 0.5), expected, "{attempts} {wish:?}");
        }
        assert_eq!(pause(0, None, 0.0), Some(Duration::from_millis(750)));
    }
}
