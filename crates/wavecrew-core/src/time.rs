//! Points in time as the core sees them. Never reads a clock: callers pass `now`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Milliseconds since the Unix epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Time passed since `earlier`; zero when the clock went backwards.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)),
        )
    }
}

/// A time before the epoch counts as the epoch.
#[expect(clippy::disallowed_types, reason = "an argument: only callers read the clock")]
impl From<std::time::SystemTime> for Timestamp {
    fn from(time: std::time::SystemTime) -> Self {
        let since = time.duration_since(std::time::SystemTime::UNIX_EPOCH);
        Self(0).plus(since.unwrap_or_default())
    }
}

/// RFC 3339 in UTC, to the second: `2026-03-08T10:00:00Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = i64::try_from(self.0 / 1000).unwrap_or(i64::MAX);
        match jiff::Timestamp::from_second(seconds) {
            Ok(at) => write!(f, "{at}"),
            Err(_) => f.write_str("the far future"),
        }
    }
}

/// A length of time for people: `0.4s`, `12s`, `3m 05s`, `2h 10m`.
pub fn human(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 10 {
        format!("{}.{}s", seconds, duration.subsec_millis() / 100)
    } else if seconds < 60 {
        format!("{seconds}s")
    } else if seconds < 3600 {
        format!("{}m {:02}s", seconds / 60, seconds % 60)
    } else {
        format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_utc_to_the_second() {
        assert_eq!(Timestamp(1_772_964_000_999).to_string(), "2026-03-08T10:00:00Z");
    }

    #[test]
    fn a_clock_that_jumps_back_yields_zero() {
        assert_eq!(Timestamp(5).since(Timestamp(9)), Duration::ZERO);
    }

    #[test]
    fn lengths_read_as_people_say_them() {
        let shown: Vec<_> = [400, 12_000, 185_000, 7_800_000]
            .map(|ms| human(Duration::from_millis(ms)))
            .into();
        assert_eq!(shown, ["0.4s", "12s", "3m 05s", "2h 10m"]);
    }
}
