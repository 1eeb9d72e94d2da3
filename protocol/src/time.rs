//! The one way KnowHub writes a point in time: RFC 3339, UTC, milliseconds.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::ToSchema;

/// A point in time with millisecond resolution, written `2026-03-20T10:00:00.000Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(value_type = String, format = DateTime)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// Reads the wall clock.
    ///
    /// Logic receives `now` as an argument; only the edges of a program call this.
    pub fn now() -> Self {
        #[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
        let now = jiff::Timestamp::now();
        Self::truncated(now)
    }

    /// Returns the time that lies `millis` milliseconds after the Unix epoch.
    ///
    /// What lies outside the years -9999 to 9999 becomes the nearest representable time.
    pub fn from_millis(millis: i64) -> Self {
        let nearest = if millis < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX };
        let time = jiff::Timestamp::from_millisecond(millis);
        Self(time.or_else(|_| jiff::Timestamp::from_second(nearest.as_second())).unwrap_or(nearest))
    }

    /// Returns the milliseconds since the Unix epoch, the form in which stores keep a time.
    pub fn as_millis(self) -> i64 {
        self.0.as_millisecond()
    }

    /// Returns the time `span` later, at most the last representable one.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.as_millis().saturating_add(millis))
    }

    /// Returns how much later `self` is than `earlier`, zero when it is not later.
    pub fn since(self, earlier: Self) -> Duration {
        let millis = self.as_millis().saturating_sub(earlier.as_millis());
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }

    /// Returns the calendar date and time of day in UTC as `(YYYYMMDD, HHMMSS)` digits.
    pub fn date_and_time_digits(self) -> (String, String) {
        let text = format!("{:.0}", self.0);
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        let (date, time) = digits.split_at(digits.len() - 6);
        (date.to_owned(), time.to_owned())
    }

    fn truncated(time: jiff::Timestamp) -> Self {
        Self(jiff::Timestamp::from_millisecond(time.as_millisecond()).unwrap_or(time))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

/// The text is not an RFC 3339 time.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an RFC 3339 time such as 2026-03-20T10:00:00.000Z: `{0}`")]
pub struct TimestampFault(String);

impl FromStr for Timestamp {
    type Err = TimestampFault;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let time = text.parse().map(Self::truncated).or_else(|err: jiff::Error| {
            // The last hours of the calendar are valid and mean never, but cannot be represented in every zone.
            let year_before = text.strip_prefix("9999-12-3").map(|rest| format!("9998-12-3{rest}"));
            let is_time = year_before.is_some_and(|text| text.parse::<jiff::Timestamp>().is_ok());
            if is_time { Ok(Self::from_millis(i64::MAX)) } else { Err(err) }
        });
        time.map_err(|_| TimestampFault(text.to_owned()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn writes_milliseconds_and_utc() {
        let time: Timestamp = "2026-03-20T18:00:00.123987+08:00".parse().unwrap();
        assert_eq!(time.to_string(), "2026-03-20T10:00:00.123Z");
        assert_eq!(time.date_and_time_digits(), ("20260320".into(), "100000".into()));
        assert_eq!(time.after(Duration::from_millis(900)).since(time), Duration::from_millis(900));
        assert_eq!(time.since(time.after(Duration::from_secs(1))), Duration::ZERO);
    }

    #[test]
    fn the_end_of_the_calendar_is_a_time() {
        let last = Timestamp::from_millis(i64::MAX);
        for text in ["9999-12-31T23:59:59Z", "9999-12-31T00:00:00-02:00", "9999-12-30T23:00:00Z"] {
            assert_eq!(text.parse(), Ok(last), "{text}");
        }
        assert_eq!(last.to_string().parse(), Ok(last));
        for text in ["9999-12-32T00:00:00Z", "9999-12-31T24:59:59Z", "9999-12-31"] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_time() {
        for text in ["", "yesterday", "2026-03-20", "2026-03-20T10:00:00"] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn round_trips(millis in -62_135_596_800_000_i64..253_402_207_200_000) {
            let time = Timestamp::from_millis(millis);
            prop_assert_eq!(time.as_millis(), millis);
            prop_assert_eq!(time.to_string().parse::<Timestamp>(), Ok(time));
        }

        #[test]
        fn never_panics_on_any_number(millis: i64, span: u64) {
            let time = Timestamp::from_millis(millis).after(Duration::from_millis(span));
            let _ = (time.to_string(), time.since(Timestamp::from_millis(0)));
        }
    }
}
