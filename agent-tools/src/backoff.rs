//! How long to wait before the next attempt: doubling, jittered, bounded.

use std::time::Duration;

/// The longest first pause.
const FIRST: Duration = Duration::from_millis(100);

/// The longest pause of all.
const LONGEST: Duration = Duration::from_secs(10);

/// Counts attempts that failed in a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Returns the next pause, 100 ms to 10 s.
    ///
    /// `random`, 0 to 1, spreads it over its upper half, so that many clients do not come back at once.
    pub fn next_pause(&mut self, random: f64) -> Duration {
        let longest = FIRST.saturating_mul(1 << self.failures.min(16)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        longest.mul_f64(0.5 + random.clamp(0.0, 1.0) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_ten_seconds() {
        let mut backoff = Backoff::default();
        let longest: Vec<_> = (0..9).map(|_| backoff.next_pause(1.0).as_millis()).collect();
        assert_eq!(longest, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        assert_eq!(backoff.next_pause(0.0), Duration::from_secs(5));
        assert_eq!(Backoff::default().next_pause(0.5), Duration::from_millis(75));
    }

    #[test]
    fn failing_forever_does_not_overflow() {
        let mut backoff = Backoff { failures: u32::MAX };
        assert_eq!(backoff.next_pause(f64::NAN.max(1.0)), LONGEST);
    }
}
